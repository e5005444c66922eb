"""The view model of one memory, shared by the chat, the staff pages, the API and the event stream.

A `MemoryView` wraps a row from a selector and adds the values that need another query (successor, quotes, use count),
so that templates and serializers run no query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from itertools import chain
from typing import Any, cast
from uuid import UUID

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.consolidation.rules import to_owner
from memories.hygiene.differences import Piece, differences
from memories.hygiene.sensitivity.findings import short, with_article
from memories.models import CatalogEntry, Episode, Fact, Playbook, ReviewItem
from memories.presenting.lines import headline, in_full
from memories.presenting.markup import share, when
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, is_shared, memories_by_id
from memories.types import CURRENT, Handling, Kind, Scope, SensitiveKind, Source, Status
from memoryhub.languages import number
from tenants.principal import Principal

# Builds the URL of the page of one memory.
MemoryAddress = Callable[[Kind, UUID], str]
# The speaker's name on the reader's own messages.
OWN_NAME = cast("str", gettext_lazy("You"))


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A link to another memory, labelled with its headline; `addressed` is that as its owner reads it.

    `restored`: an undo brought it back.
    """

    text: str
    url: str
    addressed: str = ""
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """An episode that supports a fact."""

    text: str
    speaker: str
    said_at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class SensitiveFlag:
    """A kind of sensitive value that the memory holds or held: a label, and a sentence for the tooltip."""

    word: str
    hint: str


def _column(name: str, *, default: object = None) -> Any:
    """A property that reads a column of the row, or `default` for kinds without it."""
    return property(lambda view: getattr(view.row, name, default))


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory of any kind; attributes that the kind does not have are empty.

    `use_count` counts the answers that were made from it. `waiting` is true if the latest version is not in the index
    yet.
    """

    row: Memory
    url: str = ""
    speaker: str = ""
    successor: MemoryLink | None = None
    quotes: tuple[Quote, ...] = ()
    use_count: int = 0
    waiting: bool = False

    until = _column("superseded_at")
    """When it stopped being believed."""
    retracted = _column("retracted", default=False)
    category = _column("category", default="")
    key = _column("key", default="")
    confidence = _column("confidence")
    pinned = _column("pinned", default=False)
    context = _column("context", default="")
    recallable = _column("recallable", default=True)
    session_id = _column("session_id")
    turn = _column("turn")
    """The turn in which it was said, where the selector annotated it."""
    trigger = _column("trigger", default="")
    source_url = _column("source_url", default="")
    successes = _column("success_count", default=0)
    proposed = _column("proposed", default=False)

    @property
    def kind(self) -> Kind:
        return self.row.kind

    @property
    def id(self) -> UUID:
        return self.row.pk

    @property
    def text(self) -> str:
        """The text of a fact or an event; the title of other kinds."""
        return headline(self.row)

    @property
    def addressed(self) -> str:
        """The text as its owner reads it, "You live in Leeds" for a fact; what cannot be turned is as it was stored."""
        return self._turned or self.text

    @property
    def is_addressed(self) -> bool:
        """Whether the text speaks to its owner, so that a page need not say who wrote it."""
        return bool(self._turned)

    @property
    def _turned(self) -> str:
        return to_owner(self.text) if isinstance(self.row, Fact) and not self.shared else ""

    @property
    def source_words(self) -> str:
        """The source of a fact for its owner; empty for other kinds."""
        return source_words(self.row)

    @property
    def own(self) -> bool:
        """Whether the reader said it."""
        return self.speaker == OWN_NAME

    @property
    def statement(self) -> str:
        """The whole text in one paragraph, with an event's context or the title."""
        if isinstance(self.row, Episode):
            return self.row.searchable_text
        return f"{self.text}. {self.body}" if self.body else self.text

    @property
    def status(self) -> Status:
        return Status(self.row.status)

    @property
    def scope(self) -> Scope:
        return Scope(self.row.scope)

    @property
    def since(self) -> datetime:
        """The time when it happened, was learned, or was shared."""
        if isinstance(self.row, Episode):
            return self.row.happened_at
        return self.row.learned_at if isinstance(self.row, Fact | Playbook) else self.row.created_at

    @property
    def restored(self) -> bool:
        """Whether an undo restored it."""
        return isinstance(self.row, Fact | Playbook) and self.row.restores is not None

    @property
    def expired(self) -> bool:
        return isinstance(self.row, Fact) and self.row.expires_at is not None and self.row.expires_at <= timezone.now()

    @property
    def current(self) -> bool:
        """Whether its status is a current one."""
        return self.row.status in CURRENT

    @property
    def shared(self) -> bool:
        return is_shared(self.row)

    @property
    def task(self) -> str:
        return self.row.task or ""

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.row.steps) if isinstance(self.row, Playbook) else ()

    @property
    def body(self) -> str:
        """The text below a title; empty for kinds without a title."""
        return self.row.text if isinstance(self.row, Playbook | CatalogEntry) else ""

    @property
    def below(self) -> str:
        """What a list shows below a title: the text, or the trigger and steps of a how-to."""
        return self.body or " ".join((self.trigger, *self.steps)).strip()

    @property
    def attempts(self) -> int:
        return self.row.success_count + self.row.failure_count if isinstance(self.row, Playbook) else 0

    @property
    def flags(self) -> tuple[SensitiveFlag, ...]:
        return flags_of(self.row.sensitivity)

    @property
    def can_correct(self) -> bool:
        """Whether its owner can correct it: a current fact or how-to of their own."""
        return self.current and not self.shared and isinstance(self.row, Fact | Playbook)

    @property
    def can_amend(self) -> bool:
        """Whether its owner can change how it ended: it was replaced or retired, but not marked as wrong."""
        return self.status is Status.SUPERSEDED and not self.retracted and not self.shared

    @property
    def can_forget(self) -> bool:
        return not self.shared

    @property
    def wording(self) -> str:
        """The initial text of a correction form, with each step of a how-to on its own line."""
        return "\n".join(self.steps) if self.kind is Kind.PROCEDURAL else self.text

    @property
    def fingerprint(self) -> str:
        """A digest that changes with the memory, but not with recalls or the state of the index."""
        outcomes = (self.successes, self.attempts)
        parts = (self.id, self.row.version, self.status, self.expired, self.pinned, outcomes, self.successor)
        return blake2s(repr((*parts, self.text)).encode(), digest_size=6).hexdigest()


