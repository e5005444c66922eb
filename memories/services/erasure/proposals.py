"""Forgetting in two steps: an agent or a page proposes, and the member confirms in person or keeps.

A confirmation hides the memories at once, as an eviction does, and `finish_due` erases them UNDO_FOR later; until then
`undo` brings back each as it was. Each step is one transaction, so a process that dies leaves no half-erased memory.

A fact goes with the words that it was learned from, and words go with what only they support. What was learned from the
same words and was not chosen stays, without those words. Where nothing else holds the rest of a sentence, the plan says
so (`also`).
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.consolidation.rules import asks, marking
from memories.errors import Conflict, MemoriesError, existing
from memories.models import MEMORY_MODELS, Episode, ForgetProposal, Message, ProposalState
from memories.models.base import MemoryRow
from memories.selectors.erasure import on_hold, require_no_hold
from memories.services.erasure.forget import SpokenOf, erase_rows, spoken_of
from memories.services.erasure.forget_all import ForgetSelection, count_to_forget, forget_all
from memories.services.erasure.reach import reach, supported_by, wording_of
from memories.services.facts.closing import Supersedable, change_rows
from memories.services.idempotency import erase_answers
from memories.services.retention.collection import refuse_if_taken
from memories.services.write import AUDIT_NOUN, Write, housekeeping, require_person, write
from memories.types import CURRENT, Kind, Owner, Status
from memoryhub.db.compiled_query import Prepared
from tenants.audit.chain import EventDraft
from tenants.errors import TenantsError
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal, Right

log = logging.getLogger(__name__)

UNDO_FOR = timedelta(seconds=30)
# How long a proposal is open. Memories change, so an older list may no longer be what would go.
OPEN_FOR = timedelta(days=1)
RETRY_AFTER = timedelta(minutes=1)
# How long one run erases everything of an owner.
ERASE_SECONDS = 20.0
REASON = "forgotten at the owner's request"
AUDIT_KIND = "forgetting"
# A part of a sentence; the points of "Dr. Quist" and "3.5 km" end none.
_PART = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof)\.|(?<=\d)[.,](?=\d)|[^.!?。！？,;\n])+[.!?。！？]*")
# Distinctive words that a part of a sentence must hold beside the forgotten ones to be named.
_FEWEST_WORDS = 2

Target = tuple[Kind, UUID]


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What an erasure would take, what was learned from the same words and stays, and words that nothing else holds."""

    rows: tuple[MemoryRow, ...]
    stays: tuple[Supersedable, ...] = ()
    also: tuple[str, ...] = ()


def plan_forget(principal: Principal, targets: Iterable[Target]) -> ForgetPlan:
    """What erasing the owner's `targets` would take. Changes nothing. Raises NotFound."""
    principal.require(Right.READ)
    chosen = list(targets)
    rows: dict[UUID, MemoryRow] = {}
    for kind, memory_id in chosen:
        words = kind is Kind.EPISODIC
        rows |= {row.pk: row for row in reach(principal, kind, memory_id, cascade=words, sources=not words)}
    return _plan(principal, list(rows.values()), {memory_id for _, memory_id in chosen})


def _plan(principal: Principal, rows: Sequence[MemoryRow], chosen: Collection[UUID]) -> ForgetPlan:
    gone = {row.pk for row in rows}
    episodes = [row for row in rows if isinstance(row, Episode)]
    learned = supported_by(principal, episodes)
    stays = [row for row in learned if row.pk not in gone and row.status in CURRENT]
    held = wording_of([*(row for row in rows if not isinstance(row, Episode)), *stays]).words
    also = [part for row in episodes if row.pk not in chosen for part in _rest(row.text, held)]
    return ForgetPlan(tuple(rows), tuple(stays), tuple(dict.fromkeys(also)))


def _rest(text: str, held: frozenset[str]) -> Iterator[str]:
    """The parts of a text with words of their own that no memory in question holds."""
    if asks(text):
        return
    for part in _PART.findall(text):
        if len(marking(part) - held) >= _FEWEST_WORDS:
            yield part.strip()


def propose(
    principal: Principal, *, targets: Sequence[Target], session_id: UUID | None = None, turn: int = 0
) -> tuple[ForgetProposal, ForgetPlan]:
    """Store a proposal to erase `targets`; an open one of the same turn expires. Raises NotFound, Conflict (a hold)."""
    with write(principal) as w:
        require_no_hold(w.owner)
        plan = _with_request(principal, plan_forget(principal, targets), _request(principal, session_id, turn), targets)
        if session_id is not None:
            earlier = ForgetProposal.objects.of(principal).filter(session=session_id, turn=turn)
            earlier.filter(state=ProposalState.PROPOSED).update(state=ProposalState.EXPIRED)
        proposal = ForgetProposal.objects.create(
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            session_id=session_id,
            turn=turn,
            targets=_named(targets),
            goes=_named((row.kind, row.pk) for row in plan.rows),
        )
        _audit(w, proposal, "proposed")
        return proposal, plan


