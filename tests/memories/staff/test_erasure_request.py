"""An erasure in the admin: asked on the member's page, approved by somebody else, watched, and proven by a receipt."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.utils.html import escape

from memories.models import ErasureRequest, Fact, MemoryPolicy, RequestState
from memories.services.erasure.requests import ask_erasure, place_hold, release_hold
from memories.services.erasure.stages import carry_out
from memories.services.facts.remember import remember_fact
from memoryhub.signing import keys
from tenants.end_users import provision_end_user
from tenants.models import Membership, Tenant
from tenants.principal import SYSTEM, Principal
from tests.factories import MakeMember
from tests.memories.staff.looking import words
from tests.memories.staff.seated import at, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_once(tenant: Tenant) -> None:
    """Erasures of Ada's tenant begin at once, so that the pages of their end are seen."""
    MemoryPolicy.objects.create(tenant=tenant, erasure_delay_hours=0)


def asked(administrator: Client, membership: Membership, **given: str) -> ErasureRequest:
    data = {"reason": "asked by letter", "sure": membership.user.username} | given
    administrator.post(at("erasure_ask", membership.pk), data)
    return ErasureRequest.objects.get()


def done(membership: Membership) -> ErasureRequest:
    request = ask_erasure(SYSTEM, membership_id=membership.pk, reason="asked by letter")
    assert carry_out(request.pk)
    request.refresh_from_db()
    return request


def test_one_erases_on_the_page_of_the_member(administrator: Client, membership: Membership) -> None:
    request = asked(administrator, membership)
    assert request.state == RequestState.APPROVED
    assert at("erasure_request", request.pk) in administrator.get(at("erasure", membership.pk)).content.decode()


def test_who_has_no_login_is_erased_by_the_name_that_is_shown(administrator: Client, tenant: Tenant) -> None:
    member, _new = provision_end_user(tenant.pk, "A-7", name="Ada Fenwick")
    page = administrator.get(at("erasure", member.pk)).content.decode()
    assert "<code>Ada Fenwick</code>" in page and member.user.username not in page
    assert asked(administrator, member, sure=" Ada  Fenwick").membership_id == member.pk


@pytest.mark.parametrize(
    "wrong", [{"sure": "somebody"}, {"reason": "r" * 301}, {"reason": " "}], ids=["name", "long", "empty"]
)
def test_a_refused_form_gives_the_reason_back(
    administrator: Client, membership: Membership, wrong: dict[str, str]
) -> None:
    data = {"reason": "asked by <letter>", "sure": membership.user.username} | wrong
    answer = administrator.post(at("erasure_ask", membership.pk), data)
    assert (answer.status_code, ErasureRequest.objects.exists()) == (400, False)
    assert f'value="{escape(data["reason"])}"' in answer.content.decode()
    assert administrator.get(at("erasure_ask", membership.pk))["Location"] == at("erasure", membership.pk)


def test_the_button_says_what_it_does(
    administrator: Client, membership: Membership, tenant: Tenant, make_member: MakeMember
) -> None:
    def button() -> str:
        page = administrator.get(at("erasure", membership.pk)).content.decode()
        return page.split("erase-sure")[-1].split("</button>")[0].rsplit(">", 1)[-1]

    assert button() == "Erase for good now"
    hold = place_hold(SYSTEM, tenant_id=tenant.pk, membership_id=membership.pk, reason="a lawsuit")
    assert button() == "Erase once the hold is released"
    release_hold(SYSTEM, hold_id=hold.pk)
    MemoryPolicy.objects.update(erasure_delay_hours=2)
    assert button() == "Erase in 2 hours"
    make_member(tenant, "admin", "Grace")
    assert button() == "Request the erasure"


def test_a_second_person_approves_where_there_is_one(
    administrator: Client, membership: Membership, make_member: MakeMember
) -> None:
    second = signed_in(make_member(membership.tenant, "admin", "Grace"))
    request = asked(administrator, membership)
    assert request.state == RequestState.ASKED
    assert "Approve: erase" not in administrator.get(at("erasure_request", request.pk)).content.decode()
    decide = at("erasure_decide", request.pk)
    administrator.post(decide, {"decision": "approve"})
    assert ErasureRequest.objects.get().state == RequestState.ASKED
    page = second.get(at("erasure_request", request.pk)).content.decode()
    (form,) = [form.split("</form>")[0] for form in page.split("<form")[1:] if "refuse-reason" in form]
    assert form.count('value="refuse"') == 1 and 'value="approve"' not in form, "Enter in the field presses the first"
    assert "Approve: erase" in page
    second.post(decide, {"decision": "approve"})
    assert ErasureRequest.objects.get().state == RequestState.APPROVED


