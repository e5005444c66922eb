"""Re-embeds what has vectors of another encoder than the installation's: owner by owner, what is shared first.

An owner's part of the index is rebuilt once all their memories are encoded; until then their recalls do not use the
new encoder (`recall/meaning.py`). Where all owners share the index, it is rebuilt at the end, by an identity that may
make indices. An interrupted pass goes on where it was, because the rows say what is done.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db.models import Count, Q

from memories.embedding import encoder_name
from memories.errors import SearchUnavailable
from memories.models import MEMORY_MODELS
from memories.models.base import MemoryRow
from memories.search import search_plane
from memories.search.checking import owners
from memories.search.documents import batches, encode_missing, rows_of
from memories.search.outbox import rebuild_all, rebuild_owner
from memories.types import Owner
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import JobResult, Unavailable
from memoryhub.leases import fault_of, halved

log = logging.getLogger(__name__)

# A run of the job lets others run after this many seconds.
RUN_SECONDS = 20.0
Advance = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How many memories there are in the index, and how many have a vector of `encoder`, the installation's."""

    encoder: str
    memories: int
    embedded: int

    @property
    def share(self) -> float:
        """The share that has such a vector, 0 to 1."""
        return self.embedded / self.memories if self.memories else 1.0


def embedding_progress() -> EmbeddingProgress:
    """Count the vectors of the installation's encoder; reads every memory."""
    name = encoder_name()
    memories = embedded = 0
    for model in MEMORY_MODELS.values():
        counted = (
            model.objects.unscoped("search index of every owner")
            .indexed()
            .aggregate(all=Count("pk"), done=Count("pk", filter=Q(embedding_model=name, embedding__isnull=False)))
        )
        memories, embedded = memories + counted["all"], embedded + counted["done"]
    return EmbeddingProgress(name, memories, embedded)


def owners_to_embed() -> list[Owner]:
    """Return the owners with vectors of another encoder, or with a part of the index that was made by one."""
    name, plane = encoder_name(), search_plane()
    waiting: set[Owner] = set()
    for model in MEMORY_MODELS.values():
        rows = model.objects.unscoped("search index of every owner").indexed()
        others = rows.filter(embedding__isnull=False).exclude(embedding_model=name).order_by()
        waiting |= {Owner(*ids) for ids in others.values_list("tenant_id", "user_id").distinct()}
    if not plane.joint:
        waiting |= {owner for owner in plane.owners() if plane.encoder_of(owner) not in (name, None)}
    return sorted(waiting, key=lambda owner: (owner.user_id is not None, str(owner.tenant_id), str(owner.user_id)))


def embed_owner(owner: Owner, advance: Advance = lambda _count: None) -> Iterator[int]:
    """Encode an owner's memories batch by batch, yielding the size of each, then rebuild their part of the index.

    Raises SearchUnavailable, and Unavailable if the encoder does not answer.
    """
    for batch in batches(rows_of(owner, without_vector=True)):
        halved(batch, encode_missing, _leave_out)
        advance(len(batch))
        yield len(batch)
    if not search_plane().joint:
        rebuild_owner(owner)


def finish() -> None:
    """Rebuild an index that all owners share, if it was made by another encoder. Raises SearchUnavailable."""
    plane = search_plane()
    if plane.joint and plane.encoder_of(Owner(None, None)) not in (encoder_name(), None):
        rebuild_all(owners())


def embed_all(advance: Advance) -> int:
    """Re-embed everything now; return the number of owners.

    Raises SearchUnavailable, and Unavailable if the encoder does not answer or another process is at it.
    """
    try:
        with advisory_lock("re-embedding"):
            waiting = owners_to_embed()
            for owner in waiting:
                for _ in embed_owner(owner, advance):
                    pass
            finish()
            return len(waiting)
    except LockTaken:
        raise Unavailable("Another process re-embeds the memories at the moment.") from None


@dataclass(slots=True)
class _Pass:
    """What this process knows of a pass: the encoder, the owners left, and the memories of the first that wait."""

    encoder: str
    left: list[Owner]
    of_first: Iterator[int] | None = None

    def run(self, seconds: float) -> bool:
        """Go on for about so long; False once nothing is left."""
        ends = time.monotonic() + seconds
        while self.left:
            self.of_first = self.of_first or embed_owner(self.left[0])
            for _ in self.of_first:
                if time.monotonic() > ends:
                    return True
            self.of_first = None
            self.left.pop(0)
        finish()
        return False


_pass: _Pass | None = None


def embed_some() -> JobResult:
    """The job that re-embeds in the background. Raises Unavailable."""
    global _pass  # noqa: PLW0603 - one pass per process
    try:
        with advisory_lock("re-embedding"):
            if _pass is None or _pass.encoder != encoder_name():
                _pass = _Pass(encoder_name(), owners_to_embed())
                if _pass.left:
                    log.warning("Re-embedding the memories of %d owners with %s.", len(_pass.left), _pass.encoder)
            elif not _pass.left:
                return JobResult.DONE
            return JobResult.MORE if _pass.run(RUN_SECONDS) else JobResult.DONE
    except LockTaken:
        return JobResult.DONE
    except (SearchUnavailable, Unavailable) as error:
        _pass = None
        raise Unavailable(str(error)) from error


def _leave_out(row: MemoryRow, error: Exception) -> None:
    log.error("The %s memory %s cannot be encoded: %s.", row.kind, row.pk, fault_of(error))