def confirm(principal: Principal, proposal_id: UUID) -> ForgetProposal:
    """Hide what the proposal lists, and have it erased after UNDO_FOR.

    Raises NotFound, Forbidden (an agent confirms nothing), Conflict (it was decided, is too old, a hold is in force, or
    more would go than was listed; then the list is made anew).
    """
    require_person(principal)
    changed = False
    with write(principal) as w:
        proposal = _locked(principal, proposal_id, ProposalState.PROPOSED)
        now = timezone.now()
        require_no_hold(w.owner)
        targets = _targets(proposal.targets)
        request = _request(principal, proposal.session_id, proposal.turn)
        plan = _with_request(principal, plan_forget(principal, targets), request, targets)
        listed = {memory_id for _, memory_id in _targets(proposal.goes)}
        changed = not {row.pk for row in plan.rows} <= listed
        rows = plan.rows if changed else (*plan.rows, *(row for row in request if row not in plan.rows))
        proposal.goes = _named((row.kind, row.pk) for row in rows)
        if not changed:
            fresh = [row for row in rows if row.status != Status.EVICTED]
            _hide(w, fresh, at=now)
            erase_answers(w.owner)
            proposal.hidden = [str(row.pk) for row in fresh]
            proposal.state, proposal.decided_at, proposal.erase_at = ProposalState.CONFIRMED, now, now + UNDO_FOR
            _audit(w, proposal, "confirmed")
        proposal.save()
    if changed:
        raise Conflict(
            _("More was said about it since this was proposed. Look at the list again; nothing was forgotten.")
        )
    return proposal


def forget_now(principal: Principal, *, kind: Kind, memory_id: UUID) -> ForgetProposal:
    """Propose and confirm in one step, for a page that has just listed what goes. Raises as both do."""
    require_person(principal)
    with write(principal):
        proposal, __ = propose(principal, targets=[(kind, memory_id)])
        return confirm(principal, proposal.pk)


def forget_everything(principal: Principal) -> ForgetProposal:
    """Have everything erased after UNDO_FOR, conversations and items included; until then all stays as it is.

    Asked again meanwhile, it is the same proposal. Raises Forbidden (not the member in person), Conflict (a hold).
    """
    require_person(principal)
    with write(principal) as w:
        asked = ForgetProposal.objects.of(principal).filter(state=ProposalState.CONFIRMED, counts__isnull=False).first()
        if asked is not None:
            return asked
        counted = count_to_forget(principal, filters=None)
        now = timezone.now()
        proposal = ForgetProposal.objects.create(
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            counts={**{kind.value: number for kind, number in counted.memories.items()}, "session": counted.sessions},
            state=ProposalState.CONFIRMED,
            decided_at=now,
            erase_at=now + UNDO_FOR,
        )
        _audit(w, proposal, "confirmed")
        return proposal


def keep(principal: Principal, proposal_id: UUID) -> ForgetProposal:
    """Decline a proposal. Raises NotFound, Forbidden, Conflict (it was decided or is too old)."""
    require_person(principal)
    with write(principal) as w:
        proposal = _locked(principal, proposal_id, ProposalState.PROPOSED)
        _decided(w, proposal, ProposalState.KEPT, "declined")
        return proposal


def undo(principal: Principal, proposal_id: UUID) -> ForgetProposal:
    """Bring back what a confirmation hid, each memory as it was.

    Raises NotFound, Forbidden, Conflict (the time is over, or another memory has taken the key or the words of one).
    """
    require_person(principal)
    with write(principal) as w:
        proposal = _locked(principal, proposal_id, ProposalState.CONFIRMED)
        if proposal.erase_at is None or proposal.erase_at <= timezone.now():
            raise Conflict(_("The time to undo is over; it is erased for good."))
        _show(w, proposal)
        _decided(w, proposal, ProposalState.KEPT, "undone")
        return proposal


def finish_due(owner: Owner | None = None) -> int:
    """Erase what was confirmed and can no longer be undone, of one owner or of all; return how many proposals."""
    now = timezone.now()
    every = ForgetProposal.objects.unscoped("erasures of every owner")
    due = every.filter(state=ProposalState.CONFIRMED, erase_at__lte=now)
    if owner is not None:
        due = due.filter(tenant=owner.tenant_id, user=owner.user_id)
    else:
        every.filter(state=ProposalState.PROPOSED, created_at__lte=now - OPEN_FOR).update(state=ProposalState.EXPIRED)
    done = 0
    for pk, tenant_id, user_id in list(due.values_list("pk", "tenant_id", "user_id")):
        try:
            done += _finish(Owner(tenant_id, user_id), pk)
        except (MemoriesError, TenantsError, DatabaseError) as error:
            # Only the type, because a database message may quote the row. The others do not wait for this one.
            log.warning("Forgetting %s was put off: %s.", pk, type(error).__name__)
            every.filter(pk=pk).update(erase_at=now + RETRY_AFTER)
    return done


