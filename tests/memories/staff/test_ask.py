"""Ask as this member: the recall as it is, of which nothing is kept but that staff asked; nobody else's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memories.models import Fact, RecallTrace
from memories.recall import recording
from memories.recall.adjust import Weights
from memories.recall.explaining import Origin, explain
from memories.recall.pipeline import recall
from memories.recall.selection import Cut
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.staff.candidates import CUTS, ORIGINS, SIGNALS
from memories.types import ALL_KINDS
from tenants.models import AuditEvent, AuditPayload, Membership, Tenant, User
from tenants.principal import Principal
from tenants.search_keys import revoke
from tests.factories import own_principal
from tests.memories.staff.looking import INLINE, inside, own_queries, page_of, staff_of, words
from tests.parts import ON_ELASTICSEARCH
from tests.stored import lives

pytestmark = pytest.mark.django_db

ASKED = "where is the spare key?"
FORM: dict[str, Any] = {"question": ASKED, "kinds": [kind.value for kind in ALL_KINDS], "limit": "10"}
# Session and user, the event with its chain (6), speakers, tail, facts, their texts, policy, staff once more; on
# Elasticsearch, which holds no columns of turns, the turns and a key.
QUERIES = 16 + 2 * ON_ELASTICSEARCH


def live_keys(principal: Principal) -> Principal:
    """Say where the spare key is."""
    said = ("Where did you put the spare key?", "Under the blue pot", "The key is spare", "My key is <b>red</b>")
    drafts = [EpisodeDraft(text) for text in said]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)
    again = [EpisodeDraft("Well, the key is spare")]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=again)
    remember_fact(principal, text="Keeps a spare key under the pot", key="spare_key")
    drain()
    return principal


lived, life = lives(live_keys)


@pytest.fixture
def keys(life: Principal) -> Principal:
    """Ada, who said where the spare key is."""
    return life


@pytest.fixture
def address(membership: Membership) -> str:
    return page_of("ask", membership)


@pytest.mark.parametrize("options", [{}, {"limit": "2"}, {"threshold": "1.5"}, {"kinds": ["semantic"]}], ids=str)
def test_it_shows_what_the_recall_answers_in_its_order(
    support: Client, keys: Principal, address: str, options: dict[str, Any]
) -> None:
    answer = support.post(address, FORM | options)
    asked = {"limit": int(options.get("limit", 10)), "types": options.get("kinds", list(ALL_KINDS))}
    expected = recall(
        keys, ASKED, record=False, threshold=float(options["threshold"]) if "threshold" in options else None, **asked
    )
    given = [line for line in answer.context["table"].rows if line.given]
    assert [(line.id, line.reasons) for line in given] == [(item.id, item.reasons) for item in expected.items]
    assert [line.score.value for line in given] == pytest.approx([item.score for item in expected.items], abs=1e-4)
    assert f"{len(given)} given out of" in words(answer)


def test_every_stage_is_told(support: Client, keys: Principal, address: str) -> None:
    answer = support.post(address, FORM | {"limit": "3"})
    assert [step.title for step in answer.context["funnel"]] == [
        "Candidates",
        "Loaded",
        "Scored",
        "Adjusted",
        "Given out",
    ]
    assert answer.context["funnel"][-1].count == 3
    assert "No reranker is configured" in words(answer) and "says the same as a better one" in words(answer)
    assert "below the limit" in words(answer) and 'class="is-cut"' in inside(answer)


def test_what_the_index_has_not_heard_of_is_told_with_its_state(support: Client, keys: Principal, address: str) -> None:
    ended = Fact.objects.get(text="Keeps a spare key under the pot")
    remember_fact(keys, text="Keeps a spare key at work", key="spare_key")
    told = words(support.post(address, FORM))
    assert f"{ended.pk} superseded: named by the index" in told
    assert "Keeps a spare key at work" in told and "just written" in told


def test_nothing_is_kept_but_that_staff_asked(support: Client, keys: Principal, address: str) -> None:
    uses = list(Fact.objects.values_list("pk", "use_count", "last_used_at"))
    support.post(address, FORM)
    recording.flush()
    assert not RecallTrace.objects.exists()
    assert list(Fact.objects.values_list("pk", "use_count", "last_used_at")) == uses
    event = AuditEvent.objects.get(action="memory.asked")
    assert (event.owner_id, event.tenant_id, event.actor_kind) == (keys.user_id, keys.tenant_id, "staff")
    assert AuditPayload.objects.get(event=event).data["after"] == {"characters": len(ASKED)}


def test_what_is_not_stored_is_masked_on_the_page(support: Client, keys: Principal, address: str) -> None:
    number = "4111 1111 " + "1111 1111"
    for form in (FORM | {"question": f"is {number} mine?"}, FORM | {"question": f"is {number} mine?", "limit": "0"}):
        answer = support.post(address, form)
        assert number not in answer.content.decode() and "was masked" in words(answer)


def test_what_is_too_long_to_be_looked_through_does_not_come_back(support: Client, address: str) -> None:
    card = " ".join(["4111", "1111"] * 2)
    answer = support.post(address, FORM | {"question": f"What is {card}?" + " Really?" * 5_000})
    assert answer.status_code == 400 and card not in answer.content.decode()


def test_texts_are_escaped_and_nothing_is_inline(support: Client, keys: Principal, address: str) -> None:
    answer = support.post(address, FORM | {"question": "is my key <i>red</i>?"})
    assert "My key is &lt;b&gt;red" in inside(answer) and "<b>red" not in inside(answer)
    assert "<i>red" not in inside(answer) and not INLINE.search(inside(answer))


def test_a_question_comes_by_post_alone(support: Client, keys: Principal, address: str) -> None:
    answer = support.get(address, FORM)
    assert "spare" not in inside(answer) and answer.context["explained"] is None
    assert 'method="post"' in inside(answer)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": ""}, "question"),
        ({"question": "x" * 32_001}, "question"),
        ({"kinds": ["secret"]}, "kinds"),
        ({"limit": "101"}, "limit"),
        ({"as_of": "0001-01-01"}, "as_of"),
        ({"threshold": "nan"}, "threshold"),
        ({"token_budget": "0"}, "token_budget"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_asked_is_said_at_its_field(
    support: Client, keys: Principal, address: str, change: dict[str, Any], field: str
) -> None:
    answer = support.post(address, FORM | change)
    assert answer.status_code == 400 and set(answer.context["errors"]) == {field}
    assert "field-error" in inside(answer) and answer.context["explained"] is None


def test_what_a_recall_refuses_is_said_in_the_language_of_the_page(
    support: Client, keys: Principal, address: str
) -> None:
    answer = support.post(address, FORM | {"as_of": "0001-01-01"}, headers={"accept-language": "de"})
    assert answer.context["errors"]["as_of"].startswith("Dies liegt")


def test_a_search_that_does_not_answer_is_said(
    support: Client, keys: Principal, address: str, plane_is_down: None
) -> None:
    told = words(support.post(address, FORM))
    assert "came from the database alone" in told and "Keeps a spare key" in told


def test_another_member_s_memory_does_not_show(support: Client, keys: Principal, other_member: Principal) -> None:
    remember_fact(other_member, text="Bob hides a spare key in the shed")
    drain()
    bob = Membership.objects.get(pk=other_member.membership_id)
    of_bob = words(support.post(page_of("ask", bob), FORM))
    of_ada = words(support.post(page_of("ask", Membership.objects.get(pk=keys.membership_id)), FORM))
    assert "in the shed" in of_bob and "Keeps a spare key" not in of_bob
    assert "in the shed" not in of_ada and "Keeps a spare key" in of_ada


def test_a_member_who_is_no_longer_active_can_be_asked(support: Client, keys: Principal, address: str) -> None:
    Membership.objects.filter(pk=keys.membership_id).update(is_active=False)
    answer = support.post(address, FORM)
    assert answer.status_code == 200 and (answer.context["closed"] or answer.context["explained"].answer.items)


def test_the_number_of_queries_does_not_grow(support: Client, keys: Principal, address: str) -> None:
    support.post(address, FORM)
    drafts = [EpisodeDraft(f"Spare key number {number} hangs on hook {number}") for number in range(60)]
    remember_episodes(keys, session_id=start_session(keys).pk, drafts=drafts)
    drain()
    with CaptureQueriesContext(connection) as asked:
        answer = support.post(address, FORM)
    assert own_queries(asked) == QUERIES
    assert len(answer.context["table"].rows) == 40 and "more are not listed" in words(answer)


def test_whatever_a_recall_can_tell_has_its_words() -> None:
    assert set(SIGNALS) == set(Weights.__dataclass_fields__) - {"coverage_power"}
    assert set(CUTS) == set(Cut) and set(ORIGINS) == set(Origin)


@pytest.mark.usefixtures("elasticsearch")
def test_a_member_without_a_key_is_answered_by_nobody_else_s(
    support: Client, membership: Membership, address: str
) -> None:
    live_keys(own_principal(membership))
    assert "Keeps a spare key" in words(support.post(address, FORM))
    revoke(membership)
    answer = support.post(address, FORM)
    assert answer.status_code == 200 and answer.context["closed"] and answer.context["explained"] is None
    assert "Nothing stands in for their key" in words(answer) and "Keeps a spare key" not in words(answer)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user: user.memberships.update(role="member"), id="another role"),
        pytest.param(lambda user: user.memberships.update(is_active=False), id="no member any more"),
        pytest.param(lambda user: User.objects.filter(pk=user.pk).update(is_staff=False), id="no staff any more"),
    ],
)
def test_who_loses_their_role_while_it_is_searched_sees_nothing_of_it(
    tenant: Tenant, keys: Principal, membership: Membership, change: Callable[[User], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    staff, browser = staff_of(tenant, "support"), Client()
    browser.force_login(staff)

    def losing(*asked: Any, **how: Any) -> Any:
        explained = explain(*asked, **how)
        change(staff)
        return explained

    monkeypatch.setattr("memories.staff.ask.explain", losing)
    answer = browser.post(page_of("ask", membership), FORM)
    assert answer.status_code == 403 and "blue pot" not in answer.content.decode()
