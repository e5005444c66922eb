"""What a member settles: two facts that do not fit together, what would be let go; and that all can be undone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.models import Fact, ForgetProposal, ReviewItem
from memories.services.erasure.proposals import OPEN_FOR, forget_now, keep, propose
from memories.services.facts.supersede import retire
from memories.types import Kind
from tenants.models import Membership
from tenants.principal import ActorKind, Principal
from tenants.services import issue_token
from tests.memories.services.reviewing import FOUR, THREE, asked, current, proposed, say, two_widths
from tests.stored import lives

pytestmark = pytest.mark.django_db

LIST = "/remember/settle/"
lived, life = lives(lambda principal: asked(principal, *two_widths(principal)))


@pytest.fixture
def item(life: ReviewItem) -> ReviewItem:
    """Which of two facts of Ada's holds."""
    return life


def url(item: ReviewItem, what: str = "review") -> str:
    return reverse(f"remember:{what}", kwargs={"review_id": item.pk})


def answer(ada: Client, item: ReviewItem, **form: str) -> HttpResponse:
    return ada.post(url(item, "review-decide"), form, follow=True)  # type: ignore[return-value]  # what it is


def test_what_waits_is_asked_over_the_facts_and_told_on_their_pages(
    ada: Client, principal: Principal, item: ReviewItem
) -> None:
    facts = ada.get("/remember/facts/").content.decode()
    assert facts.count("This one is right") == 2 and 'class="hint"' not in facts
    assert 'To settle <span class="count">1</span>' in facts
    page = ada.get(reverse("remember:memory", kwargs={"kind": Kind.SEMANTIC, "memory_id": item.first_id}))
    assert "contradicts another fact" in page.content.decode() and url(item) in page.content.decode()
    assert ada.get(LIST).content.decode().count("This one is right") == 2
    assert "This one is right" not in ada.get("/remember/facts/?show=stale").content.decode()
    proposed(principal, say(principal, "The gate is blue"))
    facts = ada.get("/remember/facts/").content.decode()
    assert f'<a class="hint" href="{LIST}">' in facts and "1 more question needs your decision" in facts


def test_a_list_goes_on_where_it_was_and_offers_the_undo(ada: Client, principal: Principal, item: ReviewItem) -> None:
    facts, undo = "/remember/facts/", url(item, "review-undo")
    form = {"decision": "keep_one", "keep": str(item.first_id), "next": facts}
    page = ada.post(url(item, "review-decide"), form, follow=True)
    assert page.redirect_chain == [(facts, 302)]
    assert "Decided. The other one is in the history." in page.content.decode()
    assert f'action="{undo}"' in page.content.decode() and current(principal) == [THREE]
    page = ada.post(undo, {"next": LIST}, follow=True)
    assert page.redirect_chain == [(LIST, 302)] and page.content.decode().count("This one is right") == 2
    assert current(principal) == [FOUR, THREE]


def test_what_would_be_let_go_is_decided_in_the_list(ada: Client, principal: Principal) -> None:
    item = proposed(principal, say(principal, THREE))
    assert "Delete after 30 days" in ada.get(LIST).content.decode()
    page = answer(ada, item, decision="evict", next=LIST).content.decode()
    assert "caught up" in page and f'action="{url(item, "review-undo")}"' in page
    assert current(principal) == []


def test_one_is_right_and_that_is_undone(ada: Client, principal: Principal, item: ReviewItem) -> None:
    page = answer(ada, item, decision="keep_one", keep=str(item.first_id)).content.decode()
    assert "Decided. The other one is in the history." in page and ">Undo</button>" in page
    assert current(principal) == [THREE]
    assert "Decided lately" in ada.get(LIST).content.decode()
    page = ada.post(url(item, "review-undo"), follow=True).content.decode()
    assert "needs your decision again" in page and "This one is right" in page
    assert page.count("<dt>Believed again</dt>") == page.count("<dt>Learned</dt>") == 1
    assert current(principal) == [FOUR, THREE]


@pytest.mark.parametrize(
    ("form", "left"),
    [
        ({"decision": "keep_both"}, [FOUR, THREE]),
        ({"decision": "merge", "text": "The shed is five wide", "never_true": "1"}, ["The shed is five wide"]),
    ],
)
def test_both_are_true_or_neither_is(
    ada: Client, principal: Principal, item: ReviewItem, form: dict[str, str], left: list[str]
) -> None:
    assert "Decided." in answer(ada, item, **form).content.decode()
    assert current(principal) == left
    assert set(Fact.objects.exclude(text__in=left).values_list("retracted", flat=True)) <= {True}


@pytest.mark.parametrize(("decision", "left"), [("keep", [THREE]), ("evict", [])])
def test_what_would_be_let_go_stays_or_goes(ada: Client, principal: Principal, decision: str, left: list[str]) -> None:
    item = proposed(principal, say(principal, THREE))
    assert "Nobody used it for long." in ada.get(url(item)).content.decode()
    answer(ada, item, decision=decision)
    assert current(principal) == left
    ada.post(url(item, "review-undo"))
    assert current(principal) == [THREE]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"decision": "merge", "text": FOUR}, "says the same as one of the two"),
        ({"decision": "nonsense"}, "one of those on the page"),
        ({"decision": "keep_one"}, "must be one of the two facts"),
    ],
)
def test_what_cannot_be_taken_is_said_on_the_page(
    ada: Client, principal: Principal, item: ReviewItem, form: dict[str, str], said: str
) -> None:
    page = answer(ada, item, **form)
    assert page.status_code == 400
    assert said in page.content.decode()
    assert current(principal) == [FOUR, THREE]


