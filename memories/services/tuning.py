"""The recall threshold of a tenant, tuned from recorded use: proposed with its reasons, applied by somebody who may.

Invariant: a proposal is made of the recalls of its own tenant and of nothing else, and holds numbers only. Proposing
changes no policy; a proposal is decided once, and recorded in the tenant's audit log.

The daily look at what recorded use says of each tenant's recall threshold, where a setting asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memories.errors import Conflict, MemoriesError, NotFound
from memories.models import Mention, RecallTrace, Relation, ThresholdProposal
from memories.recall.tuning import ThresholdVerdict, propose
from memories.selectors.policies import policy_of
from memories.services.policies import administrator, set_policy
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.locks import wait_for_tenant
from tenants.models import Tenant
from tenants.principal import SYSTEM, Actor, Principal

# The latest recalled memories that a proposal looks at, and how many traces are read at once.
MOST_RECORDED = 20_000
_BATCH = 500
_DECIDED = "This proposal was applied or dismissed already."


def propose_threshold(by: Principal | Actor, *, tenant_id: UUID) -> ThresholdProposal:
    """Look at what was recalled and used in a tenant and store what that speaks for, even if it is nothing.

    An earlier proposal that nobody decided is dismissed by it. Raises Forbidden, NotFound.
    """
    actor = administrator(by, tenant_id)
    verdict, recalls = _verdict(tenant_id)
    return _store(actor, tenant_id, verdict, recalls)


def propose_news(by: Principal | Actor, *, tenant_id: UUID) -> ThresholdProposal | None:
    """The same, but only a value that is neither the tenant's threshold nor what was proposed last.

    So a proposal that was dismissed does not come back every day. Raises Forbidden, NotFound.
    """
    actor = administrator(by, tenant_id)
    verdict, recalls = _verdict(tenant_id)
    last = ThresholdProposal.objects.filter(tenant_id=tenant_id).order_by("-created_at", "-pk").first()
    known = {policy_of(tenant_id).recall_threshold, last.value if last else None, None}
    return None if verdict.value in known else _store(actor, tenant_id, verdict, recalls)


def apply_proposal(by: Principal | Actor, *, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    """Make the proposed value the tenant's threshold.

    Raises Forbidden, NotFound (also for another tenant's), Conflict (it is decided, or proposes nothing).
    """
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        now = _locked(tenant_id)
        proposal = _undecided(tenant_id, proposal_id)
        if proposal.value is None:
            raise Conflict("This proposal speaks for no threshold; there is nothing to apply.")
        set_policy(by, tenant_id=tenant_id, recall_threshold=proposal.value)
        proposal.applied_at, proposal.applied_by = now, actor.id
        proposal.save(update_fields=["applied_at", "applied_by"])
        _tell(actor, proposal, "threshold.applied")
    return proposal


def dismiss_proposal(by: Principal | Actor, *, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    """Decide against a proposal; the policy stays. Raises Forbidden, NotFound, Conflict (it is decided)."""
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        now = _locked(tenant_id)
        proposal = _undecided(tenant_id, proposal_id)
        proposal.dismissed_at = now
        proposal.save(update_fields=["dismissed_at"])
        _tell(actor, proposal, "threshold.dismissed")
    return proposal


def _verdict(tenant_id: UUID) -> tuple[ThresholdVerdict, int]:
    """What recorded use speaks for, and of how many recalls it is."""
    recorded = list(_recorded(tenant_id))
    verdict = propose([(score, used) for _, score, used in recorded])
    return verdict, len({trace_id for trace_id, _, _ in recorded})


def _store(actor: Actor, tenant_id: UUID, verdict: ThresholdVerdict, recalls: int) -> ThresholdProposal:
    with transaction.atomic():
        now = _locked(tenant_id)
        open_ones = ThresholdProposal.objects.filter(tenant_id=tenant_id, applied_at=None, dismissed_at=None)
        open_ones.update(dismissed_at=now)
        proposal = ThresholdProposal.objects.create(
            tenant_id=tenant_id,
            value=verdict.value,
            previous=policy_of(tenant_id).recall_threshold,
            reason=verdict.reason,
            evidence=_evidence(verdict, recalls=recalls),
            created_at=now,
        )
        _tell(actor, proposal, "threshold.proposed")
    return proposal


def _recorded(tenant_id: UUID) -> Iterator[tuple[UUID, float, bool]]:
    """The recall, the score and the use of each memory that was recalled in the tenant and of which that is known."""
    rows = (
        Mention.objects.unscoped("tuning of a tenant")
        .filter(tenant_id=tenant_id, relation=Relation.RECALLED, used__isnull=False)
        .exclude(message__recall_id=None)
        .order_by("-id")
        .values_list("message__recall_id", "memory_id", "used")[:MOST_RECORDED]
    )
    used = {(trace_id, str(memory_id)): taken for trace_id, memory_id, taken in rows}
    traces = list(dict.fromkeys(trace_id for trace_id, _ in used))
    for start in range(0, len(traces), _BATCH):
        found = RecallTrace.objects.unscoped("tuning of a tenant").filter(
            tenant_id=tenant_id, pk__in=traces[start : start + _BATCH]
        )
        for trace_id, candidates in found.values_list("pk", "candidates"):
            for line in candidates:
                taken = used.get((trace_id, line.get("id")))
                if taken is not None:
                    yield trace_id, float(line["score"]), taken


def _evidence(verdict: ThresholdVerdict, *, recalls: int) -> dict[str, object]:
    return {
        "recalls": recalls,
        "items": verdict.used + verdict.ignored,
        "used": verdict.used,
        "ignored": verdict.ignored,
        "hit_rate": round(verdict.hit_rate, 4),
        "ignored_rate": round(verdict.ignored_rate, 4),
        "values": [{"value": each.value, "kept": each.kept, "cut": each.cut} for each in verdict.values],
    }


def _locked(tenant_id: UUID) -> datetime:
    if not wait_for_tenant(tenant_id):
        raise NotFound("tenant")
    return timezone.now()


def _undecided(tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    proposal = ThresholdProposal.objects.filter(tenant_id=tenant_id, pk=proposal_id).first()
    if proposal is None:
        raise NotFound("threshold proposal")
    if proposal.applied_at or proposal.dismissed_at:
        raise Conflict(_DECIDED)
    return proposal


def _tell(actor: Actor, proposal: ThresholdProposal, action: str) -> None:
    draft = EventDraft(action, "tenant", proposal.tenant_id, after={"value": proposal.value, "proposal": proposal.pk})
    record_tenant_event(actor, proposal.tenant_id, draft)


log = logging.getLogger(__name__)


def tune_daily() -> None:
    """Propose a threshold to each tenant for which there is a new one; apply it if `MEMORYHUB_TUNE_RECALL` says so."""
    if settings.MEMORYHUB_TUNE_RECALL == "off":
        return
    for tenant_id in Tenant.objects.filter(is_active=True).order_by("id").values_list("id", flat=True):
        try:
            with transaction.atomic():  # one that was to be applied and was not must not count as proposed
                proposal = propose_news(SYSTEM, tenant_id=tenant_id)
                if proposal is not None and settings.MEMORYHUB_TUNE_RECALL == "apply":
                    apply_proposal(SYSTEM, tenant_id=tenant_id, proposal_id=proposal.pk)
        except MemoriesError as error:  # it went meanwhile, or an administrator was faster
            log.info("No threshold for tenant %s: %s", tenant_id, type(error).__name__)
