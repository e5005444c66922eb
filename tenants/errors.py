"""Errors of tenants, which never name another tenant's people, and `store`, which saves a validated row."""

from __future__ import annotations

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models, transaction
from django.utils.translation import gettext as _


class TenantsError(Exception):
    """Base of the errors of tenants."""


class Forbidden(TenantsError):
    """The principal lacks a right; the message names the right, never the object."""


class NoMembership(TenantsError):
    """The user belongs to no active tenant, or not to this one."""


class InvitationOver(TenantsError):
    """The invitation was used, withdrawn or has ended, or was never made."""


class InvalidValue(TenantsError):
    """An invalid value of a tenant, member or token; nothing was stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class AuditConflict(TenantsError):
    """Two writers appended to one audit chain because its lock was not held; roll back the whole transaction."""


class NoSearchKey(TenantsError):
    """The member has no search key now. `state` is a code for the reason, the message a sentence."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class SearchKeysUnavailable(TenantsError):
    """Elasticsearch could not make, read or end a key. `trouble` is a KeyTrouble, the message a sentence."""

    def __init__(self, trouble: str, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble


def store(row: models.Model, *, fields: list[str] | None = None) -> None:
    """Validate and save a row (only `fields`, for an existing row). Raises InvalidValue naming the first bad field.

    NUL characters and lone surrogates are refused: PostgreSQL cannot store them, SQLite would.
    """
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if isinstance(value, str) and not is_storable(value):
            raise InvalidValue(field.name, _("Contains characters that cannot be stored."))
    try:
        with transaction.atomic():
            row.full_clean()
            row.save(update_fields=fields)
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise InvalidValue(name if name != NON_FIELD_ERRORS else row._meta.model_name or "", messages[0]) from error


def is_storable(text: str) -> bool:
    """Whether every database can store this text and accept it in a query."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
