"""Erasures and exports need a second person where there is one; nothing that one person does gets round it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from memories.errors import Conflict, InvalidInput
from memories.models import ErasureRequest, ExportRequest, MemoryPolicy, RequestState
from memories.selectors.erasure import due_requests
from memories.services.approvals import approve, refuse, staff_rules
from memories.services.erasure.requests import approve_erasure, ask_erasure, refuse_erasure
from memories.services.erasure.stages import carry_out
from memories.services.policies import set_policy
from memories.services.portability import ask_export, export_member
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import SYSTEM, Actor, ActorKind, Role
from tenants.principals import principal_of
from tenants.services import add_member, change_role, create_user, deactivate
from tests.factories import MakeMember, make_membership
from tests.proofs.crowd import at_once

pytestmark = pytest.mark.django_db


def at_the_desk(member: Membership) -> Actor:
    return Actor(ActorKind.STAFF, member.user_id)


@pytest.fixture
def hollis(tenant: Tenant) -> Membership:
    """An administrator of Ada's tenant."""
    return make_membership(tenant, "admin", "Hollis")


@pytest.fixture
def marit(tenant: Tenant) -> Membership:
    """Another one."""
    return make_membership(tenant, "admin", "Marit")


def state_of(by: Membership, member: Membership) -> str:
    """The state of an erasure that somebody asks for now."""
    return ask_erasure(at_the_desk(by), membership_id=member.pk, reason="a letter").state


def alone(hollis: Membership) -> None:
    """Hollis is the only administrator."""


def with_marit(hollis: Membership) -> None:
    make_membership(hollis.tenant, "admin")


def with_herself(hollis: Membership) -> None:
    """A second account of the same person."""
    User.objects.filter(pk=hollis.user_id).update(email="hollis@example.com")
    User.objects.filter(pk=make_membership(hollis.tenant, "admin").user_id).update(email="Hollis@example.com")


def with_somebody_elsewhere(hollis: Membership) -> None:
    make_membership(None, "admin")


def after_marit_was_demoted(hollis: Membership) -> None:
    change_role(make_membership(hollis.tenant, "admin"), role=Role.MEMBER, actor=at_the_desk(hollis))


def after_marit_was_deactivated(hollis: Membership) -> None:
    deactivate(make_membership(hollis.tenant, "admin"), actor=at_the_desk(hollis))


def after_never_was_chosen(hollis: Membership) -> None:
    with_marit(hollis)
    set_policy(at_the_desk(hollis), tenant_id=hollis.tenant_id, second_person="never")


def with_never_chosen_long_ago(hollis: Membership) -> None:
    with_marit(hollis)
    MemoryPolicy.objects.create(tenant=hollis.tenant, second_person="never")


def with_always_chosen(hollis: Membership) -> None:
    MemoryPolicy.objects.create(tenant=hollis.tenant, second_person="always")


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (alone, RequestState.APPROVED),
        (with_marit, RequestState.ASKED),
        (with_herself, RequestState.APPROVED),
        (with_somebody_elsewhere, RequestState.APPROVED),
        (after_marit_was_demoted, RequestState.ASKED),
        (after_marit_was_deactivated, RequestState.ASKED),
        (after_never_was_chosen, RequestState.ASKED),
        (with_never_chosen_long_ago, RequestState.APPROVED),
        (with_always_chosen, RequestState.ASKED),
    ],
)
def test_a_second_person_is_wanted_where_there_is_one(
    hollis: Membership, membership: Membership, given: Callable[[Membership], None], state: str
) -> None:
    given(hollis)
    assert state_of(hollis, membership) == state


def test_who_asked_never_approves_in_whatever_capacity(
    hollis: Membership, marit: Membership, membership: Membership
) -> None:
    in_person = principal_of(hollis, actor_kind=ActorKind.MEMBER)
    by_token = principal_of(hollis, actor_kind=ActorKind.TOKEN, actor_id=membership.pk)
    request = ask_erasure(by_token, membership_id=membership.pk, reason="a letter")
    User.objects.filter(pk=marit.user_id).update(email="h@example.com")
    User.objects.filter(pk=hollis.user_id).update(email="H@example.com")
    for by in (at_the_desk(hollis), in_person, by_token, SYSTEM, at_the_desk(marit)):
        with pytest.raises(Forbidden, match="Another person"):
            approve_erasure(by, request_id=request.pk)
    assert ErasureRequest.objects.get().state == RequestState.ASKED


def test_an_account_that_was_just_made_an_administrator_does_not_approve(
    hollis: Membership, marit: Membership, membership: Membership
) -> None:
    double = create_user(username="double", password="x" * 20)
    added = add_member(tenant=hollis.tenant, user=double, role=Role.ADMIN, actor=at_the_desk(hollis))
    request = ask_erasure(at_the_desk(hollis), membership_id=membership.pk, reason="a letter")
    with pytest.raises(Forbidden, match="less than a day ago"):
        approve_erasure(at_the_desk(added), request_id=request.pk)
    assert approve_erasure(at_the_desk(marit), request_id=request.pk).state == RequestState.APPROVED


@pytest.mark.parametrize("decide", [approve_erasure, refuse_erasure])
def test_a_request_is_decided_once(
    hollis: Membership, marit: Membership, membership: Membership, decide: Callable[..., ErasureRequest]
) -> None:
    request = ask_erasure(at_the_desk(hollis), membership_id=membership.pk, reason="a letter")
    refuse(at_the_desk(marit), ErasureRequest, request.pk)
    with pytest.raises(Conflict, match="decided"):
        decide(at_the_desk(marit), request_id=request.pk)
    assert AuditEvent.objects.filter(action__in=["erasure.approved", "erasure.refused"]).count() == 1