def test_what_has_not_begun_is_refused_by_a_form_that_says_so(administrator: Client, membership: Membership) -> None:
    decide = at("erasure_decide", asked(administrator, membership).pk)
    for decision in ("", "perhaps"):
        administrator.post(decide, {"decision": decision})
        assert ErasureRequest.objects.get().state == RequestState.APPROVED
    administrator.post(decide, {"decision": "refuse", "reason": "a mistake"})
    assert ErasureRequest.objects.get().state == RequestState.REFUSED


def test_the_receipt_is_shown_handed_out_and_verified(
    principal: Principal, membership: Membership, administrator: Client
) -> None:
    remember_fact(principal, text="Plays the cello")
    request = done(membership)
    page = administrator.get(at("erasure_request", request.pk)).content.decode()
    assert request.receipt_digest in page and "data-erasing" not in page
    handed_out = json.loads(administrator.get(at("erasure_receipt", request.pk)).content)
    body = json.dumps(handed_out["receipt"], sort_keys=True, separators=(",", ":")).encode()
    assert keys.verify(body, handed_out["signature"])
    verify = at("erasure_verify", request.pk)
    answer = administrator.post(verify)
    assert (answer.status_code, answer["Location"]) == (302, at("erasure_request", request.pk))
    assert "The receipt holds" in administrator.get(answer["Location"]).content.decode()
    assert "The receipt holds" not in administrator.get(answer["Location"]).content.decode()
    Fact.objects.create(tenant=membership.tenant, user=membership.user, text="back", content_hash="x")
    assert "1 left in facts" in administrator.post(verify, follow=True).content.decode()


def test_the_receipt_is_shown_in_plain_words(membership: Membership, administrator: Client) -> None:
    request = done(membership)
    page = administrator.get(at("erasure_request", request.pk)).content.decode()
    table = page.split("What was asked after the erasure")[1].split("</table>")[0]
    heads = re.findall(r'<th scope="row">(.*?)</th>', table)
    assert len(heads) == len(request.receipt["asked"]) and "Texts in their own audit log" in heads
    assert not any("_" in head or head.startswith("Rows of") for head in heads)


def test_progress_is_shown_while_it_runs(administrator: Client, membership: Membership) -> None:
    request = asked(administrator, membership)
    ErasureRequest.objects.update(state=RequestState.RUNNING, stage="facts", progress={"facts": 250})
    part = administrator.get(at("erasure_state", request.pk)).content.decode()
    assert all(words in part for words in ("data-erasing", "erasing facts", "250"))


def test_a_receipt_is_for_staff_of_its_tenant_alone(membership: Membership, make_member: MakeMember) -> None:
    request = done(membership)
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
    administrator: Client, membership: Membership, make_member: MakeMember, django_assert_max_num_queries: object
) -> None:
    for _ in range(3):
        ErasureRequest.objects.create(
            tenant=membership.tenant, membership=make_member(membership.tenant), reason="a letter"
        )
    with django_assert_max_num_queries(14):  # type: ignore[operator]  # a fixture without types
        assert administrator.get(at("erasurerequest_changelist")).status_code == 200


def test_words_fit_what_a_hold_lets_happen(administrator: Client, membership: Membership) -> None:
    here = at("erasure", membership.pk)
    assert "It begins at once." in words(administrator.get(here))
    administrator.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    said = words(administrator.get(here))
    assert "It begins when the legal hold above is released" in said
    assert "It begins at once." not in said
    request = asked(administrator, membership)
    carry_out(request.pk)
    said = words(administrator.get(at("erasure_request", request.pk)))
    assert "before it began: nothing was erased" in said
    assert "Refuse: erase nothing" in said


def test_of_who_is_erased_nothing_is_promised(administrator: Client, membership: Membership) -> None:
    done(membership)
    said = words(administrator.get(at("erasure", membership.pk)))
    assert "This member is erased" in said
    assert "Place a hold" not in said
    said = words(administrator.get(at("inspector", membership.pk)))
    assert said.count("this member was erased") == 3
    assert "What this member says" not in said
