"""The queue of reviews in the admin: who sees which, who decides, what is told to the trail, and that all is undone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.models import Fact, ReviewDecision, ReviewItem
from memories.services.facts.supersede import retire
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Scope
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import Principal
from tests.factories import make_membership, own_principal
from tests.memories.admin.test_deciding import with_access
from tests.memories.retelling import retell
from tests.memories.services.reviewing import FOUR, THREE, asked, current, proposed, say, two_widths
from tests.memories.staff.seated import signed_in
from tests.stored import lives

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

LIST = "admin:memories_reviewitem_changelist"


lived, life = lives(lambda principal: asked(principal, *two_widths(principal)))


@pytest.fixture
def item(life: ReviewItem) -> ReviewItem:
    """Which of two facts of Ada's holds."""
    return life


@pytest.fixture
def alice(tenant: Tenant) -> Membership:
    return with_access(make_membership(tenant, role="admin", name="Alice"))


@pytest.fixture
def browser(alice: Membership, client: Client) -> Client:
    """The browser of Alice, who administers Ada's tenant."""
    client.force_login(alice.user)
    return client


def page(item: ReviewItem, what: str = "change") -> str:
    named = {"change": "staff:review", "undo": "staff:review_undo"}
    return reverse(named.get(what, f"admin:memories_reviewitem_{what}"), args=[item.pk])


def decide(browser: Client, item: ReviewItem, **form: str) -> HttpResponse:
    return browser.post(page(item), form, follow=True)  # type: ignore[return-value]  # what it is


def act(browser: Client, action: str, *items: ReviewItem, state: str = "") -> str:
    chosen = {"action": action, "_selected_action": [str(each.pk) for each in items]}
    return browser.post(reverse(LIST) + state, chosen, follow=True).content.decode()


def listed(browser: Client, query: str = "") -> list[ReviewItem]:
    return list(browser.get(reverse(LIST) + query).context["cl"].queryset)


def test_the_list_counts_and_shows_no_words_of_a_contradiction(
    browser: Client, principal: Principal, item: ReviewItem
) -> None:
    proposed(principal, say(principal, "The gate is blue"))
    shown = " ".join(browser.get(reverse(LIST)).content.decode().split())
    assert "2 reviews" in shown and "Open (2)" in shown
    assert "Nobody used it for long." in shown and "0.95" in shown
    assert "metres" not in shown and "Two widths" not in shown and "gate" not in shown
    assert not AuditEvent.objects.filter(action="review.read").exists()


def test_the_queue_is_narrowed_by_state_kind_member_and_age(
    browser: Client, principal: Principal, other_member: Principal, item: ReviewItem
) -> None:
    theirs = proposed(other_member, say(other_member, THREE))
    assert listed(browser) == [item, theirs]
    assert listed(browser, "?kind=eviction") == [theirs]
    assert listed(browser, f"?user__id__exact={other_member.user_id}") == [theirs]
    assert listed(browser, "?age=old") == []
    assert listed(browser, "?age=day&q=Bob") == [theirs]
    decide(browser, item, decision="keep_both")
    retire(other_member, kind=Kind.SEMANTIC, memory_id=theirs.first_id)  # type: ignore[arg-type]  # it has one
    assert listed(browser) == []
    assert listed(browser, "?state=decided") == [item]
    assert listed(browser, "?state=withdrawn") == [theirs]
    assert len(listed(browser, "?state=all")) == 2


def test_a_page_shows_both_with_their_words_and_the_trail_tells_who_looked(
    browser: Client, alice: Membership, principal: Principal
) -> None:
    said = remember_episode(principal, session_id=start_session(principal).pk, text="I measured it twice").memory_id
    item = asked(principal, say(principal, THREE, supporting_episode_ids=[said]), say(principal, FOUR))
    shown = browser.get(page(item)).content.decode()
    assert "I measured it twice" in shown and "<mark>four</mark>" in shown and "Fact created by member" in shown
    assert shown.count("<dt>State</dt><dd>believed</dd>") == 2
    event = AuditEvent.objects.get(action="review.read")
    assert (event.owner_id, event.actor_kind, event.actor_id) == (principal.user_id, "staff", alice.user_id)


