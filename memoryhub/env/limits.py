"""The limits of use: their names, windows and defaults, and how MEMORYHUB_LIMITS changes them.

A name is a level and a bucket, such as `member_turns`: the turns that one member may take in the bucket's window. The
defaults are far above what people do in the chat, and above the pace of an agent that works for one person. A token
gets half of its member's, so that a program that runs wild leaves the member a day of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


class Bucket(StrEnum):
    """What is counted. A turn is no write and no read, a new session is both a write (or a turn) and a session.

    A batch or an import is one write, and as many entries as it has.
    """

    READS = "reads"
    WRITES = "writes"
    ENTRIES = "entries"
    TURNS = "turns"
    SESSIONS = "sessions"
    MODEL_TOKENS = "model_tokens"

    @property
    def window(self) -> int:
        """The seconds in which a limit's units may be used."""
        if self is Bucket.ENTRIES:
            return HOUR
        return DAY if self in (Bucket.SESSIONS, Bucket.MODEL_TOKENS) else MINUTE


class Level(StrEnum):
    """Whose use is counted: that of one API token, of one member, of all members of a tenant."""

    TOKEN = "token"  # noqa: S105 - a level, not a token
    MEMBER = "member"
    TENANT = "tenant"


def limit_name(level: Level, bucket: Bucket) -> str:
    """The name of a limit, as in the environment and in the policy."""
    return f"{level}_{bucket}"


# The turns of one member that may be answered at the same time; all but one of them those of tokens.
OPEN_TURNS = "open_turns"
DEFAULT_LIMITS: Mapping[str, int] = {
    "token_reads": 600,
    "member_reads": 1_200,
    "tenant_reads": 12_000,
    "token_writes": 120,
    "member_writes": 240,
    "tenant_writes": 2_400,
    "token_entries": 20_000,
    "member_entries": 40_000,
    "tenant_entries": 400_000,
    "token_turns": 15,
    "member_turns": 30,
    "tenant_turns": 600,
    "token_sessions": 250,
    "member_sessions": 500,
    "tenant_sessions": 20_000,
    "token_model_tokens": 2_500_000,
    "member_model_tokens": 5_000_000,
    "tenant_model_tokens": 100_000_000,
    OPEN_TURNS: 2,
}
MAX_LIMIT = 1_000_000_000
_OFF = "off"


def with_own(limits: Mapping[str, int], own: Mapping[str, int]) -> dict[str, int]:
    """`limits` with the numbers of `own`; where that limits the member alone, a token gets at most half of it."""
    found = {**limits, **own}
    for bucket in Bucket:
        token, member = limit_name(Level.TOKEN, bucket), limit_name(Level.MEMBER, bucket)
        if member in own and token not in own:
            found[token] = min(found[token], max(1, own[member] // 2))
    return found


def _read(value: Any) -> Any:
    """The defaults with the pairs of `name=number,name=number`; empty for `off`. Raises ValueError."""
    if not isinstance(value, str):
        return value
    if value == _OFF:
        return {}
    pairs = [pair.partition("=") for pair in value.replace(" ", "").split(",") if pair]
    own = {name: int(number) for name, _, number in pairs if number.isascii() and number.isdigit()}
    known = all(name in DEFAULT_LIMITS and 1 <= number <= MAX_LIMIT for name, number in own.items())
    if len(own) != len(pairs) or not known:
        raise ValueError(f"give off, or pairs such as member_turns=60,tenant_turns=900 of {', '.join(DEFAULT_LIMITS)}")
    return with_own(DEFAULT_LIMITS, own)


Limits = Annotated[dict[str, int], BeforeValidator(_read)]
