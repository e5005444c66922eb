"""Which audit event tells of a fault that the proof of chains found, and which tells of a row that is not there.

Invariant: only events in a chain of the row's own owner count (of its tenant, for what is shared); nothing here reads a
payload.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memories.models import CHAINED_MODELS, ErasureRequest
from memories.models.erasure_request import OPEN_ERASURES
from memories.selectors.chain_rows import Whose
from memories.selectors.chain_trail import AT_ONCE, NOUN, ToldBy
from memories.types import Kind
from memoryhub.as_stored import UNREADABLE, rows_as_stored
from tenants.models import AuditEvent

# Which row, if its id can be read, and what is wrong with it.
Fault = tuple[UUID | None, str]

_COLUMNS = ("target_id", "tenant_id", "owner_id", "chain", "sequence", "id", "action")
_CLOSING = ("superseded", "retired", "retracted")
# How a problem begins -> what the events do that tell of it.
_TOLD_IN: tuple[tuple[str, Sequence[str]], ...] = (
    ("has other words", ("created",)),
    ("says the same", ("created",)),
    ("has the key", ("created", "merged")),
    ("brings back", ("restored",)),
    ("was promoted", ("created",)),
    ("is evicted", ("evicted",)),
    ("would return", ("evicted",)),
    ("was archived", ("archived",)),
)
# That staff looked at a memory, or took its history along, tells nothing of what became of it.
_LOOKING = Q(action__endswith=".read") | Q(action__endswith=".exported")


def telling_events(owners: Mapping[UUID, Whose], faults: Collection[Fault]) -> dict[Fault, ToldBy]:
    """For each fault of a row the event that tells of it: the latest that did what is wrong, else the latest on it.

    Of a row of which nobody can read whose it is, anybody's.
    """
    events = _events({memory_id for memory_id, _ in faults if memory_id}, owners)
    found: dict[Fault, ToldBy] = {}
    for memory_id, problem in faults:
        told = events.get(memory_id, [])
        verbs = next((verbs for beginning, verbs in _TOLD_IN if problem.startswith(beginning)), _CLOSING)
        telling = [event for verb, event in told if verb in verbs] or [event for _, event in told]
        if telling:
            found[memory_id, problem] = telling[-1]
    return found


def vanished(chain: str = "") -> Iterator[tuple[Kind, UUID, ToldBy]]:
    """Rows that were written, are not there, and that nobody erased, by the event of their writing; one statement.

    Of one chain, or of all. What says nothing any more is of a member who was erased, or is being erased.
    """
    actions = {f"{noun}.created": kind for kind, noun in NOUN.items()}
    target = OuterRef("target_id")
    erasures = [f"{noun}.{verb}" for noun in NOUN.values() for verb in ("forgotten", "erased")]
    begun = ErasureRequest.objects.filter(
        tenant=OuterRef("tenant_id"), membership__user=OuterRef("owner_id"), state__in=OPEN_ERASURES
    ).exclude(started_at=None)
    events = AuditEvent.objects.filter(
        ~Exists(AuditEvent.objects.filter(target_id=target, action__in=erasures)),
        *(~Exists(model.objects.filter(pk=target)) for model in CHAINED_MODELS.values()),
        ~Exists(begun),
        action__in=actions,
        payload__isnull=False,
    )
    if chain:
        events = events.filter(chain=chain)
    for (lost, _, _, of, sequence, event_id, action), _ in rows_as_stored(events, _COLUMNS, chunk_size=AT_ONCE):
        if UNREADABLE not in (lost, of, sequence, event_id, action):
            yield actions[action], lost, ToldBy(of, sequence, event_id)


def _events(ids: Collection[UUID], owners: Mapping[UUID, Whose]) -> dict[UUID | None, list[tuple[str, ToldBy]]]:
    """What was done to each of these rows, and the event that tells of it, in their order."""
    found: dict[UUID | None, list[tuple[str, ToldBy]]] = defaultdict(list)
    every = sorted(ids)
    for start in range(0, len(every), AT_ONCE):
        events = AuditEvent.objects.filter(target_id__in=every[start : start + AT_ONCE]).exclude(_LOOKING)
        told = rows_as_stored(events.order_by("created_at", "sequence"), _COLUMNS, chunk_size=AT_ONCE)
        for (target, tenant_id, user_id, chain, sequence, event_id, action), _ in told:
            tenant, user = owners[target]
            if tenant not in (None, UNREADABLE, tenant_id) or user not in (None, UNREADABLE, user_id):
                continue
            if UNREADABLE not in (chain, sequence, event_id, action):
                found[target].append((action.rpartition(".")[2], ToldBy(chain, sequence, event_id)))
    return found