def _finish(owner: Owner, proposal_id: UUID) -> int:
    with housekeeping(owner) as w:
        proposal = ForgetProposal.objects.of(w.principal).filter(pk=proposal_id).first()
        if proposal is None or proposal.state != ProposalState.CONFIRMED:
            return 0
        if on_hold(owner):  # it was placed after the confirmation, and forbids the erasure
            _show(w, proposal)
            _decided(w, proposal, ProposalState.KEPT, "held")
            return 0
        if proposal.counts is None:
            # A memory that was brought back in another way meanwhile stays.
            rows = [row for row in _rows(w.principal, proposal.goes) if row.status == Status.EVICTED]
            erase_rows(w, rows, reason=REASON)
            proposal.state = ProposalState.ERASED
            proposal.save(update_fields=["state"])
            return 1
    return _finish_everything(w.principal, proposal)


def _finish_everything(principal: Principal, proposal: ForgetProposal) -> int:
    """Erase batch by batch; what the time does not suffice for waits for the next run."""
    if not forget_all(principal, seconds=ERASE_SECONDS, selection=ForgetSelection(until=proposal.erase_at)).complete:
        return 0
    with write(principal):
        erased = ForgetProposal.objects.of(principal).filter(pk=proposal.pk, state=ProposalState.CONFIRMED)
        return erased.update(state=ProposalState.ERASED, erase_at=timezone.now())


def withheld(principal: Principal) -> SpokenOf | None:
    """What is hidden and not yet erased, for leaving it out of prompts; None if there is nothing.

    What is due is erased here, so that it does not wait for the job.
    """
    confirmed = _CONFIRMED.all(principal.tenant_id, principal.user_id)
    if not confirmed:
        return None
    if any(each.erase_at is not None and each.erase_at <= timezone.now() for each in confirmed):
        finish_due(Owner(principal.tenant_id, principal.user_id))
    return spoken_of(principal, [row for each in confirmed for row in _rows(principal, each.goes)])


def _confirmed(tenant_id: UUID, user_id: UUID) -> QuerySet[ForgetProposal]:
    return ForgetProposal.objects.of_owner(tenant_id, user_id).filter(state=ProposalState.CONFIRMED).order_by()


_CONFIRMED = Prepared(_confirmed)


def plan_of(principal: Principal, proposal: ForgetProposal) -> ForgetPlan:
    """What a proposal lists, as far as it still exists."""
    return _plan(principal, _rows(principal, proposal.goes), {pk for _, pk in _targets(proposal.targets)})


def find_proposal(principal: Principal, proposal_id: UUID) -> ForgetProposal:
    """One proposal of the owner. Raises NotFound."""
    principal.require(Right.READ)
    return existing(ForgetProposal.objects.of(principal).filter(pk=proposal_id).first(), "proposal")


def open_proposals(principal: Principal) -> list[tuple[ForgetProposal, AuditEvent]]:
    """What an agent or a program proposes and the owner can still decide, latest first, with the event that names it.

    Left out are lists that a page of the member made, and what was forgotten meanwhile.
    """
    principal.require(Right.READ)
    since = timezone.now() - OPEN_FOR
    found = list(ForgetProposal.objects.of(principal).filter(state=ProposalState.PROPOSED, created_at__gt=since))
    if not found:
        return []
    made = AuditEvent.objects.filter(tenant_id=principal.tenant_id, target_id__in=[each.pk for each in found])
    by_others = made.filter(action=f"{AUDIT_KIND}.proposed").exclude(actor_kind=ActorKind.MEMBER)
    events = {event.target_id: event for event in by_others}
    targets = _rows(principal, [target for each in found for target in each.targets])
    there = {row.pk for row in targets if row.status != Status.EVICTED}
    return [
        (each, events[each.pk])
        for each in found
        if each.pk in events and any(memory_id in there for _, memory_id in _targets(each.targets))
    ]


def is_open(proposal: ForgetProposal) -> bool:
    """Whether the member can still decide."""
    return proposal.state == ProposalState.PROPOSED and proposal.created_at > timezone.now() - OPEN_FOR


def can_undo(proposal: ForgetProposal) -> bool:
    """Whether an undo is still possible."""
    return proposal.state == ProposalState.CONFIRMED and (proposal.erase_at or timezone.now()) > timezone.now()


