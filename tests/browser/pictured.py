"""The demo with something on every page of staff: what `tests/browser/pictures.py` takes pictures of.

Invariant: people, companies and words are the demo's; what is added is done through the services where they do it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.demo.seeding import seed
from memories.metrics.sampling import sample_metrics
from memories.models import (
    CatalogEntry,
    ConsolidationRun,
    ExpiryRule,
    Fact,
    MemoryPolicy,
    Message,
    OutboxEntry,
    Playbook,
    RecallTrace,
    ReviewItem,
    RunState,
    SupportCase,
    ThresholdProposal,
)
from memories.search.outbox import drain
from memories.services.audit_reports import make_report
from memories.services.chain_proofs import prove_supersession
from memories.services.consolidation.running import consolidate
from memories.services.erasure.requests import approve_erasure, ask_erasure, place_hold
from memories.services.erasure.stages import carry_out
from memories.services.facts.remember import remember_fact
from memories.services.facts.undo import undo
from memories.services.items import put
from memories.services.tenant_checks import ask_check, run_due
from memories.types import Kind, Owner
from tenants.audit.chain import owner_chain, tenant_chain
from tenants.audit.verification import prove
from tenants.invitations import invite
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import Actor, ActorKind, Principal, Role
from tenants.principals import principal_of, system_principal
from tenants.provider_models import IdentityProvider
from tenants.services import issue_token

MERGED = "Both brakes squealed in the wet until salmon-coloured pads were fitted"
MISTAKEN = "Both brakes squealed until the rims were replaced"
# One look at the metrics every so often, for a day.
LOOKS, BETWEEN = 96, timedelta(minutes=15)


def make_pictured() -> Mapping[str, Any]:
    """All of it, in an empty database; the ids of what is shown, by the names of `isolation/cases.py`."""
    seed(lambda _: None)
    people = {each.user.username: each for each in _memberships("quill-lane")}
    ada, benji, noor = people["ada"], people["benji"], people["noor"]
    hollis = Actor(ActorKind.STAFF, people["hollis"].user_id)
    MemoryPolicy.objects.filter(tenant=ada.tenant).update(session_hours=48, second_person="always")
    consolidate(system_principal(ada))
    run = max(ConsolidationRun.objects.filter(user=ada.user_id), key=lambda each: len(each.decisions))
    mistaken = _five(principal_of(ada, actor_kind=ActorKind.MEMBER))
    erasure = ask_erasure(hollis, membership_id=benji.pk, reason="Asked for in a letter of 3 March")
    operator = User.objects.get(username="operator")
    approve_erasure(Actor(ActorKind.STAFF, operator.pk), request_id=erasure.pk)
    hold = place_hold(hollis, tenant_id=noor.tenant_id, membership_id=noor.pk, reason="A claim after a crash in May")
    ask_erasure(hollis, membership_id=noor.pk, reason="Asked for at the counter")
    item = _items(principal_of(ada, actor_kind=ActorKind.MEMBER).as_agent())
    drain()
    if not carry_out(erasure.pk):
        raise RuntimeError("The erasure for the pictures was not carried out.")
    _failed(noor)
    _a_day_of_metrics()
    prove(owner_chain(ada.tenant_id, ada.user_id), people["colm"].user)
    prove_supersession(Owner(ada.tenant_id, ada.user_id), people["colm"].user)
    token, _ = issue_token(ada, name="workshop tablet")
    by = people["hollis"].user
    invited = invite(tenant=ada.tenant, role=Role.SUPPORT, email="bea@quill-lane.example", by=by, actor=hollis)
    turn = _turn_with_most(ada)
    case = SupportCase.objects.filter(user=noor.user_id).latest("created_at")
    return {
        **_rules(ada), **_audited(ada.tenant, people["colm"].user),
        "app_label": "memories", "tenant": ada.tenant_id, "member": ada.pk, "user": ada.user_id, "token": token.pk,
        "invitation": invited.pk, "item": item,
        "complainer": noor.pk, "case_session": case.session_id, "case_turn": case.turn,
        "event": AuditEvent.objects.get(target_id=mistaken, action="fact.superseded").pk,
        "review": ReviewItem.objects.filter(user=ada.user_id).latest("created_at").pk,
        "run": run.pk, "erasure": erasure.pk, "hold": hold.pk, "outbox": _waiting(ada, mistaken),
        "kind": Kind.SEMANTIC.value, "memory": Fact.objects.get(restores__isnull=False, user=ada.user_id).pk,
        "used": Fact.objects.get(text__startswith="Rides a dark teal", user=ada.user_id).pk,
        "playbook": Playbook.objects.current().get(user=ada.user_id).pk,
        "catalog": CatalogEntry.objects.filter(tenant=ada.tenant_id).latest("created_at").pk,
        "session": turn.session_id, "turn": turn.turn, "chain": owner_chain(ada.tenant_id, ada.user_id),
        "tenant_chain": tenant_chain(ada.tenant_id),
    }  # fmt: skip


def _memberships(slug: str) -> list[Membership]:
    return list(Membership.objects.filter(tenant__slug=slug).select_related("user", "tenant"))


def _five(own: Principal) -> UUID:
    """The chain of the brakes, of which two were merged, with a mistake and its undo."""
    merged = Fact.objects.get(text=MERGED, user=own.user_id)
    at = merged.learned_at + timedelta(days=40)
    wrong = remember_fact(
        own.as_agent(), text=MISTAKEN, category="bike", supersedes_ids=[merged.pk], learned_at=at, reason="said in chat"
    )
    undo(own, kind=Kind.SEMANTIC, memory_id=wrong.memory_id, reason="the rims were never replaced")
    return wrong.memory_id


def _failed(member: Membership) -> None:
    ConsolidationRun.objects.create(
        tenant=member.tenant, user=member.user, state=RunState.FAILED, extractor="gpt-4.1-mini",
        error="The model did not answer within 60 seconds.", ended_at=timezone.now(), last_ordinal=8,
    )  # fmt: skip


def _a_day_of_metrics() -> None:
    """Recalls all through the last day, more of them by day than by night, and the looks that saw them."""
    now, chance = timezone.now(), random.Random(7)
    owners = list(Membership.objects.filter(user__username__in=("ada", "noor", "imani", "theo")))
    for look in range(LOOKS, 0, -1):
        RecallTrace.objects.bulk_create(_recall(chance.choice(owners), now - BETWEEN * look, chance) for _ in range(4))
    for look in range(LOOKS, -1, -1):
        sample_metrics(now - BETWEEN * look)


def _recall(member: Membership, at: datetime, chance: random.Random) -> RecallTrace:
    took = chance.lognormvariate(3.4, 0.4)
    query, candidates = {"ms": took * 0.1}, {"ms": took * 0.7, "count": 40}
    stages = {"query": query, "candidates": candidates, "selected": {"ms": took * 0.2}}
    return RecallTrace(
        tenant_id=member.tenant_id, user_id=member.user_id, stages=stages, took_ms=took, created_at=at,
        returned=0 if chance.random() < 0.1 else 7,
    )  # fmt: skip


def _turn_with_most(member: Membership) -> Message:
    """Ada's question about the tyres, whose answer took up several memories."""
    return Message.objects.get(session__user=member.user_id, text__startswith="Which tyres did we settle on")


