"""Runs: what was read, decided and answered, and that one is run again by an administrator, once at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from memories.models import ConsolidationRun, Episode, Fact, RunState, Trigger
from memories.services.consolidation import consolidate, running
from memories.services.erasure.forget import forget
from memories.staff.runs import verdicts
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.factories import make_membership, own_principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, literally, nothing, tell
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import inside, own_queries, words
from tests.stored import lives

pytestmark = pytest.mark.django_db


def live_run(principal: Principal) -> ConsolidationRun:
    """What Ada said was read once, and one fact learned of it."""
    tell(principal, "I keep three goats")
    report = consolidate(principal, extractor=ScriptedExtractor([literally]))
    return ConsolidationRun.objects.get(pk=report.runs[0])


lived, life = lives(live_run)


@pytest.fixture
def run(life: ConsolidationRun) -> ConsolidationRun:
    """The run of `live_run`."""
    return life


@pytest.fixture
def extractor(monkeypatch: pytest.MonkeyPatch) -> ScriptedExtractor:
    """What reads when nothing else is said."""
    scripted = ScriptedExtractor([nothing])
    monkeypatch.setattr(running, "consolidation_extractor", lambda: scripted)
    return scripted


def test_a_count_of_decisions_agrees_in_number(run: ConsolidationRun) -> None:
    run.decisions = [{"verdict": "created"}] * 2 + [{"verdict": "known"}]
    with override("es"):
        assert verdicts(run) == ["2 creados", "1 conocido"]


def test_a_run_shows_what_was_read_and_each_decision_with_its_memory(
    support: Client, at: At, run: ConsolidationRun
) -> None:
    assert "1 created" in words(support.get(at("runs")))
    page = support.get(at("run", run.pk))
    shown = words(page)
    assert "I keep three goats" in shown and "scripted" in shown and "on demand" in shown and "100" in shown
    assert "ProposedFact" in shown  # what the extractor answered
    fact = Fact.objects.get()
    assert at("record", fact.pk) in page.content.decode()
    assert "Read these events again" not in shown


def test_the_trail_tells_who_read_which_run(support: Client, at: At, run: ConsolidationRun) -> None:
    support.get(at("run", run.pk))
    event = AuditEvent.objects.get(action="memory.read", target_id=run.pk)
    assert (event.owner_id, event.actor_kind) == (run.user_id, "staff")


def test_of_what_was_forgotten_nothing_is_left(
    support: Client, at: At, principal: Principal, run: ConsolidationRun
) -> None:
    forget(principal, kind=Kind.EPISODIC, memory_id=Episode.objects.get().pk, cascade=True)
    shown = words(support.get(at("run", run.pk)))
    assert "goats" not in shown and "deleted since" in shown and "its answer was emptied" in shown


def test_a_run_that_failed_says_why_and_the_list_finds_it(
    support: Client, at: At, principal: Principal, run: ConsolidationRun
) -> None:
    ConsolidationRun.objects.filter(pk=run.pk).update(
        state=RunState.FAILED, given_up=True, error="The model said no.", decisions=[], output={}
    )
    assert "The model said no." in words(support.get(at("runs"), {"state": "failed"}))
    assert "No runs of this state" in words(support.get(at("runs"), {"state": "done"}))
    assert "went past its events" in words(support.get(at("run", run.pk)))
    answer = support.get(at("runs"), {"cursor": "made up"}, headers={"accept-language": "de"})
    assert answer.status_code == 400 and "Seite: ist" in words(answer)


def test_an_administrator_has_it_run_again_and_sees_the_result(
    administrator: Client, at: At, run: ConsolidationRun, extractor: ScriptedExtractor
) -> None:
    assert "Read these events again" in words(administrator.get(at("run", run.pk)))
    extractor.steps[:] = [literally]
    answer = administrator.post(at("rerun", run.pk), follow=True)
    again = ConsolidationRun.objects.get(rerun_of=run)
    assert answer.redirect_chain == [(at("run", again.pk), 302)]
    assert "It was run again: 1 known" in words(answer) or "It was run again: 1 merged" in words(answer)
    assert (again.trigger, again.state) == (Trigger.RERUN, RunState.DONE)
    event = AuditEvent.objects.get(action="consolidation.done", target_id=again.pk)
    assert (event.actor_kind, event.owner_id) == ("staff", run.user_id)


def test_a_rerun_that_is_not_possible_says_so(
    administrator: Client, at: At, run: ConsolidationRun, extractor: ScriptedExtractor
) -> None:
    ConsolidationRun.objects.filter(pk=run.pk).update(state=RunState.FAILED)
    told = words(administrator.post(at("rerun", run.pk), follow=True))
    assert "It was not run again. The episodes of this run wait" in told
    assert not extractor.given


def test_a_run_of_somebody_else_does_not_exist(
    administrator: Client, at: At, run: ConsolidationRun, membership: Membership, extractor: ScriptedExtractor
) -> None:
    colleague = make_membership(membership.tenant, name="Bob")
    tell(own_principal(colleague), "My boat is secret")
    theirs = consolidate(own_principal(colleague), extractor=ScriptedExtractor([literally])).runs[0]
    for run_id, of in ((run.pk, colleague), (theirs, membership), (uuid4(), membership)):
        assert administrator.get(at("run", run_id, of=of)).status_code == 404
        assert administrator.post(at("rerun", run_id, of=of)).status_code == 404
    assert not extractor.given


def test_the_queries_of_a_run_do_not_grow_with_its_decisions(
    support: Client, at: At, principal: Principal, run: ConsolidationRun
) -> None:
    support.get(at("run", run.pk))  # the first look begins the trail
    counts = []
    for more in ((), ("I keep two cows", "I own a red barn", "I grow barley")):
        tell(principal, *more)
        consolidate(principal, extractor=ScriptedExtractor([literally]))
        latest = ConsolidationRun.objects.latest("started_at")
        with CaptureQueriesContext(connection) as captured:
            assert "keep" in inside(support.get(at("run", latest.pk)))
        counts.append(own_queries(captured))
    assert counts == [13, 13]


@pytest.mark.django_db(transaction=True)
def test_of_two_reruns_at_once_one_runs(
    administrator: Client, at: At, run: ConsolidationRun, extractor: ScriptedExtractor
) -> None:
    browser = Client()
    browser.cookies = administrator.cookies
    said = []

    def second() -> str:
        try:
            return words(browser.post(at("rerun", run.pk), follow=True))
        finally:
            connections.close_all()

    def meanwhile(material: object) -> list[object]:
        with ThreadPoolExecutor(1) as pool:
            said.append(pool.submit(second).result())
        return []

    extractor.steps[:] = [meanwhile]  # type: ignore[list-item]  # it proposes nothing
    assert "It was run again" in words(administrator.post(at("rerun", run.pk), follow=True))
    assert "A consolidation is under way already" in said[0]
    assert ConsolidationRun.objects.filter(rerun_of=run).count() == len(extractor.given) == 1