def test_an_approved_erasure_waits_and_can_be_withdrawn(hollis: Membership, membership: Membership) -> None:
    request = ask_erasure(at_the_desk(hollis), membership_id=membership.pk, reason="a letter")
    assert request.begins_at and request.begins_at > timezone.now() + timedelta(hours=23)
    assert due_requests() == [] and not carry_out(request.pk)
    event = AuditEvent.objects.select_related("payload").get(action="erasure.approved")
    assert event.payload.data["after"] == {"begins": request.begins_at.isoformat()}
    assert refuse_erasure(at_the_desk(hollis), request_id=request.pk).state == RequestState.REFUSED
    again = ask_erasure(at_the_desk(hollis), membership_id=membership.pk, reason="a letter")
    ErasureRequest.objects.filter(pk=again.pk).update(begins_at=timezone.now())
    assert due_requests() and carry_out(again.pk)


def test_what_is_loosened_counts_a_day_later_and_what_is_tightened_at_once(hollis: Membership) -> None:
    by, where = at_the_desk(hollis), {"tenant_id": hollis.tenant_id}
    set_policy(by, **where, second_person="always", erasure_delay_hours=48, exports_daily=2)
    strict = staff_rules(hollis.tenant_id)
    assert (strict.second_person, strict.erasure_delay, strict.exports_daily) == ("always", timedelta(hours=48), 2)
    set_policy(by, **where, second_person="never", erasure_delay_hours=0, exports_daily=99)
    assert staff_rules(hollis.tenant_id) == strict


def test_a_whole_memory_is_asked_for_with_a_reason_approved_and_taken_once(
    hollis: Membership, marit: Membership, membership: Membership
) -> None:
    with pytest.raises(InvalidInput):
        ask_export(at_the_desk(hollis), membership_id=membership.pk, reason=" ")
    request = ask_export(at_the_desk(hollis), membership_id=membership.pk, reason="a claim")
    with pytest.raises(Conflict, match="already"):
        ask_export(at_the_desk(hollis), membership_id=membership.pk, reason="a claim")
    refused(request, hollis)
    approve(at_the_desk(marit), ExportRequest, request.pk)
    refused(request, marit)
    assert b"".join(export_member(request, by=hollis.user, forms=()))
    refused(request, hollis)
    event = AuditEvent.objects.select_related("payload").get(action="memory.exported")
    assert (event.owner_id, event.payload.data["reason"]) == (membership.user_id, "a claim")


def refused(request: ExportRequest, by: Membership) -> None:
    with pytest.raises(Forbidden):
        export_member(request, by=by.user, forms=())


def test_an_approval_of_yesterday_exports_nothing(hollis: Membership, membership: Membership) -> None:
    request = ask_export(at_the_desk(hollis), membership_id=membership.pk, reason="a claim")
    ExportRequest.objects.update(decided_at=timezone.now() - timedelta(hours=25))
    refused(request, hollis)


def test_one_person_asks_for_so_many_a_day_and_more_is_recorded(
    hollis: Membership, tenant: Tenant, make_member: MakeMember
) -> None:
    MemoryPolicy.objects.create(tenant=tenant, exports_daily=2)
    for _ in range(2):
        ask_export(at_the_desk(hollis), membership_id=make_member(tenant).pk, reason="a claim")
    with pytest.raises(Conflict, match="at most 2"):
        ask_export(at_the_desk(hollis), membership_id=make_member(tenant).pk, reason="a claim")
    assert AuditEvent.objects.filter(action="export.limited", actor_id=hollis.user_id).count() == 1
    ExportRequest.objects.update(asked_at=timezone.now() - timedelta(hours=25))
    ask_export(at_the_desk(hollis), membership_id=make_member(tenant).pk, reason="a claim")


def outcome_of(do: Callable[[], object]) -> str:
    """`done`, or the name of the refusal."""
    try:
        do()
    except (Conflict, Forbidden) as error:
        return type(error).__name__
    return "done"


@pytest.mark.django_db(transaction=True)
def test_of_several_who_decide_at_once_one_does(hollis: Membership, marit: Membership, membership: Membership) -> None:
    third = make_membership(hollis.tenant, "admin")
    request = ask_erasure(at_the_desk(hollis), membership_id=membership.pk, reason="a letter")
    deciders = [marit, third, marit, third]
    found = at_once(4, lambda n: outcome_of(lambda: approve(at_the_desk(deciders[n]), ErasureRequest, request.pk)))
    assert sorted(found) == ["Conflict", "Conflict", "Conflict", "done"]
    assert AuditEvent.objects.filter(action="erasure.approved").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_downloads_and_requests_at_once_no_more_leave_than_may(
    hollis: Membership, membership: Membership, tenant: Tenant
) -> None:
    MemoryPolicy.objects.create(tenant=tenant, exports_daily=2)
    request = ask_export(at_the_desk(hollis), membership_id=membership.pk, reason="a claim")
    taken = at_once(3, lambda _: outcome_of(lambda: export_member(request, by=hollis.user, forms=())))
    assert sorted(taken) == ["Forbidden", "Forbidden", "done"]
    others = [make_membership(tenant).pk for _ in range(3)]
    asked = at_once(
        3, lambda n: outcome_of(lambda: ask_export(at_the_desk(hollis), membership_id=others[n], reason="x"))
    )
    assert sorted(asked) == ["Conflict", "Conflict", "done"]
