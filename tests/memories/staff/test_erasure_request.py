"""An erasure in the admin: asked on the member's page, approved by somebody else, watched, and proven by a receipt."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from memories.models import ErasureRequest, ErasureState, Fact, MemoryPolicy
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.services.facts.remember import remember_fact
from memoryhub.signing import keys
from tenants.models import Membership
from tenants.principal import Actor, ActorKind, Principal
from tests.factories import MakeMember
from tests.memories.staff.looking import words
from tests.memories.staff.seated import at, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(membership: Membership, make_member: MakeMember) -> Client:
    return signed_in(make_member(membership.tenant, "admin", "Alice"))


def asked(admin: Client, membership: Membership, **given: str) -> ErasureRequest | None:
    data = {"reason": "asked by letter", "sure": membership.user.username} | given
    admin.post(at("erasure_ask", membership.pk), data)
    return ErasureRequest.objects.first()


def done(membership: Membership, make_member: MakeMember) -> ErasureRequest:
    alice = make_member(membership.tenant, "admin")
    request = ask_erasure(Actor(ActorKind.STAFF, alice.user_id), membership_id=membership.pk, reason="asked by letter")
    assert carry_out(request.pk)
    request.refresh_from_db()
    return request


def test_one_asks_on_the_page_of_the_member(admin: Client, membership: Membership) -> None:
    page = admin.get(at("erasure", membership.pk)).content.decode()
    assert "Ask for the erasure" in page
    assert asked(admin, membership, sure="somebody") is None
    request = asked(admin, membership)
    assert request is not None
    assert request.state == ErasureState.APPROVED
    assert at("erasure_request", request.pk) in admin.get(at("erasure", membership.pk)).content.decode()


def test_a_reason_is_needed(admin: Client, membership: Membership) -> None:
    assert asked(admin, membership, reason=" ") is None


def test_a_second_person_approves_where_the_policy_wants_it(
    admin: Client, membership: Membership, make_member: MakeMember
) -> None:
    MemoryPolicy.objects.create(tenant=membership.tenant, erasure_needs_second=True)
    request = asked(admin, membership)
    assert request is not None
    assert request.state == ErasureState.ASKED
    assert "Approve: erase" not in admin.get(at("erasure_request", request.pk)).content.decode()
    decide = at("erasure_decide", request.pk)
    admin.post(decide, {"decision": "approve"})
    assert ErasureRequest.objects.get().state == ErasureState.ASKED
    second = signed_in(make_member(membership.tenant, "admin", "Grace"))
    assert "Approve: erase" in second.get(at("erasure_request", request.pk)).content.decode()
    second.post(decide, {"decision": "approve"})
    assert ErasureRequest.objects.get().state == ErasureState.APPROVED


def test_enter_in_the_field_of_a_refusal_does_not_approve(
    admin: Client, membership: Membership, make_member: MakeMember
) -> None:
    """A browser presses the first button of the form that the field is in."""
    MemoryPolicy.objects.create(tenant=membership.tenant, erasure_needs_second=True)
    request = asked(admin, membership)
    assert request is not None
    second = signed_in(make_member(membership.tenant, "admin", "Grace"))
    page = second.get(at("erasure_request", request.pk)).content.decode()
    (form,) = [form for form in page.split("<form")[1:] if "refuse-reason" in form.split("</form>")[0]]
    assert form.split("</form>")[0].count('value="refuse"') == 1 and 'value="approve"' not in form.split("</form>")[0]


@pytest.mark.parametrize("decision", ["", "perhaps"])
def test_a_form_that_says_neither_decides_nothing(admin: Client, membership: Membership, decision: str) -> None:
    request = asked(admin, membership)
    assert request is not None
    admin.post(at("erasure_decide", request.pk), {"decision": decision})
    assert ErasureRequest.objects.get().state == ErasureState.APPROVED


def test_what_has_not_begun_is_refused(admin: Client, membership: Membership) -> None:
    request = asked(admin, membership)
    assert request is not None
    admin.post(at("erasure_decide", request.pk), {"decision": "refuse", "reason": "a mistake"})
    assert ErasureRequest.objects.get().state == ErasureState.REFUSED


def test_the_receipt_is_shown_handed_out_and_verified(
    principal: Principal, membership: Membership, admin: Client, make_member: MakeMember
) -> None:
    remember_fact(principal, text="Plays the cello")
    request = done(membership, make_member)
    page = admin.get(at("erasure_request", request.pk)).content.decode()
    assert request.receipt_digest in page
    assert "data-erasing" not in page
    handed_out = json.loads(admin.get(at("erasure_receipt", request.pk)).content)
    body = json.dumps(handed_out["receipt"], sort_keys=True, separators=(",", ":")).encode()
    assert keys.verify(body, handed_out["signature"])
    verify = at("erasure_verify", request.pk)
    answer = admin.post(verify)
    assert (answer.status_code, answer["Location"]) == (302, at("erasure_request", request.pk))
    assert "The receipt holds" in admin.get(answer["Location"]).content.decode()
    assert "The receipt holds" not in admin.get(answer["Location"]).content.decode()
    Fact.objects.create(tenant=membership.tenant, user=membership.user, text="back", content_hash="x")
    assert "1 left in facts" in admin.post(verify, follow=True).content.decode()


def test_progress_is_shown_while_it_runs(admin: Client, membership: Membership) -> None:
    request = asked(admin, membership)
    assert request is not None
    ErasureRequest.objects.update(state=ErasureState.RUNNING, stage="facts", progress={"facts": 250})
    part = admin.get(at("erasure_state", request.pk)).content.decode()
    assert "data-erasing" in part
    assert "erasing facts" in part
    assert "250" in part


def test_an_auditor_reads_and_decides_nothing(membership: Membership, make_member: MakeMember, admin: Client) -> None:
    request = asked(admin, membership)
    assert request is not None
    auditor = signed_in(make_member(membership.tenant, "auditor"))
    assert auditor.get(at("erasurerequest_changelist")).status_code == 200
    page = auditor.get(at("erasure_request", request.pk))
    assert (page.status_code, "Refuse: erase" in page.content.decode()) == (200, False)
    assert auditor.post(at("erasure_decide", request.pk), {"decision": "refuse"}).status_code == 403
    assert auditor.get(at("erasure", membership.pk)).status_code == 403
    support = signed_in(make_member(membership.tenant, "support"))
    assert support.get(at("erasure_request", request.pk)).status_code == 403


def test_a_receipt_is_for_staff_of_its_tenant_alone(membership: Membership, make_member: MakeMember) -> None:
    request = done(membership, make_member)
    auditor, stranger = (signed_in(make_member(each, "auditor")) for each in (membership.tenant, None))
    for name, send, opens in (
        ("request", "get", 200),
        ("state", "get", 200),
        ("receipt", "get", 200),
        ("verify", "post", 302),
    ):
        address = at(f"erasure_{name}", request.pk)
        assert getattr(auditor, send)(address).status_code == opens
        assert getattr(stranger, send)(address).status_code == 404
    assert str(request.pk) not in stranger.get(at("erasurerequest_changelist")).content.decode()


def test_the_page_of_a_large_list_asks_little(
    admin: Client, membership: Membership, make_member: MakeMember, django_assert_max_num_queries: object
) -> None:
    for _ in range(3):
        ErasureRequest.objects.create(
            tenant=membership.tenant, membership=make_member(membership.tenant), reason="a letter"
        )
    with django_assert_max_num_queries(14):  # type: ignore[operator]  # a fixture without types
        assert admin.get(at("erasurerequest_changelist")).status_code == 200


def test_words_fit_what_a_hold_lets_happen(admin: Client, membership: Membership) -> None:
    here = at("erasure", membership.pk)
    assert "It begins at once." in words(admin.get(here))
    admin.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    said = words(admin.get(here))
    assert "It begins when the legal hold above is released" in said
    assert "It begins at once." not in said
    request = asked(admin, membership)
    assert request is not None
    carry_out(request.pk)
    said = words(admin.get(at("erasure_request", request.pk)))
    assert "before it began: nothing was erased" in said
    assert "Refuse: erase nothing" in said


def test_of_who_is_erased_nothing_is_promised(admin: Client, membership: Membership, make_member: MakeMember) -> None:
    done(membership, make_member)
    said = words(admin.get(at("erasure", membership.pk)))
    assert "This member is erased" in said
    assert "Place a hold" not in said
    said = words(admin.get(at("inspector", membership.pk)))
    assert said.count("this member was erased") == 3
    assert "What this member says" not in said