def test_a_value_that_is_not_stored_does_not_come_back(ada: Client, item: ReviewItem) -> None:
    card = "4111" + "1111" * 3
    page = answer(ada, item, decision="merge", text=f"Card {card}")
    assert page.status_code == 400
    shown = page.content.decode()
    assert "payment card number" in shown and "Card [payment card removed]" in shown and card not in shown


def test_a_second_answer_and_a_second_undo_are_told_apart(ada: Client, item: ReviewItem) -> None:
    answer(ada, item, decision="keep_both")
    assert "decided already" in answer(ada, item, decision="keep_both").content.decode()
    ada.post(url(item, "review-undo"))
    assert "nothing to undo" in ada.post(url(item, "review-undo"), follow=True).content.decode()


def test_what_has_changed_otherwise_is_not_asked(ada: Client, principal: Principal, item: ReviewItem) -> None:
    retire(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.get(text=FOUR).pk)
    page = ada.get(url(item)).content.decode()
    assert "No decision is needed any more" in page
    assert "This one is right" not in page and ">Undo</button>" not in page
    assert "all caught up" in ada.get(LIST).content.decode()


@pytest.mark.parametrize("length", [1, 6])
def test_the_list_costs_the_same_however_long(
    ada: Client, principal: Principal, item: ReviewItem, django_assert_num_queries: DjangoAssertNumQueries, length: int
) -> None:
    ada.get("/")
    for number in range(length):
        proposed(principal, say(principal, f"The shed holds {number} bicycles"))
    with django_assert_num_queries(14):
        ada.get(LIST)


# Proposals to forget


def to_forget(principal: Principal, text: str = "Plays the cello") -> ForgetProposal:
    """What a program proposes to forget."""
    return propose(principal, targets=[(Kind.SEMANTIC, say(principal, text).pk)])[0]


def test_what_a_program_would_forget_is_listed_with_its_name_and_decided_there(
    ada: Client, principal: Principal, membership: Membership
) -> None:
    token, _ = issue_token(membership, name="Claude Code")
    proposal = to_forget(replace(principal, actor_kind=ActorKind.TOKEN, actor_id=token.pk))
    page = ada.get(LIST).content.decode()
    assert "You play the cello" in page and "The token Claude Code proposes this." in page
    assert 'To settle <span class="count">1</span>' in page and "all caught up" not in page
    decided = ada.post(reverse("chat:forget-confirm", args=[proposal.pk]), {"next": LIST}, follow=True)
    page = decided.content.decode()
    assert "Deleted: 1 fact." in page and "This will be deleted" not in page and "all caught up" in page


def test_the_card_of_a_proposal_leads_back_to_the_list(ada: Client, principal: Principal) -> None:
    proposal = to_forget(principal.as_agent())
    page = ada.get(LIST).content.decode()
    assert "Your agent proposes this." in page
    for decision in ("confirm", "keep"):
        form = page.partition(reverse(f"chat:forget-{decision}", args=[proposal.pk]))[2].partition("</form>")[0]
        assert f'name="next" value="{LIST}"' in form


def test_proposals_of_others_are_not_listed(ada: Client, stranger: Principal) -> None:
    to_forget(stranger.as_agent())
    page = ada.get(LIST).content.decode()
    assert "cello" not in page and "all caught up" in page and 'To settle <span class="count">0</span>' in page


def test_proposals_that_need_no_decision_are_not_listed(ada: Client, principal: Principal) -> None:
    to_forget(principal.as_agent())
    ForgetProposal.objects.of(principal).update(created_at=timezone.now() - OPEN_FOR)
    keep(principal, to_forget(principal.as_agent(), "Plays the harp").pk)
    gone = to_forget(principal.as_agent(), "Plays the lute")
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=gone.targets[0][1])
    to_forget(principal, "Plays the oboe")
    page = ada.get(LIST).content.decode()
    assert "Plays the" not in page and 'To settle <span class="count">0</span>' in page


def test_a_correction_is_accepted_or_declined_in_the_list(ada: Client, principal: Principal, item: ReviewItem) -> None:
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    fact = say(principal, "Lives in Leeds")
    correction = ReviewItem.objects.create(kind="correction", first=fact, proposed="Lives in Leith", **owner)
    page = ada.get(LIST).content.decode()
    assert "You live in Leeds" in page and "You live in Leith" in page and 'value="accept"' in page
    told = answer(ada, correction, decision="accept", next=LIST)
    assert told.redirect_chain[-1][0] == LIST and "You can undo it here." in told.content.decode()  # type: ignore[attr-defined]  # of the test client
    assert "Lives in Leith" in current(principal) and "Lives in Leeds" not in current(principal)
