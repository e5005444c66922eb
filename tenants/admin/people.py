"""People in lists of the admin: the name by which pages call them, and the one by which they sign in."""

from __future__ import annotations

from tenants.models import User


def named(user: User | None) -> str | None:
    """Such as `Ada Fenwick (ada)`; once where both are one, and of somebody erased what is left."""
    if user is None:
        return None
    name, username = user.speaker, user.get_username()
    return name if user.is_erased or name == username else f"{name} ({username})"
