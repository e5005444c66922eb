"""A memory as a person reads it: its words, its state, where it came from, what took its place.

Invariant: a card is made from rows of the reader's own selectors; it holds no model, and templates query nothing.

What else is known of a memory, as terms and values for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from memories.hygiene.sensitivity.telling import short, with_article
from memories.models import CatalogEntry, Episode, Fact, Playbook
from memories.presenting.lines import headline
from memories.presenting.markup import share, when
from memories.presenting.moments import in_full
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, is_shared, memories_by_id
from memories.types import CURRENT, Handling, Kind, SensitiveKind, Source, Status
from tenants.principal import Principal

# How a reader's own words are signed.
OWN_NAME = "You"


@dataclass(frozen=True, slots=True)
class Link:
    """A memory named in the card of another one."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that a fact was learned from."""

    text: str
    speaker: str
    said_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A kind of sensitive value that the words of a memory have, or had: in a word, and in a sentence."""

    word: str
    hint: str


@dataclass(frozen=True, slots=True)
class Card:
    """One memory. `since` is when it happened or was learned; `successor` what replaced it, if anything did."""

    kind: Kind
    id: UUID
    text: str
    status: Status
    since: datetime
    url: str
    until: datetime | None = None
    retracted: bool = False
    shared: bool = False
    speaker: str = ""
    context: str = ""
    category: str = ""
    trigger: str = ""
    steps: tuple[str, ...] = ()
    successes: int = 0
    attempts: int = 0
    pinned: bool = False
    use_count: int = 0
    session_id: UUID | None = None
    successor: Link | None = None
    quotes: tuple[Quote, ...] = ()
    reasons: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def current(self) -> bool:
        """Whether it is still believed."""
        return self.status in CURRENT

    @property
    def can_correct(self) -> bool:
        """Facts and how-tos of one's own that are still believed; what was said stays as it was said."""
        return self.current and not self.shared and self.kind in (Kind.SEMANTIC, Kind.PROCEDURAL)

    @property
    def can_amend(self) -> bool:
        """Facts and how-tos of one's own that were replaced or retired, and are not known to be wrong."""
        return self.status is Status.SUPERSEDED and not self.retracted and not self.shared

    @property
    def can_forget(self) -> bool:
        """Everything of one's own."""
        return not self.shared

    @property
    def wording(self) -> str:
        """What a correction starts from: the text of a fact, the steps of a how-to one a line."""
        return "\n".join(self.steps) if self.kind is Kind.PROCEDURAL else self.text


def cards_of(
    principal: Principal,
    rows: Sequence[Memory],
    *,
    reasons: Mapping[UUID, tuple[str, ...]] | None = None,
    quotes: bool = False,
) -> tuple[Card, ...]:
    """The cards of these rows in their order, with successors and, if asked, the words that facts came from."""
    successors = _successors(principal, rows)
    facts = [row.pk for row in rows if isinstance(row, Fact)]
    sources = supporting_episodes(principal, facts) if quotes and facts else {}
    return tuple(
        _card(
            principal,
            row,
            successor=successors.get(getattr(row, "superseded_by_id", None)),
            quotes=tuple(_quote(principal, episode) for episode in sources.get(row.pk, ())),
            reasons=(reasons or {}).get(row.pk, ()),
        )
        for row in rows
    )


def address(kind: Kind, memory_id: UUID) -> str:
    """The page of one memory."""
    return reverse("remember:memory", kwargs={"kind": kind, "memory_id": memory_id})


def undo_address(kind: Kind, memory_id: UUID) -> str:
    """Where to post that the ending of a memory was a mistake."""
    return reverse("remember:undo", kwargs={"kind": kind, "memory_id": memory_id})


def speaker_name(principal: Principal, speaker: str) -> str:
    """Who said it, from the reader's side."""
    return OWN_NAME if speaker in ("", principal.speaker) else speaker


def _quote(principal: Principal, episode: Episode) -> Quote:
    speaker = speaker_name(principal, episode.speaker)
    return Quote(episode.text, speaker, episode.happened_at, address(Kind.EPISODIC, episode.pk))


def _successors(principal: Principal, rows: Iterable[Memory]) -> dict[UUID | None, Link]:
    ids: dict[Kind, set[UUID]] = {Kind.SEMANTIC: set(), Kind.PROCEDURAL: set()}
    for row in rows:
        if isinstance(row, Fact | Playbook) and row.superseded_by_id:
            ids[row.kind].add(row.superseded_by_id)
    found = memories_by_id(principal, ids)
    return {pk: Link(headline(row), address(row.kind, pk)) for pk, row in found.items()}


def _card(
    principal: Principal, row: Memory, *, successor: Link | None, quotes: tuple[Quote, ...], reasons: tuple[str, ...]
) -> Card:
    card = Card(
        kind=row.kind,
        id=row.pk,
        text=headline(row),
        status=Status(row.status),
        since=_since(row),
        url=address(row.kind, row.pk),
        shared=is_shared(row),
        successor=successor,
        quotes=quotes,
        reasons=reasons,
        flags=tuple(_flag(SensitiveKind(kind), becomes) for kind, becomes in sorted(row.sensitivity.items())),
    )
    match row:
        case Episode():
            speaker = speaker_name(principal, row.speaker)
            return replace(card, speaker=speaker, context=row.context, session_id=row.session_id)
        case Fact():
            return replace(_ended(card, row), category=row.category, pinned=row.pinned, use_count=row.use_count)
        case Playbook():
            return replace(
                _ended(card, row),
                trigger=row.trigger,
                steps=tuple(row.steps),
                successes=row.success_count,
                attempts=row.success_count + row.failure_count,
            )
        case CatalogEntry():
            return card


def _flag(kind: SensitiveKind, becomes: str) -> Flag:
    noun = with_article(kind)
    if becomes == Handling.MASK:
        return Flag(f"{short(kind)} removed", f"It had {noun}, which was taken out before it was stored.")
    return Flag(short(kind), f"It holds {noun}.")


def _ended(card: Card, row: Fact | Playbook) -> Card:
    return replace(card, until=row.superseded_at, retracted=row.retracted)


def _since(row: Memory) -> datetime:
    if isinstance(row, Episode):
        return row.happened_at
    return row.learned_at if isinstance(row, Fact | Playbook) else row.created_at


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
