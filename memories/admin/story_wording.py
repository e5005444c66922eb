"""How the history of a memory is put into words for staff: who did what, how a state ended, from when to when. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from memories.models import Fact, Playbook
from memories.types import CURRENT, Contradiction, Status

_DID: Mapping[str, str] = {
    "created": "wrote it down",
    "merged": "said it again",
    "superseded": "replaced it",
    "retired": "retired it",
    "promoted": "copied it into a wider scope",
    "retracted": "marked it as never true",
    "pinned": "pinned it",
    "unpinned": "unpinned it",
    "confirmed": "confirmed it",
    "unconfirmed": "took the confirmation back",
    "kept": "kept it",
    "evicted": "evicted it",
    "archived": "archived it",
    "unarchived": "took it out of the archive",
    "restored": "brought it back",
    "revived": "returned it from eviction",
    "stale": "marked it as stale",
    "forgotten": "had it erased",
    "erased": "erased it after its time",
    "succeeded": "noted that it worked",
    "failed": "noted that it did not work",
}


def did(action: str) -> str:
    """Such as `replaced it`."""
    noun, _, verb = action.partition(".")
    return _DID.get(verb, verb.replace("_", " ") or noun)


def state_word(row: Fact | Playbook) -> str:
    """Its state in a word or two; never by colour alone."""
    if row.status == Status.EVICTED:
        return "evicted"
    if row.status == Status.STALE:
        return "stale"
    if row.status in CURRENT:
        return "believed"
    if row.retracted:
        return "never true"
    return "replaced" if row.superseded_by_id else "retired"


def ending(row: Fact | Playbook) -> str:
    """How it ended, in a sentence; empty while it is believed."""
    if row.status == Status.EVICTED and row.superseded_at is None:
        return "The garbage collection let it go."
    if row.superseded_at is None:
        return ""
    if row.retracted or row.contradiction == Contradiction.HARSH:
        return "It never was true (harsh)." if row.superseded_by_id else "It never was true, and nothing replaced it."
    return "The world changed (natural)." if row.superseded_by_id else "It stopped being true; nothing replaced it."


def believed(row: Fact | Playbook) -> str:
    """Such as `3 Mar 2025 to 9 May 2026`."""
    if row.superseded_at == row.learned_at:
        return "at no time: it puts the past right"
    return span(row.learned_at, row.superseded_at)


def valid(row: Fact | Playbook) -> str:
    """When it was so in the world, as far as known; empty for what has no such time."""
    if not isinstance(row, Fact):
        return ""
    if row.retracted:
        return "never"
    if row.valid_from is None and row.valid_to is None:
        return "not known"
    if row.valid_from is None and row.valid_to is not None:
        return f"until {day(row.valid_to)}"
    return span(row.valid_from, row.valid_to) if row.valid_from else ""


def span(since: datetime, until: datetime | None) -> str:
    """From one day to another; by the clock where both are the same."""
    if until is None:
        return f"since {day(since)}"
    if day(since) == day(until):
        first, last = timezone.localtime(since), timezone.localtime(until)
        return f"{day(since)}, {first:%H:%M} to {last:%H:%M}"
    return f"{day(since)} to {day(until)}"


def day(moment: datetime) -> str:
    """Such as `3 Mar 2026`."""
    local = timezone.localdate(moment)
    return f"{local.day} {local:%b %Y}"
