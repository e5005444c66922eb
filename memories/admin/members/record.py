"""Everything about one memory: all that is stored, where it came from, what it was used for, where the index has it.

Invariant: an id of another member's memory, or of nobody's, looks the same under this member: it is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils import timezone

from memories.admin.members import live
from memories.admin.members.details import details_of
from memories.admin.members.happenings import happenings_of
from memories.admin.members.page import Looking, MemberPage
from memories.admin.members.rows import rows_of
from memories.errors import NotFound
from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.selectors.memories import ChainLink, Memory, chain_of, find_memory, has_original, is_shared
from memories.selectors.reviews import review_about
from memories.selectors.runs import read_by
from memories.selectors.staff.index_state import IndexState, Standing, index_state_of
from memories.selectors.staff.uses import learned_from, uses_of, words_behind
from memories.services.admin_requests import note_refresh
from memories.types import CURRENT, Contradiction, Kind

USES_SHOWN = 10
_NOUNS = {Kind.EPISODIC: "event", Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "how-to", Kind.CATALOG: "shared entry"}
# Shown where they are read, or not readable.
_ELSEWHERE = frozenset({"text", "title", "trigger", "steps", "context", "source_url"})
_VERDICTS = {
    Standing.SAME: ("success", "The member's search finds it as it is stored."),
    Standing.ON_ITS_WAY: ("warning", "The latest change is on its way to the index; until then the database answers."),
    Standing.BEHIND: ("danger", "The index has an older state, and nothing is on its way. `index check` tells more."),
    Standing.ABSENT: ("danger", "The member's search does not find it, and nothing is on its way."),
    Standing.HIDDEN: ("success", "It was evicted, and the index does not have it any more."),
    Standing.MISSING_PART: ("warning", "This part of the index is missing; it is rebuilt with the next recall."),
    Standing.NO_KEY: ("danger", "Nothing could be seen with the member's own key."),
    Standing.DOWN: ("warning", "The search plane does not answer now."),
}


@dataclass(frozen=True, slots=True)
class State:
    """One state of the chain, in a line."""

    id: UUID
    text: str
    url: str
    here: bool
    current: bool
    since: datetime
    until: datetime | None
    ending: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The consolidation that read an event, and whether it learned anything from it."""

    url: str
    learned: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the index state means, in a sentence, and how bad it is."""

    tone: str
    sentence: str


def record(looking: Looking, *, memory_id: UUID) -> HttpResponse:
    """The page of one memory, of whatever kind."""
    memory = _memory(looking, memory_id)
    looking.note("record", target_kind=memory.kind.value, target_id=memory.pk)
    title = f"One {_NOUNS[memory.kind]}"
    return live.shown(looking, "admin/memories/member/record.html", _part(memory_id), title=title)


def refresh(looking: Looking, *, memory_id: UUID) -> HttpResponse:
    """What of it is live; of another memory it is another look."""
    memory = _memory(looking, memory_id)
    note_refresh(looking.principal, "record", target_kind=memory.kind.value, target_id=memory.pk)
    return live.refreshed(looking, "admin/memories/member/_record.html", _part(memory_id))


def _part(memory_id: UUID) -> Any:
    def part(looking: Looking) -> dict[str, Any]:
        memory = _memory(looking, memory_id)
        (row,) = rows_of(looking, [memory])
        uses, more = uses_of(looking.principal, memory_id, limit=USES_SHOWN)
        index = index_state_of(looking.principal, memory)
        behind = words_behind(looking.principal, memory) if isinstance(memory, Fact | Playbook) else ()
        learned = learned_from(looking.principal, memory) if isinstance(memory, Episode) else ()
        return {
            "memory": memory,
            "row": row,
            "noun": _NOUNS[memory.kind],
            "source_url": memory.source_url if isinstance(memory, CatalogEntry) else "",
            "quotes": rows_of(looking, behind),
            "learned": rows_of(looking, learned),
            "reading": _reading(looking, memory) if isinstance(memory, Episode) and not learned else None,
            "uses": uses,
            "more_uses": more,
            "details": details_of(memory),
            "states": _states(looking, memory),
            "happenings": () if is_shared(memory) else happenings_of(looking, memory_id),
            "review": review_about(looking.principal, memory_id),
            "has_original": has_original(looking.principal, memory_id),
            "index": index,
            "verdict": _verdict(index),
            "columns": tuple(_columns(memory)),
            "live_url": looking.url("record_live", memory_id),
            "pulse_url": looking.url("pulse_live"),
        }

    return part


def _memory(looking: Looking, memory_id: UUID) -> Memory:
    try:
        return find_memory(looking.principal, memory_id)
    except NotFound as error:
        raise Http404 from error


def _states(looking: Looking, memory: Memory) -> list[State]:
    """The chain, newest first; none for what is never replaced."""
    return [
        State(
            id=link.id,
            text=link.text,
            url=looking.url("record", link.id),
            here=link.id == memory.pk,
            current=link.status in CURRENT,
            since=link.since,
            until=link.until,
            ending=_ending(link),
        )
        for link in reversed(chain_of(looking.principal, memory.kind, memory.pk))
    ]


def _reading(looking: Looking, episode: Episode) -> Reading | None:
    """None while none is done that read it."""
    run = read_by(looking.principal, episode)
    if run is None:
        return None
    learned = any(line["memory_id"] and str(episode.pk) in line["episode_ids"] for line in run.decisions)
    return Reading(looking.url("run", run.pk), learned)


def _ending(link: ChainLink) -> str:
    if link.status in CURRENT:
        return "believed"
    if link.retracted or link.contradiction is Contradiction.HARSH:
        return "it was never true" if link.superseded_by else "it was never true, and nothing took its place"
    if link.contradiction is Contradiction.NATURAL:
        return "then it changed" if link.superseded_by else "it stopped being true"
    return "it was let go"


def _verdict(index: IndexState) -> Verdict:
    tone, sentence = _VERDICTS[index.standing]
    return Verdict(tone, f"{sentence} {index.refusal}".strip())


def _columns(memory: Memory) -> Iterator[tuple[str, str]]:
    """Every column of the row by name, as it is stored, but for words that stand elsewhere on the page."""
    for column in memory._meta.concrete_fields:
        if column.name not in _ELSEWHERE:
            yield column.name.replace("_", " "), _written(getattr(memory, column.attname))


def _written(value: object) -> str:
    """A stored value as it is; of vectors and word pieces how long they are."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bytes | memoryview):
        return f"{len(value):,} bytes"
    if isinstance(value, datetime):
        return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S %Z}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


PAGES = (
    MemberPage("record", "memory/<uuid:memory_id>/", record, under="change"),
    MemberPage("record_live", "memory/<uuid:memory_id>/live/", refresh),
)
