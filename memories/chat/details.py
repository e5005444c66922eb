"""What else is known of a memory, as terms and values for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils import timezone
from django.utils.safestring import SafeString

from memories.models import Episode, Fact, Playbook
from memories.presenting.markup import share, when
from memories.presenting.moments import in_full
from memories.selectors.memories import Memory
from memories.types import Source

_SOURCES = {
    Source.USER_STATED: "you said it",
    Source.IMPORTED: "imported",
    Source.CONFIG_CHANGE: "a setting changed",
    Source.TASK_OUTCOME: "how a task went",
    Source.AGENT_INFERRED: "your agent concluded it",
    Source.PATTERN: "a pattern over time",
}

Detail = tuple[str, SafeString | str]


def details_of(row: Memory) -> tuple[Detail, ...]:
    """The terms that have a value, in reading order."""
    match row:
        case Fact():
            details = _of_fact(row)
        case Playbook():
            details = _of_playbook(row)
        case Episode():
            details = iter([("Said", _exact(row.happened_at)), ("By", row.speaker), ("Kept", when(row.created_at))])
        case _:
            details = iter([("Kept", when(row.created_at))])
    return tuple((term, value) for term, value in details if value)


def _of_fact(fact: Fact) -> Iterator[Detail]:
    yield "About", fact.key.replace("_", " ")
    yield "Category", fact.category.replace("_", " ")
    yield "Source", _SOURCES[Source(fact.source)]
    yield "Confidence", share(fact.confidence)
    yield "Believed again" if fact.restores else "Learned", when(fact.learned_at)
    yield "Confirmed", when(fact.last_verified_at)
    yield "True from", when(fact.valid_from)
    yield "True until", when(fact.valid_to)
    yield "Used", f"{fact.use_count}×" if fact.use_count else "not yet"
    yield "Last used", when(fact.last_used_at)
    yield "To be confirmed by", when(fact.review_after)
    yield "Kept until", when(fact.expires_at)


def _of_playbook(playbook: Playbook) -> Iterator[Detail]:
    attempts = playbook.success_count + playbook.failure_count
    yield "Category", playbook.category.replace("_", " ")
    yield "Worked", f"{playbook.success_count} of {attempts} times" if attempts else "not tried yet"
    yield "Last worked", when(playbook.last_success_at)
    yield "Last failed", when(playbook.last_failure_at)
    yield "Believed again" if playbook.restores else "Learned", when(playbook.learned_at)


def _exact(moment: datetime) -> str:
    return in_full(timezone.localtime(moment))
