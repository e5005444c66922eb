"""Putting a validated row into the database: what the model refuses becomes one error that names the field."""

from __future__ import annotations

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models, transaction

from tenants.errors import InvalidValue


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