def memory_views(
    principal: Principal,
    rows: Sequence[Memory],
    *,
    address: MemoryAddress,
    quotes: bool = False,
    use_counts: Mapping[UUID, int] | None = None,
    waiting: AbstractSet[UUID] = frozenset(),
) -> tuple[MemoryView, ...]:
    """The views of these rows in order, with successors and optionally quotes; at most three queries.

    `use_counts` are the uses of kinds that do not count their own; `waiting` are ids with a pending index change.
    """
    successors = successor_links(principal, rows, address)
    facts = [row.pk for row in rows if isinstance(row, Fact)]
    sources = supporting_episodes(principal, facts) if quotes and facts else {}
    return tuple(
        MemoryView(
            row,
            address(row.kind, row.pk),
            speaker=speaker_name(principal, row.speaker) if isinstance(row, Episode) else "",
            successor=successors.get(getattr(row, "superseded_by_id", None)),
            quotes=tuple(_quote(principal, episode, address) for episode in sources.get(row.pk, ())),
            use_count=row.use_count if isinstance(row, Fact) else (use_counts or {}).get(row.pk, 0),
            waiting=row.pk in waiting,
        )
        for row in rows
    )


def successor_links(
    principal: Principal, rows: Iterable[Memory], address: MemoryAddress
) -> dict[UUID | None, MemoryLink]:
    """Links to the successors of these rows, by id of the successor; one query for each kind."""
    ids: dict[Kind, set[UUID]] = {Kind.SEMANTIC: set(), Kind.PROCEDURAL: set()}
    for row in rows:
        if isinstance(row, Fact | Playbook) and row.superseded_by_id:
            ids[row.kind].add(row.superseded_by_id)
    found = memories_by_id(principal, ids)
    return {
        pk: MemoryLink(headline(row), address(row.kind, pk), view.addressed, view.restored)
        for pk, row in found.items()
        for view in [MemoryView(row)]
    }


def speaker_name(principal: Principal, speaker: str) -> str:
    """The speaker as the reader sees it, "You" for their own messages."""
    return str(OWN_NAME) if speaker in ("", principal.speaker) else speaker


def _quote(principal: Principal, episode: Episode, address: MemoryAddress) -> Quote:
    speaker = speaker_name(principal, episode.speaker)
    return Quote(episode.text, speaker, episode.happened_at, address(Kind.EPISODIC, episode.pk))


def flags_of(sensitivity: Mapping[str, str]) -> tuple[SensitiveFlag, ...]:
    """A flag for each mark of a row."""
    return tuple(_flag(SensitiveKind(kind), done) for kind, done in sorted(sensitivity.items()))


