"""What a program reads and decides of the reviews of its member's memory."""

from __future__ import annotations

import pytest

from memories.models import Fact
from tenants.models import AuditEvent, Membership
from tenants.principal import AGENT_RIGHTS
from tests.memories.api.caller import Caller, Life, caller_of
from tests.memories.services.reviewing import FOUR, THREE, asked, current, two_widths

pytestmark = pytest.mark.django_db


@pytest.fixture
def review(ada: Caller) -> str:
    """The address of a question about two facts."""
    return f"reviews/{asked(ada.principal, *two_widths(ada.principal)).pk}/"


def test_what_waits_is_listed_in_pages_and_shown(ada: Caller, life: Life, review: str) -> None:
    first = ada.get("reviews/?limit=1").json
    second = ada.get(f"reviews/?limit=1&cursor={first['next_cursor']}").json
    assert [each["kind"] for page in (first, second) for each in page["results"]] == ["eviction", "contradiction"]
    assert second["next_cursor"] is None
    shown = ada.get(review).json
    assert shown == second["results"][0]
    assert [each["text"] for each in shown["memories"]] == [THREE, FOUR]
    assert (shown["decision"], shown["reason"]) == ("open", "Two widths of one shed.")


@pytest.mark.parametrize("deed", ["decide", "undo"])
def test_a_token_that_may_not_decide_settles_no_review(
    ada: Caller, membership: Membership, review: str, deed: str
) -> None:
    refused = caller_of(membership, AGENT_RIGHTS).post(f"{review}{deed}/", {"decision": "keep_both"})
    assert (refused.status, "memory:decide" in refused.text) == (403, True)
    assert ada.get(review).json["decision"] == "open"


def test_a_program_decides_once_and_undoes(ada: Caller, review: str) -> None:
    kept = str(Fact.objects.get(text=THREE).pk)
    body = {"decision": "keep_one", "keep": kept, "never_true": True, "reason": "measured"}
    answer = ada.post(f"{review}decide/", body)
    assert (answer.status, answer.json["decision"]) == (200, "keep_one")
    assert current(ada.principal) == [THREE]
    assert ada.post(f"{review}decide/", body).status == 409
    assert [each["id"] for each in ada.get("reviews/?decided=true").json["results"]] == [answer.json["id"]]
    undone = ada.post(f"{review}undo/")
    assert undone.json["decision"] == "open"
    assert current(ada.principal) == [FOUR, THREE]
    events = AuditEvent.objects.filter(target_kind="review")
    assert set(events.values_list("actor_kind", flat=True)) == {"member", "token"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "decision"),
        ({"decision": "evict"}, "decision"),
        ({"decision": "keep_one", "keep": "both"}, "keep"),
        ({"decision": "merge", "text": FOUR}, "text"),
        ({"decision": "keep_both", "because": "x"}, "because"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(ada: Caller, review: str, body: dict[str, str], field: str) -> None:
    answer = ada.post(f"{review}decide/", body)
    assert (answer.status, list(answer.faults)) == (400, [field])
    assert current(ada.principal) == [FOUR, THREE]


def test_words_that_are_not_stored_are_refused_by_kind_and_place(ada: Caller, review: str) -> None:
    answer = ada.post(f"{review}decide/", {"decision": "merge", "text": "Card " + "4111" + "1111" * 3})
    assert answer.status == 422
    assert [(spot["field"], spot["kind"]) for spot in answer.json["spots"]] == [("text", "payment_card")]