def _locked(principal: Principal, proposal_id: UUID, state: ProposalState) -> ForgetProposal:
    """The proposal, read under the owner's lock. Raises NotFound, Conflict unless it is in `state`."""
    proposal = find_proposal(principal, proposal_id)
    if proposal.state != state:
        raise Conflict(
            _("This proposal is %(get_state_display)s already.") % {"get_state_display": proposal.get_state_display()}
        )
    if state == ProposalState.PROPOSED and not is_open(proposal):
        raise Conflict(_("This proposal is too old; ask again."))
    return proposal


def _with_request(
    principal: Principal, plan: ForgetPlan, request: Sequence[Episode], targets: Iterable[Target]
) -> ForgetPlan:
    """List the message that asked, too, if it holds more than what it asks to forget."""
    held = wording_of([row for row in plan.rows if not isinstance(row, Episode)]).words
    more = [row for row in request if row not in plan.rows and any(_rest(row.text, held))]
    return _plan(principal, [*plan.rows, *more], {memory_id for _, memory_id in targets}) if more else plan


def _request(principal: Principal, session_id: UUID | None, turn: int) -> list[Episode]:
    """The episode of the message that asked, because it repeats the words."""
    if session_id is None:
        return []
    asked = Message.objects.of(principal).filter(session=session_id, turn=turn, step=0)
    return list(Episode.objects.of(principal).filter(message__in=asked))


def _hide(w: Write, rows: Sequence[MemoryRow], *, at: Any) -> None:
    for kind, some in _by_kind(rows).items():
        if kind is Kind.EPISODIC:
            for row in some:
                _set_episode(w, row, Status.EVICTED, "evicted")
            continue
        settled = [row for row in some if isinstance(row, Supersedable)]
        before = {row.pk: str(row.status) for row in settled}
        changes = {"evicted_from": F("status"), "evicted_at": at, "status": Status.EVICTED}
        records = change_rows(w, settled, changes)
        w.audit_drafts(
            [
                EventDraft(
                    f"{AUDIT_NOUN[kind]}.evicted", kind.value, pk, REASON, before={"status": before[pk]}, row=record
                )
                for pk, record in records.items()
            ]
        )


def _show(w: Write, proposal: ForgetProposal) -> None:
    """Bring back what the confirmation hid and nothing else brought back since."""
    for row in _rows(w.principal, proposal.goes):
        if str(row.pk) not in proposal.hidden or row.status != Status.EVICTED:
            continue
        if not isinstance(row, Supersedable):
            _set_episode(w, row, Status.ACTIVE, "revived")
            continue
        if row.evicted_from in CURRENT:
            refuse_if_taken(row)
        row.status, row.evicted_from, row.evicted_at = row.evicted_from, "", None
        row.version += 1
        row.save()
        w.audit(".revived", row, reason="the forgetting was undone", after={"status": str(row.status)})
        w.index(row)


def _set_episode(w: Write, row: MemoryRow, status: Status, verb: str) -> None:
    before, row.status = str(row.status), status
    row.version += 1
    row.save(update_fields=["status", "version", "updated_at"])
    w.audit(f".{verb}", row, reason=REASON, before={"status": before}, after={"status": str(status)})
    w.index(row)


def _decided(w: Write, proposal: ForgetProposal, state: ProposalState, verb: str) -> None:
    proposal.state, proposal.decided_at = state, timezone.now()
    proposal.save(update_fields=["state", "decided_at"])
    _audit(w, proposal, verb)


def _audit(w: Write, proposal: ForgetProposal, verb: str) -> None:
    ids = [memory_id for _, memory_id in proposal.goes]
    w.audit(f"{AUDIT_KIND}.{verb}", target_kind=AUDIT_KIND, target_id=proposal.pk, after={"memory_ids": ids})


def _rows(principal: Principal, named: Iterable[Sequence[str]]) -> list[MemoryRow]:
    """The owner's rows among these, in any state, in the order of the list."""
    ids: dict[Kind, list[UUID]] = defaultdict(list)
    for kind, memory_id in _targets(named):
        ids[kind].append(memory_id)
    found = {
        row.pk: row
        for kind, some in ids.items()
        for row in MEMORY_MODELS[kind].objects.of(principal).filter(pk__in=some)
    }
    return [found[memory_id] for _, memory_id in _targets(named) if memory_id in found]


def _by_kind(rows: Iterable[MemoryRow]) -> dict[Kind, list[MemoryRow]]:
    by: dict[Kind, list[MemoryRow]] = defaultdict(list)
    for row in rows:
        by[row.kind].append(row)
    return by


def _named(targets: Iterable[Target]) -> list[tuple[str, str]]:
    return [(kind.value, str(memory_id)) for kind, memory_id in targets]


def _targets(named: Iterable[Sequence[str]]) -> list[Target]:
    return [(Kind(kind), UUID(memory_id)) for kind, memory_id in named]
