"""The names of keys at the cluster: `<prefix>:<membership id>:<number>`, and `<prefix>:temporary:<random>`."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.conf import settings

TEMPORARY = "temporary"


def installation() -> str:
    """The prefix that all names of this installation share."""
    prefix: str = settings.ELASTICSEARCH_PREFIX
    return prefix


def member_key_name(membership_id: UUID, number: int) -> str:
    """The name of the member's `number`-th key."""
    return f"{installation()}:{membership_id}:{number}"


def temporary_key_name() -> str:
    """A name for a key that no membership keeps."""
    return f"{installation()}:{TEMPORARY}:{secrets.token_hex(8)}"


def is_temporary(name: str) -> bool:
    """Whether a key is one that no membership keeps."""
    return name.startswith(f"{installation()}:{TEMPORARY}:")


def belongs_here(name: str) -> bool:
    """Whether a key is one of this installation."""
    return name.startswith(f"{installation()}:")
