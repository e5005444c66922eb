"""Finds the rows that an erasure includes: copies and, on request, source episodes and what was learned from them.

A text repeats a memory if it contains the memory's text or one of its distinctive words. In doubt it counts as a
repetition, because emptying an answer loses little, while keeping it may disclose erased text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from memories.consolidation.rules import asks, marking, over
from memories.errors import existing
from memories.models import MEMORY_MODELS, Episode, Fact, Mention, Playbook, Relation
from memories.models.base import MemoryRow
from memories.services.facts.closing import Supersedable, model_of
from memories.types import Kind
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class ErasedWording:
    """The wording of erased memories: their normalised texts, and the distinctive words that identify them."""

    texts: frozenset[str]
    words: frozenset[str]

    def repeated_in(self, text: str, *, but: frozenset[str] = frozenset()) -> bool:
        """Whether `text` repeats the wording; the words in `but` are ignored."""
        plain_text = _even(text)
        return bool((self.words - but) & marking(text)) or any(each in plain_text for each in self.texts)


def wording_of(rows: Iterable[MemoryRow]) -> ErasedWording:
    """The wording of `rows`, for finding texts that repeat them."""
    texts = [row.searchable_text for row in rows]
    evened = frozenset(filter(None, map(_even, texts)))
    return ErasedWording(evened, frozenset().union(*map(marking, texts)))


def ends(text: str, wording: ErasedWording) -> bool:
    """Whether a text says that something of this wording has ended, never was, or was something else."""
    return any(wording.repeated_in(each) for each in over(text))


def strings_in(value: object) -> Iterator[str]:
    """Every string inside a JSON value, except the names of members."""
    match value:
        case str():
            yield value
        case dict():
            for member in value.values():
                yield from strings_in(member)
        case list() | tuple():
            for member in value:
                yield from strings_in(member)


def _even(text: str) -> str:
    return " ".join(text.casefold().split())


_SUPPORTED: tuple[type[Fact | Playbook], ...] = (Fact, Playbook)
_CHANGED = (Relation.WROTE, Relation.CONFIRMED, Relation.REPLACED)


def reach(principal: Principal, kind: Kind, memory_id: UUID, *, cascade: bool, sources: bool) -> list[MemoryRow]:
    """The rows that erasing one memory includes, that memory first. Raises NotFound.

    Rows of the same wording, current or not, are always included. `sources` adds the episodes that a fact or playbook
    came from or was ended by, and memories that only these episodes support and that repeat it. `cascade` adds every
    memory that only the erased episodes support.
    """
    row = existing(MEMORY_MODELS[kind].objects.of(principal).filter(pk=memory_id).first(), "memory")
    principal = replace(principal, apart=False)  # copies of the words go, whichever app wrote them
    rows: dict[UUID, MemoryRow] = {row.pk: row}
    wording = wording_of([row])
    sources = sources and isinstance(row, Supersedable)
    fresh: list[MemoryRow] = [row]
    while fresh:
        found: list[MemoryRow] = [*_copies(principal, fresh)]
        if sources or row in fresh:
            found += _same_wording(principal, fresh)
        if sources:
            found += _told_in(principal, fresh, wording)
        if sources or cascade:
            only = supported_by_nothing_else(principal, [each for each in rows.values() if isinstance(each, Episode)])
            found += [each for each in only if cascade or wording.repeated_in(each.searchable_text)]
        fresh = [each for each in {each.pk: each for each in found}.values() if each.pk not in rows]
        rows |= {each.pk: each for each in fresh}
    return list(rows.values())


def supported_by_nothing_else(principal: Principal, episodes: Collection[Episode]) -> list[Supersedable]:
    """The owner's facts and playbooks whose supporting episodes are all among `episodes`."""
    ids = {episode.pk for episode in episodes}
    rows = supported_by(principal, episodes)
    return [row for row in rows if {episode.pk for episode in row.supporting_episodes.all()} <= ids]


def supported_by(principal: Principal, episodes: Collection[Episode]) -> list[Supersedable]:
    """The owner's facts and playbooks that one of `episodes` supports."""
    ids = [episode.pk for episode in episodes]
    return [
        row
        for model in _SUPPORTED
        for row in model.objects.of(principal)
        .filter(supporting_episodes__in=ids)
        .distinct()
        .prefetch_related("supporting_episodes")
    ]


def _same_wording(principal: Principal, rows: Iterable[MemoryRow]) -> Iterator[Supersedable]:
    """Rows with the same content hash: restored, earlier, or in another scope."""
    for row in rows:
        if isinstance(row, Supersedable):
            yield from model_of(row.kind).objects.of(principal).filter(content_hash=row.content_hash)


def _copies(principal: Principal, rows: Iterable[MemoryRow]) -> Iterator[Supersedable]:
    """Rows that an undo or a promotion made from `rows`."""
    ids = [row.pk for row in rows if isinstance(row, Supersedable)]
    for model in _SUPPORTED:
        yield from model.objects.of(principal).filter(Q(restores__in=ids) | Q(promoted_from__in=ids))


def _told_in(principal: Principal, rows: Sequence[MemoryRow], wording: ErasedWording) -> Iterator[Episode]:
    """The episodes that `rows` came from, and those that repeat them while ending, changing or asking about them."""
    for row in rows:
        if isinstance(row, Supersedable):
            yield from row.supporting_episodes.all()
            yield from (each for each in _beside(principal, row) if wording.repeated_in(each.searchable_text))
    mentions = Mention.objects.of(principal).filter(memory_id__in=[row.pk for row in rows])
    for session_id, turn, relation in set(mentions.values_list("message__session_id", "message__turn", "relation")):
        for said in Episode.objects.of(principal).filter(message__session_id=session_id, message__turn=turn):
            about_it = relation in _CHANGED or asks(said.text) or ends(said.text, wording)
            if about_it and wording.repeated_in(said.text):
                yield said


def _beside(principal: Principal, row: Supersedable) -> Iterator[Episode]:
    """The supporting episodes of the row's predecessors and successor."""
    neighbours = model_of(row.kind).objects.of(principal).filter(Q(pk=row.superseded_by_id) | Q(superseded_by=row.pk))
    for neighbour in neighbours.prefetch_related("supporting_episodes"):
        yield from neighbour.supporting_episodes.all()
