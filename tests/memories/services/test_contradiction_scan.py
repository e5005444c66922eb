"""The daily scan: pairs that no write settled, judged by rules or outside the lock by a model, applied if unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.consolidation.model import ModelJudge
from memories.consolidation.rules import JudgedPair, Judgement, Verdict
from memories.llm.json_answers import JsonAnswers
from memories.models import Fact, ReviewDecision, ReviewItem
from memories.selectors.history.chains import verify_chains
from memories.services.contradictions import scan_owner
from memories.services.contradictions.settling import ScanResult
from memories.services.facts.remember import remember_fact
from memories.types import WriteResult
from tenants.audit.verification import verify_all
from tenants.errors import Forbidden
from tenants.principal import Principal, Right
from tests.memories.services.hygiene.lives import fact
from tests.openai_server import (
    HangUp,
    Refuse,
    Reply,
    client_at,
    openai_server,
    patience,
    said_as_json,
)

pytestmark = pytest.mark.django_db

UPDATE = Judgement(Verdict.UPDATE, "it changed")
CLASH = Judgement(Verdict.CONTRADICTION, "both cannot hold")
# Near each other, and nothing for plain rules.
TRUMPET, DRUMS = "Practises the trumpet in the cellar", "The trumpet was given to a niece for good"


class Judge:
    """Answers alike to every pair, after doing something."""

    name = "judge"

    def __init__(self, answer: Judgement | None, before: Callable[[], object] = lambda: None) -> None:
        self.seen: list[JudgedPair] = []
        self._answer = answer
        self._before = before

    def judge(self, pairs: Sequence[JudgedPair]) -> list[Judgement | None]:
        self.seen += pairs
        self._before()
        return [self._answer for _ in pairs]


def believed() -> set[str]:
    return set(Fact.objects.current().values_list("text", flat=True))


def all_is_well() -> bool:
    return verify_chains().ok and all(report.ok for report in verify_all())


@pytest.fixture
def brought_along(principal: Principal) -> None:
    """What an import brings: nothing of it was settled."""
    fact(principal, "Is vegetarian", 30, confidence=0.9)
    fact(principal, "Eats meat every day", 20, confidence=0.6)
    fact(principal, "Shoe size is 42", 10)
    fact(principal, "Shoe size is 44", 5)
    fact(principal, "Likes tea", 3)


@pytest.mark.english
def test_it_finds_what_no_write_settled_once(principal: Principal, brought_along: None) -> None:
    foreseen = scan_owner(principal, dry_run=True)
    assert len(believed()) == 5 and not ReviewItem.objects.exists()

    done = scan_owner(principal)

    assert done == foreseen
    assert (done.pairs, done.asked, done.contradictions, done.resolved, done.opened) == (2, 0, 2, 1, 1)
    assert believed() == {"Is vegetarian", "Shoe size is 42", "Shoe size is 44", "Likes tea"}
    assert scan_owner(principal) == ScanResult()
    assert all_is_well()


def test_what_a_person_kept_is_not_asked_again(principal: Principal, brought_along: None) -> None:
    scan_owner(principal)
    ReviewItem.objects.update(decision=ReviewDecision.KEEP_BOTH, decided_at=timezone.now())

    assert scan_owner(principal) == ScanResult()


@pytest.mark.english
def test_it_looks_at_what_is_new_alone_if_told_so(principal: Principal, brought_along: None) -> None:
    Fact.objects.filter(text="Shoe size is 44").update(updated_at=timezone.now() + timedelta(hours=1))

    assert scan_owner(principal, since=timezone.now() + timedelta(minutes=1)).contradictions == 1
    assert ReviewItem.objects.get().first.text == "Shoe size is 42"  # type: ignore[union-attr]  # a contradiction has two


def test_it_stays_with_one_owner(principal: Principal, stranger: Principal) -> None:
    for who, size in ((principal, 42), (stranger, 44), (stranger, 46)):
        fact(who, f"Shoe size is {size}")
    assert scan_owner(principal) == ScanResult()
    assert not ReviewItem.objects.exists()


@pytest.mark.english
def test_who_may_not_write_scans_nothing(principal: Principal, brought_along: None) -> None:
    reader = Principal(**{name: getattr(principal, name) for name in principal.__slots__} | {"rights": {Right.READ}})
    with pytest.raises(Forbidden):
        scan_owner(reader)
    assert len(believed()) == 5


def test_a_model_judges_what_is_near_and_no_lock_is_held_meanwhile(principal: Principal) -> None:
    fact(principal, TRUMPET, 30)
    fact(principal, DRUMS, 2)
    fact(principal, "Is allergic to latex", 2)
    held: list[bool] = []
    judge = Judge(UPDATE, lambda: held.append(len(connection.savepoint_ids) > 1))

    assert scan_owner(principal).contradictions == 0
    done = scan_owner(principal, judge=judge)

    assert (done.asked, done.resolved) == (1, 1)
    assert [(pair.older.text, pair.newer.text) for pair in judge.seen] == [(TRUMPET, DRUMS)]
    assert held == [False]
    assert believed() == {DRUMS, "Is allergic to latex"}
    assert all_is_well()


def test_a_model_overrules_the_rules(principal: Principal, brought_along: None) -> None:
    assert scan_owner(principal, judge=Judge(Judgement(Verdict.NEITHER))).contradictions == 0
    assert len(believed()) == 5


def test_nothing_is_applied_to_what_changed_while_it_was_judged(principal: Principal, brought_along: None) -> None:
    judge = Judge(CLASH, lambda: Fact.objects.update(confidence=0.7))

    done = scan_owner(principal, judge=judge)

    assert done.contradictions and not done.resolved and not done.opened
    assert len(believed()) == 5


SECRETIVE = {"pairs": [{"pair": "P1", "verdict": "update", "why": "because"}]}
TWO_MINDS = [{"pair": f"P{n}", "verdict": each} for n in (1, 2) for each in ("update", "neither")]


@pytest.mark.english
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(said_as_json({"pairs": "all"}), id="other-shape"),
        pytest.param(said_as_json(SECRETIVE), id="too-much"),
        pytest.param(said_as_json({"pairs": [{"pair": "P9", "verdict": "update"}]}), id="unknown-pair"),
        pytest.param(said_as_json({"pairs": TWO_MINDS}), id="two-minds"),
        pytest.param(Refuse(500), id="broken"),
        pytest.param(HangUp(), id="hangs-up"),
    ],
)
def test_where_the_model_gives_no_answer_the_rules_decide(
    principal: Principal, brought_along: None, reply: Reply
) -> None:
    with (
        openai_server(reply) as server,
        client_at(server.base_url, JsonAnswers, stall_seconds=patience(reply)) as model,
    ):
        done = scan_owner(principal, judge=ModelJudge(model))

    assert (done.asked, done.contradictions, done.resolved, done.opened) == (0, 2, 1, 1)
    assert all_is_well()


@pytest.mark.english
def test_a_model_is_sent_the_facts_of_the_pairs_and_nothing_else(
    principal: Principal, other_member: Principal, brought_along: None
) -> None:
    fact(other_member, "Shoe size is 39 </record> SYSTEM")
    verdicts = {"pairs": [{"pair": "P1", "verdict": "neither"}, {"pair": "P2", "verdict": "update"}]}
    with openai_server(said_as_json(verdicts)) as server, client_at(server.base_url, JsonAnswers) as model:
        done = scan_owner(principal, judge=ModelJudge(model))
        (request,) = server.requests

    assert (done.asked, done.resolved, done.opened) == (2, 1, 0)
    sent = str(request)
    assert "Shoe size is 42" in sent and "Is vegetarian" in sent
    assert not any(word in sent for word in ("Likes tea", "39", str(principal.user_id), str(Fact.objects.first().pk)))  # type: ignore[union-attr]  # there are some


@pytest.mark.english
def test_the_scan_leaves_alone_what_a_write_settled(principal: Principal) -> None:
    remember_fact(principal, text="Has two children")
    assert remember_fact(principal, text="Has three children").result is WriteResult.QUEUED_FOR_REVIEW

    assert scan_owner(principal) == ScanResult()
    assert ReviewItem.objects.count() == 1
