"""A tenant with something of everything that the admin shows, and the same as it would be if none of it existed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.apps import apps
from django.db.models import Model, Q
from django.utils import timezone

from memories.models import (
    ConsolidationRun,
    ErasureRequest,
    ExpiryRule,
    ExportRequest,
    LegalHold,
    MemoryPolicy,
    MetricSample,
    OutboxEntry,
    RecallTrace,
    RequestState,
    RunState,
    ThresholdProposal,
)
from memories.services.audit_reports import make_report
from memories.services.cases import flag_turn, note_case, propose_correction
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.supersede import supersede
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.services.tenant_checks import ask_check, run_due
from memories.types import Kind, Recall, Scope
from tenants.audit.chain import owner_chain, tenant_chain
from tenants.audit.saved_views import save_view
from tenants.auditors import SavedView
from tenants.invitation_models import Invitation
from tenants.models import AuditEvent, ChainCheck, Checked, Membership, Tenant, User
from tenants.principal import Actor, ActorKind, Principal, Role
from tenants.provider_models import IdentityProvider
from tenants.services import issue_token
from tests.factories import make_membership, make_tenant, own_principal
from tests.memories.services.reviewing import asked, say

# No id that was drawn is as small as this.
_WORDS = 10**6
ROLES = (Role.SUPPORT, Role.AUDITOR, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Place:
    """A tenant in which every text and every name holds `mark`; `ids` names a row of each sort, as `cases.py` does."""

    mark: str
    ids: Mapping[str, Any]
    tenant: Tenant
    staff: Mapping[Role, Membership]


def make_place(mark: str) -> Place:
    """All of it, through the services where they write it."""
    tenant = make_tenant(f"{mark} Limited")
    staff = {role: _staff(tenant, role, mark) for role in ROLES}
    member = make_membership(tenant, name=f"{mark} Ada")
    token, _ = issue_token(member, name=f"{mark} token")
    chain = owner_chain(tenant.id, member.user_id)
    remembered = _remembered(own_principal(member), own_principal(staff[Role.ADMIN]), mark)
    event = AuditEvent.objects.filter(chain=chain, action="fact.superseded").get()
    ids = {
        "app_label": "memories", "tenant": tenant.pk, "member": member.pk, "user": member.user_id, "token": token.pk,
        "event": event.pk, "chain": chain, "tenant_chain": tenant_chain(tenant.id),
    }  # fmt: skip
    return Place(mark, ids | remembered | _kept(tenant, member, staff, mark), tenant, staff)


def _remembered(principal: Principal, admin: Principal, mark: str) -> dict[str, Any]:
    """A conversation, what was learned in it and replaced, what is shared, and a question about two facts."""
    turn = begin_turn(principal, text=f"Where does the {mark} live?")
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": turn.turn}
    call = {"id": "call-1", "name": "recall_memory", "arguments": {"query": mark}}
    add_tool_step(principal, **place, tool_calls=[call])
    old = say(principal, f"The {mark} lives in Bristol", key="home_city", supporting_episode_ids=[turn.episode_id])
    new = supersede(principal, old_ids=[old.pk], text=f"The {mark} lives in Edinburgh", reason=f"the {mark} moved")
    trace = RecallTrace.objects.create(
        tenant_id=principal.tenant_id, user_id=principal.user_id, session_id=turn.session_id, query=mark
    )
    recall = Recall(trace.pk, mark, (), degraded=False, took_ms=1.0)
    add_tool_result(principal, **place, tool_call_id="call-1", recall=recall, written=[new])
    finish_turn(principal, **place, text=f"In Edinburgh, says the {mark}.")
    playbook = remember_playbook(principal, title=f"Feed the {mark}", trigger="at noon", steps=["open the tin"])
    shared = remember_catalog_entry(admin, title=f"On the {mark}", text=f"What a {mark} eats", scope=Scope.TENANT)
    cup = say(principal, f"The {mark} drinks from the red cup", confidence=0.7)
    piano = say(principal, f"Nobody may touch the piano of the {mark}", confidence=0.6)
    case = flag_turn(principal, session_id=turn.session_id, turn=turn.turn)
    note_case(principal, case.pk, text=f"The {mark} complained")
    propose_correction(principal, case.pk, fact_id=cup.pk, text=f"The {mark} drinks from the blue cup")
    item, _ = put(principal, namespace=("zoo", mark), key=f"food of the {mark}", value={"eats": f"{mark} biscuits"})
    return {
        "item": item.pk, "case": case.pk,
        "kind": Kind.SEMANTIC.value, "memory": new.memory_id, "fact": new.memory_id, "episode": turn.episode_id,
        "playbook": playbook.memory_id, "catalog": shared.memory_id, "session": turn.session_id, "turn": turn.turn,
        "trace": trace.pk, "review": asked(principal, cup, piano).pk,
        "outbox": _waiting(principal.tenant_id, principal.user_id, old.pk),
    }  # fmt: skip


def _kept(tenant: Tenant, member: Membership, staff: Mapping[Role, Membership], mark: str) -> dict[str, Any]:
    """What staff and machines keep about it."""
    run = ConsolidationRun.objects.create(
        tenant=tenant, user=member.user, state=RunState.FAILED, extractor="rules", error=f"the {mark} ran away",
        ended_at=timezone.now(), given_up=True, output={"facts": [{"text": mark}]},
    )  # fmt: skip
    MetricSample.objects.create(name="memories", label=mark, tenant=tenant, value=1.0, at=timezone.now())
    ChainCheck.objects.create(chain=owner_chain(tenant.id, member.user_id), what=Checked.AUDIT, ok=True)
    proposal = ThresholdProposal.objects.create(pk=_number(), tenant=tenant, value=0.3, reason=f"so says the {mark}")
    held = staff[Role.SUPPORT].user
    auditor = staff[Role.AUDITOR].user
    now = timezone.now()
    report = make_report(
        auditor, Actor(ActorKind.STAFF, auditor.pk), tenant.pk, since=now - timedelta(days=1), until=now
    )
    view = save_view(auditor, tenant, SavedView.Page.AUDIT, name=f"Looks at {mark}", asked={"action": "memory.read"})
    check = ask_check(auditor, tenant.pk)
    run_due()
    return {
        "report": report.pk,
        "view": view.pk,
        "check": check.pk,
        "run": run.pk,
        "proposal": proposal.pk,
        "rule": ExpiryRule.objects.create(pk=_number(), tenant=tenant, category=mark, soft_days=3).pk,
        "policy": MemoryPolicy.objects.create(pk=_number(), tenant=tenant, session_hours=5).pk,
        "erasure": ErasureRequest.objects.create(tenant=tenant, membership=member, reason=f"the {mark} asked").pk,
        "export": ExportRequest.objects.create(
            tenant=tenant,
            membership=member,
            reason=f"the {mark} asked",
            asked_by=staff[Role.ADMIN].user,
            state=RequestState.APPROVED,
            decided_at=timezone.now(),
        ).pk,
        "invitation": Invitation.objects.create(
            tenant=tenant,
            email=f"{mark}@example.org".lower().replace(" ", ""),
            invited_by=staff[Role.ADMIN].user,
            expires_at=timezone.now() + timedelta(days=1),
        ).pk,
        "provider": IdentityProvider.objects.create(
            tenant=tenant, issuer=f"https://{mark.lower().replace(' ', '-')}.example.org", client_id=f"the {mark}"
        ).pk,
        "hold": LegalHold.objects.create(tenant=tenant, user=held, reason=f"a claim about the {mark}").pk,
    }


def nowhere(place: Place) -> dict[str, Any]:
    """Ids of the same form as those of `place`, of which there is nothing."""
    return {name: _like(value) for name, value in place.ids.items()}


def rows_of(tenant: Tenant) -> dict[str, list[dict[str, Any]]]:
    """Every row of a tenant, in every table that has any of its own."""
    found: dict[str, list[dict[str, Any]]] = {}
    for model in [*apps.get_app_config("tenants").get_models(), *apps.get_app_config("memories").get_models()]:
        of_tenant = _of(model, tenant)
        if of_tenant is not None and not model._meta.proxy:
            found[model._meta.label] = list(model._default_manager.filter(of_tenant).order_by("pk").values())
    return found


def _of(model: type[Model], tenant: Tenant) -> Q | None:
    names = {field.name for field in model._meta.get_fields()}
    if model is Tenant:
        return Q(pk=tenant.pk)
    if model is User:
        return Q(memberships__tenant=tenant)
    for column, found in (
        ("tenant", Q(tenant=tenant.pk)),
        ("tenant_id", Q(tenant_id=tenant.pk)),
        ("membership", Q(membership__tenant=tenant.pk)),
        ("chain", Q(chain__contains=str(tenant.pk))),
        ("event", Q(event__tenant_id=tenant.pk)),
    ):
        if column in names:
            return found
    return None


def _staff(tenant: Tenant, role: Role, mark: str) -> Membership:
    membership = make_membership(tenant, role=role.value, name=f"{mark} {role.value}")
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    return Membership.objects.select_related("tenant", "user").get(pk=membership.pk)


def _waiting(tenant_id: UUID, user_id: UUID, memory_id: UUID) -> int:
    """A change that the index does not have yet, and will not for a while."""
    entry = OutboxEntry.objects.create(
        pk=_number(), tenant_id=tenant_id, user_id=user_id, kind=Kind.SEMANTIC, memory_id=memory_id, version=1,
        operation="upsert", available_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    return entry.pk


def _number() -> int:
    """An id that is no other number on any page."""
    return random.randrange(10**8, 10**9)


def _like(value: object) -> object:
    match value:
        case UUID():
            return uuid4()
        case int() if value > _WORDS:
            return _number()
        case _:
            return value  # a word, or the number of a turn: these name nobody