def test_its_evidence_and_events_are_told_in_the_language_of_the_reader(
    browser: Client, alice: Membership, item: ReviewItem
) -> None:
    ReviewItem.objects.unscoped("this one").filter(pk=item.pk).update(evidence={"judge": "rules"})
    User.objects.filter(pk=alice.user_id).update(language="de")
    shown = browser.get(page(item)).content.decode()
    assert "<dt>Urteil von</dt><dd>die Regeln</dd>" in shown and "Fakt erstellt von Mitglied" in shown


@pytest.mark.parametrize(
    ("form", "left"),
    [
        ({"decision": "keep_both"}, [FOUR, THREE]),
        ({"decision": "merge", "text": "The shed is five wide", "reason": "asked them"}, ["The shed is five wide"]),
        ({"decision": "edit", "first_text": "The hut is", "second_text": FOUR}, ["The hut is", FOUR]),
    ],
)
def test_a_contradiction_is_decided_and_undone(
    browser: Client, alice: Membership, principal: Principal, item: ReviewItem, form: dict[str, str], left: list[str]
) -> None:
    assert "Undo</a>" in decide(browser, item, **form).content.decode()
    assert current(principal) == sorted(left)
    event = AuditEvent.objects.get(action="review.decided")
    assert (event.owner_id, event.actor_kind, event.actor_id) == (principal.user_id, "staff", alice.user_id)
    assert "all is as it was" in browser.post(page(item, "undo"), follow=True).content.decode()
    assert current(principal) == [FOUR, THREE]


def test_one_is_kept_once(browser: Client, principal: Principal, item: ReviewItem) -> None:
    form = {"decision": "keep_one", "keep": str(item.second_id), "never_true": "1"}
    decide(browser, item, **form)
    assert current(principal) == [FOUR]
    assert Fact.objects.get(text=THREE).retracted
    assert "decided already" in decide(browser, item, **form).content.decode()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"decision": "merge", "text": FOUR}, "says the same as one of the two"),
        ({"decision": "keep_one", "keep": "neither"}, "one of those on the page"),
        ({"decision": "withdrawn"}, "must be one of keep_one"),
    ],
)
def test_what_cannot_be_taken_is_said_and_the_words_stay_in_the_form(
    browser: Client, principal: Principal, item: ReviewItem, form: dict[str, str], said: str
) -> None:
    answer = decide(browser, item, **form)
    assert answer.status_code == 400
    assert said in answer.content.decode() and form.get("text", "") in answer.content.decode()
    assert current(principal) == [FOUR, THREE]
    assert ReviewItem.objects.get().decision == ReviewDecision.OPEN


def test_a_value_that_is_not_stored_does_not_come_back(browser: Client, item: ReviewItem) -> None:
    card = "4111" + "1111" * 3
    answer = decide(browser, item, decision="merge", text=f"Card {card}", reason=f"Of {card}")
    assert answer.status_code == 400
    shown = answer.content.decode()
    assert "payment card number" in shown and "Card [payment card removed]" in shown and card not in shown


def test_a_proposal_shows_what_makes_it_stale(browser: Client, principal: Principal) -> None:
    row = say(principal, THREE, learned_at=timezone.now() - timedelta(days=400))
    Fact.objects.filter(pk=row.pk).update(review_after=timezone.now() - timedelta(days=1))
    retell(principal, row.pk)
    shown = browser.get(page(proposed(principal, row)))
    parts = [("Age", 1.0, 0.4), ("Disuse", 0.0, 0.3), ("Open contradiction", 0.0, 0.3), ("Staleness now", 0.4, None)]
    assert sorted(map(tuple, shown.context["parts"])) == sorted(parts)