def _flag(kind: SensitiveKind, handling: str) -> SensitiveFlag:
    noun = with_article(kind)
    if handling == Handling.MASK:
        removed = _("It had %(value)s, which was taken out before it was stored.") % {"value": noun}
        return SensitiveFlag(_("%(value)s removed") % {"value": short(kind)}, removed)
    return SensitiveFlag(short(kind), _("It holds %(value)s.") % {"value": noun})


def reviewed_rows(item: ReviewItem) -> list[Fact | Playbook]:
    """The memories of a review, the older fact first."""
    return [row for row in (item.first, item.second, item.playbook) if row is not None]


def compared(item: ReviewItem) -> list[tuple[Fact | Playbook, tuple[Piece, ...]]]:
    """The memories of a review, each with its headline in pieces that mark the differences."""
    rows = reviewed_rows(item)
    return list(zip(rows, marked_differences([headline(row) for row in rows]), strict=True))


def marked_differences(texts: Sequence[str]) -> tuple[tuple[Piece, ...], ...]:
    """Each of one or two texts in pieces that mark where the two differ."""
    return differences(*texts) if len(texts) > 1 else tuple((Piece(text, differs=False),) for text in texts)


Detail = tuple[str, SafeString | str]

# The label for the owner, and the label for staff.
SOURCES: Mapping[Source, tuple[Promise, Promise]] = {
    Source.USER_STATED: (gettext_lazy("you said it"), gettext_lazy("the member said it")),
    Source.IMPORTED: (gettext_lazy("imported"), gettext_lazy("imported")),
    Source.CONFIG_CHANGE: (gettext_lazy("a setting changed"), gettext_lazy("a setting changed")),
    Source.TASK_OUTCOME: (gettext_lazy("how a task went"), gettext_lazy("how a task went")),
    Source.AGENT_INFERRED: (gettext_lazy("your agent concluded it"), gettext_lazy("the agent concluded it")),
    Source.PATTERN: (gettext_lazy("a pattern over time"), gettext_lazy("a pattern over time")),
}


def details_of(row: Memory, *, staff: bool = False) -> tuple[Detail, ...]:
    """Labels and values of a memory's columns in reading order, without empty values."""
    match row:
        case Fact():
            details = _details_of_fact(row, staff=staff)
        case Playbook():
            details = _details_of_playbook(row, staff=staff)
        case Episode():
            said = in_full(timezone.localtime(row.happened_at))
            details = iter([(_("Said"), said), (_("By"), row.speaker), (_("Stored"), when(row.created_at))])
        case _:
            details = iter([(_("Stored"), when(row.created_at))])
    metadata = json.dumps(row.metadata, ensure_ascii=False) if row.metadata else ""
    details = chain(details, [(_("App"), row.app), (_("Metadata"), metadata)])
    return tuple((term, value) for term, value in details if value)


def source_words(row: Memory, *, staff: bool = False) -> str:
    """The source of a fact; empty for other kinds."""
    return str(SOURCES[Source(row.source)][staff]) if isinstance(row, Fact) else ""


def _details_of_fact(fact: Fact, *, staff: bool) -> Iterator[Detail]:
    yield _("About"), fact.key if staff else fact.key.replace("_", " ")
    yield _("Category"), fact.category.replace("_", " ")
    yield _("Source"), source_words(fact, staff=staff)
    yield _("Confidence"), share(fact.confidence)
    yield _("Believed again") if fact.restores else _("Learned"), when(fact.learned_at)
    yield _("Believed until"), when(fact.superseded_at)
    yield _("Confirmed"), when(fact.last_verified_at)
    yield _("True from"), when(fact.valid_from)
    yield _("True until"), when(fact.valid_to)
    yield _("Used"), f"{number(fact.use_count)}×" if fact.use_count else _("not yet")
    yield _("Last recalled"), when(fact.last_used_at)
    yield _("To be confirmed by"), when(fact.review_after)
    yield _("Kept until"), when(fact.expires_at)
    if staff:
        yield _("Staleness"), share(fact.staleness)


def _details_of_playbook(playbook: Playbook, *, staff: bool) -> Iterator[Detail]:
    attempts = playbook.success_count + playbook.failure_count
    yield _("Category"), playbook.category.replace("_", " ")
    worked = {"successes": playbook.success_count, "attempts": attempts}
    yield _("Worked"), _("%(successes)s of %(attempts)s times") % worked if attempts else _("not tried yet")
    yield _("Last worked"), when(playbook.last_success_at)
    yield _("Last failed"), when(playbook.last_failure_at)
    yield _("Believed again") if playbook.restores else _("Learned"), when(playbook.learned_at)
    yield _("Believed until"), when(playbook.superseded_at)
    if staff:
        yield _("Staleness"), share(playbook.staleness)