def _rules(member: Membership) -> dict[str, Any]:
    tenant = member.tenant
    seen = ((0.3, 318, 96), (0.45, 315, 402), (0.6, 241, 611))
    values = [{"value": value, "kept": kept, "cut": cut} for value, kept, cut in seen]
    proposal = ThresholdProposal.objects.create(
        tenant=tenant, value=0.45, previous=0.3, reason="Below 0.45, 3 of 100 memories were taken up.",
        evidence={"recalls": 212, "items": 1310, "used": 318, "ignored": 992, "values": values},
    )  # fmt: skip
    return {
        "rule": ExpiryRule.objects.create(tenant=tenant, category="appointments", soft_days=90).pk,
        "policy": MemoryPolicy.objects.get(tenant=tenant).pk,
        "proposal": proposal.pk,
    }


def _items(agent: Principal) -> UUID:
    """What the workshop's own program keeps for her; the id of the one that it replaced once."""
    for key, value in (("saddle", {"height": "73 cm", "setback": "4 cm"}), ("courier", {"days": ["Tue", "Fri"]})):
        put(agent, namespace=("workshop", "fit"), key=key, value=value)
    orders = ("workshop", "orders")
    put(agent, namespace=orders, key="November", value={"done": ["brake pads"], "paid": True})
    done = ["brake pads", "winter tyres"]
    item, _ = put(agent, namespace=orders, key="November", value={"done": done, "paid": True})
    return item.pk


def _audited(tenant: Tenant, auditor: User) -> dict[str, Any]:
    """A report of the last month, a verification of everything, and the provider by which people could sign in."""
    now = timezone.now()
    by = Actor(ActorKind.STAFF, auditor.pk)
    report = make_report(auditor, by, tenant.pk, since=now - timedelta(days=30), until=now)
    check = ask_check(auditor, tenant.pk)
    run_due()
    provider = IdentityProvider.objects.create(
        tenant=tenant, issuer="https://login.quill-lane.example", client_id="memoryhub", domains=["quill-lane.example"]
    )
    return {"report": report.pk, "check": check.pk, "provider": provider.pk}


def _waiting(member: Membership, memory_id: UUID) -> int:
    """A change that the index does not have yet, and will not while pictures are taken."""
    now: datetime = timezone.now()
    entry = OutboxEntry.objects.create(
        tenant_id=member.tenant_id, user_id=member.user_id, kind=Kind.SEMANTIC, memory_id=memory_id, version=9,
        operation="upsert", available_at=now + timedelta(days=1),
    )  # fmt: skip
    return entry.pk