def test_an_eviction_that_is_undone_says_that_it_counts_as_confirmed(browser: Client, principal: Principal) -> None:
    row = proposed(principal, say(principal, "The gate is blue"))
    decide(browser, row, decision="evict")
    undone = browser.post(page(row, "undo"), follow=True).content.decode()
    assert "counts as confirmed just now" in undone and "all is as it was" not in undone


def test_several_evictions_are_decided_and_undone_at_once(
    browser: Client, principal: Principal, other_member: Principal, item: ReviewItem
) -> None:
    rows = [proposed(principal, say(principal, "The gate is blue")), proposed(other_member, say(other_member, THREE))]
    assert "2 of the chosen reviews: evicted." in act(browser, "evict_chosen", *rows, item)
    assert current(principal) == [FOUR, THREE] and current(other_member) == []
    assert "2 of the chosen reviews: open again." in act(browser, "undo_chosen", *rows, state="?state=decided")
    assert "1 of the chosen reviews: kept." in act(browser, "keep_chosen", rows[0])
    assert "open a contradiction to decide it" in act(browser, "evict_chosen", item)
    assert current(other_member) == [THREE]


@pytest.mark.parametrize("role", ["support", "auditor"])
def test_support_and_auditors_read_only(tenant: Tenant, principal: Principal, item: ReviewItem, role: str) -> None:
    client = signed_in(make_membership(tenant, role=role))
    row = proposed(principal, say(principal, "The gate is blue"))
    shown = client.get(page(item)).content.decode()
    assert THREE.split()[-1] in shown and "Keep both" not in shown and "Administrators of" in shown
    assert client.post(page(item), {"decision": "keep_both"}, follow=True).status_code == 200
    act(client, "evict_chosen", row)
    client.post(page(item, "undo"))
    assert set(ReviewItem.objects.values_list("decision", flat=True)) == {ReviewDecision.OPEN}
    assert AuditEvent.objects.filter(action="review.read", actor_kind="staff").exists()


def test_platform_staff_decides_for_members_and_looks_at_what_is_shared(
    principal: Principal, admin_principal: Principal, item: ReviewItem
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    decide(client, item, decision="keep_both")
    assert AuditEvent.objects.get(action="review.decided").owner_id == principal.user_id
    shared = asked(admin_principal, *(say(admin_principal, text, scope=Scope.TENANT) for text in (THREE, FOUR)))
    assert "Administrators of" in client.get(page(shared)).content.decode()
    assert "Only an administrator of the tenant" in decide(client, shared, decision="keep_both").content.decode()
    looked = AuditEvent.objects.filter(action="review.read", owner_id=None)
    assert set(looked.values_list("chain", flat=True)) == {f"tenant:{principal.tenant_id}"}


def test_what_a_tenant_shares_is_decided_by_its_administrator(browser: Client, alice: Membership) -> None:
    owner = own_principal(alice)
    shared = asked(owner, *(say(owner, text, scope=Scope.TENANT) for text in (THREE, FOUR)))
    decide(browser, shared, decision="keep_one", keep=str(shared.first_id))
    assert list(Fact.objects.current().values_list("text", flat=True)) == [THREE]


def test_a_member_who_may_not_act_is_not_in_the_queue(
    browser: Client, membership: Membership, item: ReviewItem
) -> None:
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    assert listed(browser, "?state=all") == []
    assert browser.get(page(item)).status_code == 404


def test_reviews_are_asked_by_machines_alone(browser: Client) -> None:
    assert browser.get(reverse("admin:memories_reviewitem_add")).status_code == 403


def test_the_list_costs_the_same_however_long(browser: Client, principal: Principal) -> None:
    costs = []
    for number in range(4):
        proposed(principal, say(principal, f"The shed holds {number} bicycles"))
        with CaptureQueriesContext(connection) as queries:
            browser.get(reverse(LIST))
        costs.append(len(queries))
    assert costs[1] == costs[-1]
