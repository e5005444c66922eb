"""The errors of tenants, which never name another tenant's people; and saving a row with errors that name a field."""

from __future__ import annotations

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models, transaction


class TenantsError(Exception):
    """Base of all errors that tenants raises on purpose."""


class Forbidden(TenantsError):
    """The principal lacks the right for this; the message names the right, never the object."""


class NoMembership(TenantsError):
    """The user belongs to no active tenant, or not to this one."""


class InvalidValue(TenantsError):
    """A value that a tenant, member or token cannot have; nothing was stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class AuditConflict(TenantsError):
    """Two writers met on one audit chain: its lock was not held. The whole transaction must be undone."""


class NoSearchKey(TenantsError):
    """The member has no key to search with now; `state` says why in a word, the message in a sentence."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class SearchKeysUnavailable(TenantsError):
    """The cluster did not make, read or end a key. `trouble` is why, in a word (KeyTrouble), the message a sentence."""

    def __init__(self, trouble: str, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble


def store(row: models.Model, *, fields: list[str] | None = None) -> None:
    """Validate and save (`fields` only, for a row that exists). Raises InvalidValue naming the first bad field.

    NUL characters and lone surrogates are refused by name; PostgreSQL cannot hold them and SQLite would.
    """
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if isinstance(value, str) and not is_storable(value):
            raise InvalidValue(field.name, "Contains characters that cannot be stored.")
    try:
        with transaction.atomic():
            row.full_clean()
            row.save(update_fields=fields)
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise InvalidValue(name if name != NON_FIELD_ERRORS else row._meta.model_name or "", messages[0]) from error


def is_storable(text: str) -> bool:
    """Whether every database can hold, or be asked for, this text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
