"""Compares the search plane with the database row by row, and expunges removed memories.

Changes that are on their way in the outbox do not count as differences; those that were set aside do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from memories.embedding import encoder_name
from memories.errors import SearchUnavailable
from memories.models import MEMORY_MODELS
from memories.models.supersedable import Supersedable
from memories.search import search_plane
from memories.search.base import PartMissing, StoredState
from memories.search.outbox import on_the_way
from memories.types import Kind, Owner, Status
from memoryhub.jobs import Unavailable


class IndexProblem(StrEnum):
    """The kind of difference."""

    PART_MISSING = "part missing"
    OTHER_ENCODER = "vectors of another encoder"
    UNREADABLE = "part cannot be read"
    NOT_INDEXED = "not in the index"
    NOT_IN_DATABASE = "not in the database"
    OTHER_VERSION = "another version"
    OTHER_STATUS = "another status"
    OTHER_PLACE = "in the archive or out of it"
    TWICE = "held twice"


@dataclass(frozen=True, slots=True)
class IndexDifference:
    """A row in which the plane and the database differ, or a whole part (`id` is None)."""

    owner: Owner
    problem: IndexProblem
    kind: Kind | None = None
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a comparison: owners, database rows, undelivered memories (`waiting`), and differences."""

    owners: int
    rows: int
    waiting: int
    differences: tuple[IndexDifference, ...]

    @property
    def ok(self) -> bool:
        """True if there are no differences."""
        return not self.differences


def owners() -> list[Owner]:
    """Return all owners with memories in the database or, if the plane is readable, a part in the plane."""
    known = {Owner(None, None)}
    with suppress(SearchUnavailable):
        known |= set(search_plane().owners())
    for model in MEMORY_MODELS.values():
        known |= {
            Owner(*ids)
            for ids in model.objects.unscoped("search index of every owner")
            .values_list("tenant_id", "user_id")
            .distinct()
            .order_by()
        }
    return sorted(known, key=lambda owner: (str(owner.tenant_id or ""), str(owner.user_id or "")))


def check(owner: Owner) -> CheckReport:
    """Compare one owner's part with the database. A failing plane is reported as a difference.

    Very recent writes are only compared correctly after `SearchPlane.settle`.
    """
    plane = search_plane()
    waiting = set(on_the_way(owner).values_list("memory_id", flat=True))
    expected = {state.id: state for state in _expected(owner)}
    try:
        stored: dict[UUID, list[StoredState]] = defaultdict(list)
        for state in plane.stored(owner):
            stored[state.id].append(state)
        # A shared index is rebuilt as a whole; its health tells of another encoder.
        if not plane.joint and plane.encoder_of(owner) not in (encoder_name(), None):
            other = (IndexDifference(owner, IndexProblem.OTHER_ENCODER),)
            return CheckReport(1, len(expected), len(waiting), other)
    except PartMissing:
        missing = (IndexDifference(owner, IndexProblem.PART_MISSING),) if expected.keys() - waiting else ()
        return CheckReport(1, len(expected), len(waiting), missing)
    except SearchUnavailable:
        return CheckReport(1, len(expected), len(waiting), (IndexDifference(owner, IndexProblem.UNREADABLE),))
    different = tuple(
        IndexDifference(owner, problem, (expected.get(id_) or stored[id_][0]).kind, id_)
        for id_ in sorted((expected.keys() | stored.keys()) - waiting)
        if (problem := _problem(expected.get(id_), stored.get(id_, []))) is not None
    )
    return CheckReport(1, len(expected), len(waiting), different)


def _expected(owner: Owner) -> Iterator[StoredState]:
    for kind, model in MEMORY_MODELS.items():
        rows = model.objects.of_owner(owner.tenant_id, owner.user_id).indexed()
        archivable = ("archived_at",) if issubclass(model, Supersedable) else ()
        for id_, version, status, *archived in rows.order_by().values_list("pk", "version", "status", *archivable):
            yield StoredState(kind, id_, version, Status(status), any(archived))


def _problem(expected: StoredState | None, stored: Sequence[StoredState]) -> IndexProblem | None:
    if not stored:
        return IndexProblem.NOT_INDEXED
    if expected is None:
        return IndexProblem.NOT_IN_DATABASE
    if len(stored) > 1:
        return IndexProblem.TWICE
    (only,) = stored
    if expected.version != only.version:
        return IndexProblem.OTHER_VERSION
    if expected.status is not only.status:
        return IndexProblem.OTHER_STATUS
    return IndexProblem.OTHER_PLACE if expected.archived is not only.archived else None


def expunge() -> None:
    """Have the plane remove the bytes of removed memories. Raises SearchUnavailable."""
    search_plane().expunge()


def expunge_index() -> None:
    """The job that runs `expunge`. Raises Unavailable."""
    try:
        expunge()
    except SearchUnavailable as error:
        raise Unavailable(str(error)) from error
