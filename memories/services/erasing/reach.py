"""What an erasure takes with it: copies of the memory, and on request the words it came from or what came from it.

Invariant: only rows of the owner, each once, the named memory first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models import Q

from memories.errors import NotFound
from memories.models import MEMORY_MODELS, Episode, Fact, Mention, Playbook, Relation
from memories.models.base import MemoryRow
from memories.services.erasing.wording import Wording, only_asks, wording_of
from memories.services.succession import Supersedable, model_of
from memories.types import Kind
from tenants.principal import Principal

_SUPPORTED: tuple[type[Fact | Playbook], ...] = (Fact, Playbook)
_CHANGED = (Relation.WROTE, Relation.CONFIRMED, Relation.REPLACED)


def reach(principal: Principal, kind: Kind, memory_id: UUID, *, cascade: bool, sources: bool) -> list[MemoryRow]:
    """The rows that an erasure of one memory takes with it, that memory first. Raises NotFound.

    Always: every other row of the same wording, current or not. `sources`: the words that a fact or a how-to came from
    and by which it ended, and what else was learned from nothing but them and repeats it. `cascade`: all that only the
    erased words support.
    """
    row = MEMORY_MODELS[kind].objects.of(principal).filter(pk=memory_id).first()
    if row is None:
        raise NotFound("memory")
    rows: dict[UUID, MemoryRow] = {row.pk: row}
    wording = wording_of([row])
    if isinstance(row, Supersedable):
        rows |= _by_id(_same_wording(principal, row))
        if sources:
            same = [each for each in rows.values() if isinstance(each, Supersedable)]
            rows |= _by_id(_told_in(principal, same, wording))
    episodes = [each for each in rows.values() if isinstance(each, Episode)]
    if cascade or sources:
        only = supported_by_nothing_else(principal, episodes)
        rows |= _by_id(each for each in only if cascade or wording.repeated_in(each.searchable_text))
    rows |= _by_id(_copies(principal, rows.values()))
    return list(rows.values())


def supported_by_nothing_else(principal: Principal, episodes: Collection[Episode]) -> list[Supersedable]:
    """The owner's facts and how-tos whose every supporting episode is among `episodes`."""
    ids = {episode.pk for episode in episodes}
    return [
        row
        for model in _SUPPORTED
        for row in model.objects.of(principal)
        .filter(supporting_episodes__in=ids)
        .distinct()
        .prefetch_related("supporting_episodes")
        if {episode.pk for episode in row.supporting_episodes.all()} <= ids
    ]


def _same_wording(principal: Principal, row: Supersedable) -> Iterator[Supersedable]:
    """Rows that say it too: what an undo brought back, what was once believed before, a copy in another scope."""
    yield from model_of(row.kind).objects.of(principal).filter(content_hash=row.content_hash).exclude(pk=row.pk)


def _copies(principal: Principal, rows: Iterable[MemoryRow]) -> list[Supersedable]:
    """Rows that an undo or a promotion made from `rows`, and those made from them."""
    found: dict[UUID, Supersedable] = {}
    fresh = {row.pk for row in rows if isinstance(row, Supersedable)}
    while fresh:
        made = Q(restores__in=fresh) | Q(promoted_from__in=fresh)
        copies = [row for model in _SUPPORTED for row in model.objects.of(principal).filter(made)]
        fresh = {row.pk for row in copies} - found.keys()
        found |= {row.pk: row for row in copies}
    return list(found.values())


def _told_in(principal: Principal, rows: Sequence[Supersedable], wording: Wording) -> Iterator[Episode]:
    """The words that `rows` came from; and, as far as they repeat it, those by which it ended or that asked for it."""
    ids = [row.pk for row in rows]
    for row in rows:
        yield from row.supporting_episodes.all()
        neighbours = model_of(row.kind).objects.of(principal)
        beside = neighbours.filter(Q(pk=row.superseded_by_id) | Q(superseded_by=row.pk))
        for neighbour in beside.prefetch_related("supporting_episodes"):
            for episode in neighbour.supporting_episodes.all():
                if wording.repeated_in(episode.searchable_text):
                    yield episode
    mentions = Mention.objects.of(principal).filter(memory_id__in=ids)
    places = mentions.values_list("message__session_id", "message__turn", "relation")
    for session_id, turn, relation in set(places):
        said = Episode.objects.of(principal).filter(message__session_id=session_id, message__turn=turn)
        for episode in said:
            if wording.repeated_in(episode.text) and (relation in _CHANGED or only_asks(episode.text)):
                yield episode


def _by_id(rows: Iterable[MemoryRow]) -> dict[UUID, MemoryRow]:
    return {row.pk: row for row in rows}
