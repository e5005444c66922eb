"""Cases in the admin: the queue, the case on the page of its turn, the live page, and the reason with a ticket."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import CaseNote, Episode, Fact, MemoryPolicy, ReviewItem, Session, SupportCase
from memories.selectors.looks import looks_at
from memories.services.facts.remember import remember_fact
from memories.services.feedback import give_feedback
from memories.staff.reviews import review_url
from tenants.models import Membership
from tenants.principal import Principal
from tests.factories import make_membership
from tests.memories.services.reviewing import asked, say
from tests.memories.staff.looking import page_of, staff_of, talk, words
from tests.stored import lives

pytestmark = pytest.mark.django_db

lived, life = lives(talk)


@pytest.fixture
def talked(life: Session) -> Session:
    return life


@pytest.fixture
def case(principal: Principal, talked: Session) -> SupportCase:
    give_feedback(principal, session_id=talked.pk, turn=1, verdict="down", note="I moved.")
    return SupportCase.objects.get()


def queue(browser: Client, **filters: str) -> str:
    return words(browser.get(reverse("staff:cases"), filters))


def test_the_queue_lists_cases_by_state_and_assignee(support: Client, case: SupportCase) -> None:
    assert "Ada, turn 1" in queue(support) and "Where do I live?" not in queue(support)
    assert "No cases" in queue(support, state="closed") and "No cases" in queue(support, mine="1")
    SupportCase.objects.update(state="closed", assignee=support.session["_auth_user_id"])
    assert "Ada, turn 1" in queue(support, state="closed", mine="1") and "No cases" in queue(support)


def test_the_queue_quotes_what_the_member_wrote_to_support_unless_a_reason_is_wanted(
    support: Client, case: SupportCase
) -> None:
    assert "“I moved.”" in queue(support)
    MemoryPolicy.objects.create(tenant=case.tenant, reason_to_look=True)
    assert "I moved." not in queue(support) and "Ada, turn 1" in queue(support)


def test_a_turn_with_a_case_leads_back_to_the_cases(support: Client, membership: Membership, case: SupportCase) -> None:
    page = support.get(page_of("turn", membership, case.session_id, 1))
    links = [link for group in page.context["sidebar_navigation"] for link in group["items"] if link["active"]]
    assert [link["link"] for link in links] == [reverse("staff:cases")]
    assert page.content.decode().count(f'href="{reverse("staff:cases")}"') == 2


def test_why_not_repeats_the_question(support: Client, membership: Membership, case: SupportCase) -> None:
    fact = remember_fact_of(membership)
    told = words(support.get(page_of("turn", membership, case.session_id, 1), {"why": str(fact.pk)}))
    assert "Asked: “Where do I live?”" in told


@pytest.mark.parametrize("role", ["auditor", "member"])
def test_others_than_support_and_administrators_see_no_queue(case: SupportCase, role: str) -> None:
    browser = Client()
    browser.force_login(staff_of(case.tenant, role))
    assert browser.get(reverse("staff:cases")).status_code == 403


def test_support_of_another_tenant_sees_none_of_it(case: SupportCase) -> None:
    browser = Client()
    browser.force_login(staff_of(make_membership(role="admin").tenant, "support"))
    assert "Ada" not in queue(browser)


def test_the_page_of_a_turn_holds_its_case(support: Client, membership: Membership, case: SupportCase) -> None:
    fact = remember_fact_of(membership)
    told = words(support.get(page_of("turn", membership, case.session_id, 1)))
    assert "I moved." in told and "thumbs down" in told.lower()
    support.post(page_of("case_note", membership, case.pk), {"note": "Called back."})
    support.post(page_of("case_change", membership, case.pk), {"state": "waiting", "ticket": "HD-7", "assignee": ""})
    support.post(
        page_of("case_propose", membership, case.pk), {"how": "retire", "fact": str(fact.pk), "text": "ignored"}
    )
    case.refresh_from_db()
    assert (case.ticket, case.state, CaseNote.objects.get().text) == ("HD-7", "waiting", "Called back.")
    item = ReviewItem.objects.get()
    assert (item.kind, item.proposed, item.first_id, item.case_id) == ("correction", "", fact.pk, case.pk)
    told = words(support.get(page_of("turn", membership, case.session_id, 1)))
    assert "Called back." in told and "waiting for the member" in told


def test_the_explained_memory_starts_the_correction_of_what_is_believed_now(
    support: Client, membership: Membership, case: SupportCase
) -> None:
    turn, current = page_of("turn", membership, case.session_id, 1), remember_fact_of(membership)
    told = support.get(turn, {"why": str(Fact.objects.get(text="Lives in Bristol").pk)})
    part = told.context["case_part"]
    assert (part.facts[0], part.words, part.names_it) == (current, "Lives in Bristol", True)
    part = support.get(turn, {"why": str(current.pk)}).context["case_part"]
    assert (part.facts[0], part.words) == (current, current.text)


def test_a_memory_that_no_correction_can_name_is_said_to_be_none(
    support: Client, membership: Membership, case: SupportCase
) -> None:
    said = Episode.objects.filter(user=membership.user).earliest("created_at")
    told = support.get(page_of("turn", membership, case.session_id, 1), {"why": str(said.pk)})
    assert not told.context["case_part"].names_it and "it cannot be corrected here" in words(told)


def remember_fact_of(membership: Membership) -> Fact:
    return Fact.objects.filter(user=membership.user, text__contains="Edinburgh").get()


@pytest.mark.parametrize(
    "given", [{"how": "reword"}, {"how": "merge", "text": "Both"}, {"how": "explode", "text": "x"}, {"fact": "nothing"}]
)
def test_an_incomplete_correction_is_refused_with_a_reason(
    support: Client, membership: Membership, case: SupportCase, given: dict[str, str]
) -> None:
    data = {"fact": str(remember_fact_of(membership).pk), "how": "reword", **given}
    answer = support.post(page_of("case_propose", membership, case.pk), data)
    assert (answer.status_code, list(answer.context["case_part"].refused)) == (400, ["propose"])
    assert not ReviewItem.objects.exists()


def test_a_refused_correction_comes_back_as_it_was_filled_in(
    support: Client, membership: Membership, case: SupportCase
) -> None:
    fact = remember_fact_of(membership)
    typed = {"fact": str(fact.pk), "how": "merge", "text": "Lives in Leith, by the docks", "why": "You said so."}
    page = page_of("case_propose", membership, case.pk)
    answer = support.post(f"{page}?why={fact.pk}", typed)
    told, filled = answer.content.decode(), answer.context["case_part"].filled
    assert {name: filled[name] for name in typed} == typed and "Lives in Leith, by the docks</textarea>" in told
    assert "choose the fact to merge with" in told and answer.context["why"] == str(fact.pk)


@pytest.mark.parametrize("action", ["change", "note", "propose"])
def test_the_address_of_a_refused_form_leads_to_the_case(
    support: Client, membership: Membership, case: SupportCase, action: str
) -> None:
    answer = support.get(f"{page_of(f'case_{action}', membership, case.pk)}?why=bees")
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"{page_of('turn', membership, case.session_id, 1)}?why=bees",
    )


def test_a_refused_note_and_ticket_come_back_without_a_value_that_is_not_stored(
    support: Client, membership: Membership, case: SupportCase
) -> None:
    note = {"note": "Their card is 4111 1111 1111 1111, they said"}
    filled = support.post(page_of("case_note", membership, case.pk), note).context["case_part"].filled
    assert "they said" in filled["note"] and "4111" not in filled["note"]
    wanted = {"state": "waiting", "ticket": "x" * 70, "assignee": ""}
    filled = support.post(page_of("case_change", membership, case.pk), wanted).context["case_part"].filled
    assert (filled["state"], filled["ticket"]) == ("waiting", "x" * 70)


def test_a_note_that_outlasts_the_reason_to_look_is_posted_again_with_a_new_one(
    support: Client, membership: Membership, case: SupportCase
) -> None:
    MemoryPolicy.objects.create(tenant=membership.tenant, reason_to_look=True)
    here, typed = page_of("case_note", membership, case.pk), {"note": "Called <back>.", "password_again": "x"}
    page = support.post(here, typed)
    held = dict(page.context["posted"])
    assert (page.status_code, held) == (403, {"note": "Called <back>."}) and f'action="{here}"' in page.content.decode()
    assert support.post(here, held | {"purpose_reason": " "}).status_code == 403 and not CaseNote.objects.exists()
    assert support.post(here, held | {"purpose_reason": "HD-7"}).status_code == 302
    assert CaseNote.objects.get().text == "Called <back>."
    assert support.get(page_of("ask", membership)).status_code == 200, "the reason holds for an hour"


def test_a_review_of_these_facts_is_decided_in_place(
    support: Client, membership: Membership, principal: Principal, case: SupportCase
) -> None:
    fact, turn = remember_fact_of(membership), page_of("turn", membership, case.session_id, 1)
    item = asked(principal, fact, say(principal, "The flat is in Leith"))
    button = f'name="keep" value="{fact.pk}"'
    seen = support.get(turn)
    assert "The flat is in Leith" in words(seen) and button not in seen.content.decode()
    admin = Client()
    admin.force_login(staff_of(case.tenant, "admin"))
    assert button in admin.get(turn).content.decode()
    told = admin.post(review_url(item.pk), {"decision": "keep_one", "keep": str(fact.pk), "next": turn}, follow=True)
    assert told.redirect_chain[0][0] == turn and "Open reviews" not in words(told)


def test_what_was_asked_for_stays_asked_for_when_a_case_or_review_changes(
    administrator: Client, membership: Membership, principal: Principal, case: SupportCase
) -> None:
    fact, turn = remember_fact_of(membership), page_of("turn", membership, case.session_id, 1)
    asked(principal, fact, say(principal, "The flat is in Leith"))
    onward = f"{turn}?why={fact.pk}"
    assert f'name="next" value="{onward}"' in administrator.get(onward).content.decode()
    note = f"{page_of('case_note', membership, case.pk)}?why={fact.pk}"
    assert administrator.post(note, {"note": "Called back."}).headers["Location"] == onward
    flag = f"{page_of('case_open', membership, case.session_id, 1)}?why={fact.pk}"
    assert administrator.post(flag).headers["Location"] == onward


def test_who_decides_second_is_told_so_where_the_review_stood(
    administrator: Client, membership: Membership, principal: Principal, case: SupportCase
) -> None:
    fact, turn = remember_fact_of(membership), page_of("turn", membership, case.session_id, 1)
    item = asked(principal, fact, say(principal, "The flat is in Leith"))
    administrator.post(review_url(item.pk), {"decision": "keep_both", "next": turn})
    given = {"decision": "keep_one", "keep": str(fact.pk), "next": turn}
    told = administrator.post(review_url(item.pk), given, follow=True)
    assert told.redirect_chain[0][0] == turn and "This review was decided already" in words(told)
    item.refresh_from_db()
    assert item.decision == "keep_both"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example", "\\\\evil.example", "/\t/evil.example", "javascript:alert(1)"],
)
def test_a_decision_leads_to_no_other_site(administrator: Client, principal: Principal, elsewhere: str) -> None:
    item = asked(principal, say(principal, "The flat is in Leith"), say(principal, "The flat is in Hull"))
    answer = administrator.post(review_url(item.pk), {"decision": "keep_both", "next": elsewhere})
    assert answer.headers["Location"] == review_url(item.pk)


def test_the_verdict_names_sources_and_the_newer_fact(support: Client, membership: Membership, talked: Session) -> None:
    answer = support.get(page_of("turn", membership, talked.pk, 1))
    told = words(answer)
    assert "The answer was made from “Lives in Bristol”" in told
    (newer,) = answer.context["sources"].newer
    assert newer.fact == remember_fact_of(membership) and newer.too_late
    assert "Since then a newer fact is known:" in told


def test_the_live_page_shows_conversation_and_memory_together(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    told = words(support.get(page_of("beside", membership)))
    assert "Where do I live?" in told and "Lives in Edinburgh" in told
    remember_fact(principal, text="Keeps bees")
    assert "Keeps bees" in words(support.get(page_of("beside_live", membership)))


def test_a_member_sees_reason_and_ticket_of_a_look(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    MemoryPolicy.objects.create(tenant=membership.tenant, reason_to_look=True)
    page = page_of("beside", membership)
    asked = support.get(page)
    assert asked.status_code == 302
    support.post(asked.headers["Location"], {"reason": "Complaint about an answer", "ticket": "HD-7", "next": page})
    assert support.get(page).status_code == 200
    (look, *_) = looks_at(principal, limit=5)[0]
    assert look.reason == "Ticket HD-7: Complaint about an answer"
    assert look.what == "opened your latest conversation beside your latest memories"
