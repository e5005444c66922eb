"""Usernames that nobody typed: of members without a login, and of erased users."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

_MADE_UP = re.compile(r"member-[0-9a-f]{32}")


def made_up_username() -> str:
    """A new username for somebody who never types one."""
    return f"member-{uuid4().hex}"


def is_made_up(username: str) -> bool:
    """Whether `made_up_username` chose the username, which tells people nothing."""
    return _MADE_UP.fullmatch(username) is not None


def erased_username(user_id: UUID) -> str:
    """The username of an erased user."""
    return f"erased-{user_id}"
