"""What is known of a memory beyond its words, as terms and values for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memories.models import Fact, Playbook
from memories.presenting.markup import source, when
from memories.selectors.memories import Memory


def details_of(memory: Memory) -> tuple[tuple[str, str], ...]:
    """The terms that have a value, in reading order."""
    match memory:
        case Fact():
            details = _of_fact(memory)
        case Playbook():
            details = _of_playbook(memory)
        case _:
            details = iter([("Kept since", _moment(memory.created_at))])
    return tuple((term, value) for term, value in details if value)


def _of_fact(fact: Fact) -> Iterator[tuple[str, str]]:
    yield "About", fact.key
    yield "Category", fact.category
    yield "Source", source(fact.source)
    yield "Confidence", f"{fact.confidence:.0%}"
    yield "Believed again" if fact.restores else "Learned", _moment(fact.learned_at)
    yield "Believed until", _moment(fact.superseded_at)
    yield "True from", _moment(fact.valid_from)
    yield "True until", _moment(fact.valid_to)
    yield "Confirmed", _moment(fact.last_verified_at)
    yield "Recalled", _times(fact.use_count)
    yield "Last recalled", _moment(fact.last_used_at)
    yield "To be confirmed by", _moment(fact.review_after)
    yield "Kept until", _moment(fact.expires_at)
    yield "Staleness", "" if fact.staleness is None else f"{fact.staleness:.0%}"


def _of_playbook(playbook: Playbook) -> Iterator[tuple[str, str]]:
    yield "Category", playbook.category
    yield "Believed again" if playbook.restores else "Learned", _moment(playbook.learned_at)
    yield "Believed until", _moment(playbook.superseded_at)
    yield "Last worked", _moment(playbook.last_success_at)
    yield "Last failed", _moment(playbook.last_failure_at)
    yield "Staleness", "" if playbook.staleness is None else f"{playbook.staleness:.0%}"


def _times(count: int) -> str:
    return "not yet" if not count else "once" if count == 1 else f"{count:,} times"


def _moment(moment: datetime | None) -> str:
    return when(moment)
