"""Running a consolidation: what is read once, what a fault leaves, what is on record."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from memories.consolidation.material import (
    FaultKind,
    Guidance,
    Material,
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedPlaybook,
)
from memories.errors import Conflict, NotFound
from memories.models import ConsolidationRun, Episode, EpisodeLedger, Fact, Playbook, RunState, Trigger
from memories.selectors.runs import backlog_of
from memories.services.consolidation import Busy, consolidate, rerun, running
from memories.services.consolidation.ledger import ANSWERING, take
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.policies import set_policy
from memories.services.sessions.replacing import edit_turn
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.types import Contradiction, Kind, Status
from memoryhub import limits
from memoryhub.env.limits import DAY, DEFAULT_LIMITS
from memoryhub.limits import Quota
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, Principal
from tests.factories import own_principal
from tests.memories.services.consolidation.conftest import (
    SAID_AT,
    ScriptedExtractor,
    fault,
    literally,
    nothing,
    tell,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


def texts(principal: Principal, status: Status = Status.ACTIVE) -> list[str]:
    return sorted(Fact.objects.of(principal).filter(status=status).values_list("text", flat=True))


def test_each_episode_is_read_once(principal: Principal) -> None:
    tell(principal, "Plays the cello", "Keeps bees", "Owns a canoe")
    extractor = ScriptedExtractor([literally])
    assert consolidate(principal, extractor=extractor, batch=2).episodes == 3
    assert [len(given.episodes) for given in extractor.given] == [2, 1]
    assert consolidate(principal, extractor=extractor).runs == []
    assert texts(principal) == ["Keeps bees", "Owns a canoe", "Plays the cello"]
    assert backlog_of(principal).waiting == 0


def test_what_has_expired_is_not_known_and_is_learned_anew_when_said_again(principal: Principal) -> None:
    remember_fact(principal, text="Parks on level 3", key="parking")
    Fact.objects.update(expires_at=timezone.now())
    tell(principal, "Parks on level 3", since=timezone.now())
    extractor = ScriptedExtractor([literally])
    consolidate(principal, extractor=extractor)
    assert extractor.given[0].facts == ()
    assert Fact.objects.of(principal).unexpired(timezone.now()).get().text == "Parks on level 3"


def test_a_run_is_on_record_and_its_fact_knows_the_words_it_came_from(principal: Principal, settings: Settings) -> None:
    settings.MEMORYHUB_PRICES = (2.5, 10.0)
    (said,) = tell(principal, "Plays the cello")
    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([literally]), trigger=Trigger.COUNT).runs
    run, fact = ConsolidationRun.objects.get(pk=run_id), Fact.objects.of(principal).get()
    assert (run.state, run.trigger, run.extractor) == (RunState.DONE, Trigger.COUNT, "scripted")
    assert run.input["episodes"] == [str(said)] and "Plays the cello" in run.output["proposals"][0]
    assert (run.input_tokens, run.output_tokens, run.cost) == (100, 20, Decimal("0.000450"))
    (line,) = run.decisions
    assert (line["what"], line["verdict"], line["reason"]) == ("fact", "created", "said by the user")
    assert line["memory_id"] == str(fact.pk)
    assert AuditEvent.objects.filter(action="consolidation.done", target_id=run_id).exists()
    assert [row.pk for row in fact.supporting_episodes.all()] == [said]
    assert fact.learned_at == SAID_AT and run.ended_at is not None


def test_the_tokens_of_a_run_are_taken_from_the_members_budget(
    principal: Principal,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.MEMORYHUB_LIMITS = {**DEFAULT_LIMITS, "member_model_tokens": 1_000}
    tell(principal, "Plays the cello")
    with django_capture_on_commit_callbacks(execute=True):
        consolidate(principal, extractor=ScriptedExtractor([literally]))
    (use,) = limits.take([Quota("member_model_tokens", str(principal.membership_id), 1_000, DAY, 0)])
    assert 879 <= use.remaining <= 881


def test_a_fault_of_our_own_is_on_record_and_loses_nothing(principal: Principal) -> None:
    tell(principal, "Plays the cello")

    def broken(material: Material) -> list[Proposal]:
        raise ZeroDivisionError(material.episodes[0].text)

    report = consolidate(principal, extractor=ScriptedExtractor([broken]))
    assert report.waiting == 1
    assert "cello" not in ConsolidationRun.objects.get().error
    consolidate(principal, extractor=ScriptedExtractor([literally]))
    assert texts(principal) == ["Plays the cello"]


def test_one_statement_supersedes_many_and_leaves_the_true_ones(principal: Principal) -> None:
    home = remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=SAID_AT).memory_id
    street = remember_fact(principal, text="Rents a flat in Clifton", learned_at=SAID_AT).memory_id
    remember_fact(principal, text="Allergic to peanuts", learned_at=SAID_AT)
    (said,) = tell(principal, "We left Bristol, in Edinburgh now")
    moved = ProposedFact("Lives in Edinburgh", (said,), key="home_city", supersedes=(home, street))
    consolidate(principal, extractor=ScriptedExtractor([lambda _: [moved]]))
    assert texts(principal) == ["Allergic to peanuts", "Lives in Edinburgh"]
    assert texts(principal, Status.SUPERSEDED) == ["Lives in Bristol", "Rents a flat in Clifton"]


def test_two_moves_in_one_batch_may_name_the_same_old_home(principal: Principal) -> None:
    home = remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=SAID_AT).memory_id
    first, second = tell(principal, "We left Bristol for Bath", "We live in Leith now")
    moved = [
        ProposedFact("Lives in Bath", (first,), key="home_city", supersedes=(home,)),
        ProposedFact("Lives in Leith", (second,), key="home_city", supersedes=(home,), supersedes_places=(0,)),
    ]
    report = consolidate(principal, extractor=ScriptedExtractor([lambda _: moved]))
    assert report.decisions == {"superseded": 2}
    assert texts(principal) == ["Lives in Leith"]


def test_a_history_that_is_told_late_is_learned_whole(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Hexham", key="home_city")
    first, second = tell(principal, "I live in Leith", "We left Leith, in Dundee now")
    moved = [
        ProposedFact("Lives in Leith", (first,), key="home_city"),
        ProposedFact("Lives in Dundee", (second,), key="home_city", supersedes_places=(0,)),
    ]
    report = consolidate(principal, extractor=ScriptedExtractor([lambda _: moved]))
    assert report.decisions == {"created": 2}
    assert texts(principal) == ["Lives in Hexham"]
    assert texts(principal, Status.SUPERSEDED) == ["Lives in Dundee", "Lives in Leith"]


def test_what_was_replaced_long_ago_is_at_hand_and_can_be_retracted(principal: Principal) -> None:
    known = remember_fact(principal, text="Lives in Bath", key="home_city", learned_at=SAID_AT).memory_id
    remember_fact(principal, text="Lives in York", key="home_city", learned_at=SAID_AT + timedelta(hours=1))
    tell(principal, "I never lived in Bath", since=SAID_AT + timedelta(days=1))

    def never(material: Material) -> list[Proposal]:
        (wrong,) = (fact.id for fact in material.facts if "Bath" in fact.text)
        return [ProposedEnd((wrong,), (material.episodes[0].id,), contradiction=Contradiction.HARSH)]

    consolidate(principal, extractor=ScriptedExtractor([never]))
    fact = Fact.objects.get(pk=known)
    assert (fact.contradiction, fact.retracted) == (Contradiction.HARSH, True)


def test_a_way_to_do_something_becomes_a_playbook(principal: Principal) -> None:
    (said,) = tell(principal, "The printer works again: switch it off, hold reset, then feed it paper")
    steps = ("Switch it off", "Hold reset", "Feed it paper")
    told = ProposedPlaybook("Fix the printer", "the printer stopped", steps, (said,))
    consolidate(principal, extractor=ScriptedExtractor([lambda _: [told]]))
    playbook = Playbook.objects.of(principal).get()
    assert playbook.steps == [*steps]
    assert [row.pk for row in playbook.supporting_episodes.all()] == [said]


def test_what_is_said_again_confirms_and_adds_its_words(principal: Principal) -> None:
    known = remember_fact(principal, text="Plays the cello", confidence=0.6, learned_at=SAID_AT).memory_id
    (said,) = tell(principal, "Plays the cello")
    consolidate(principal, extractor=ScriptedExtractor([literally]))
    fact = Fact.objects.of(principal).get()
    assert (fact.pk, fact.confidence) == (known, 1.0)
    assert [row.pk for row in fact.supporting_episodes.all()] == [said]


def test_what_was_retracted_since_is_not_learned_again(principal: Principal) -> None:
    tell(principal, "Plays the cello")
    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([literally])).runs
    (said,) = tell(principal, "I never played the cello")
    never = ProposedEnd((Fact.objects.of(principal).get().pk,), (said,), contradiction=Contradiction.HARSH)
    consolidate(principal, extractor=ScriptedExtractor([lambda _: [never]]))
    assert Fact.objects.get().retracted
    rerun(principal, run_id, extractor=ScriptedExtractor([literally]))
    assert texts(principal) == []


def test_an_episode_that_is_forgotten_meanwhile_teaches_nothing(principal: Principal) -> None:
    gone, _ = tell(principal, "Plays the cello", "Keeps bees")

    def meanwhile(material: Material) -> list[Proposal]:
        forget(principal, kind=Kind.EPISODIC, memory_id=gone)
        return literally(material)

    consolidate(principal, extractor=ScriptedExtractor([meanwhile]))
    assert texts(principal) == ["Keeps bees"]
    run = ConsolidationRun.objects.get()
    assert "cello" not in repr((run.input, run.output, run.decisions))


def test_words_that_are_edited_away_meanwhile_teach_nothing(principal: Principal) -> None:
    said = begin_turn(principal, text="I live in Leds")
    finish_turn(principal, session_id=said.session_id, turn=1, text="Noted.")

    def meanwhile(material: Material) -> list[Proposal]:
        edit_turn(principal, session_id=said.session_id, turn=1, text="I live in Leeds")
        return literally(material)

    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([meanwhile]), max_batches=1).runs
    assert not Fact.objects.of(principal).filter(text__contains="Leds").exists()
    assert "Leds" not in repr(ConsolidationRun.objects.get(pk=run_id).output)


def test_a_fact_that_changes_meanwhile_is_not_superseded_twice(principal: Principal) -> None:
    home = remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=SAID_AT).memory_id
    tell(principal, "We left Bristol, in Edinburgh now")

    def meanwhile(material: Material) -> list[Proposal]:
        remember_fact(principal, text="Lives in Leith", key="home_city")
        return [ProposedFact("Lives in Edinburgh", (material.episodes[0].id,), key="home_city", supersedes=(home,))]

    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([meanwhile])).runs
    assert texts(principal) == ["Lives in Leith"]
    (line,) = ConsolidationRun.objects.get(pk=run_id).decisions
    assert line["verdict"] == "refused"


def test_two_consolidations_of_one_owner_are_refused(principal: Principal) -> None:
    tell(principal, "Plays the cello")
    lease = take(principal)
    with pytest.raises(Busy):
        consolidate(principal, extractor=ScriptedExtractor([literally]))
    lease.release()
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).episodes == 1


def test_whoever_lost_the_lease_writes_nothing(principal: Principal) -> None:
    tell(principal, "Plays the cello")

    def slowly(material: Material) -> list[Proposal]:
        EpisodeLedger.objects.of(principal).update(leased_until=timezone.now())
        assert consolidate(principal, extractor=ScriptedExtractor([literally])).episodes == 1
        return literally(material)

    with pytest.raises(Busy):
        consolidate(principal, extractor=ScriptedExtractor([slowly]))
    assert texts(principal) == ["Plays the cello"]
    assert sorted(ConsolidationRun.objects.values_list("state", flat=True)) == [RunState.DONE, RunState.FAILED]


def test_forgotten_episodes_at_the_end_do_not_wait_for_ever(principal: Principal) -> None:
    tell(principal, "Plays the cello")
    (gone,) = tell(principal, "Keeps bees")
    forget(principal, kind=Kind.EPISODIC, memory_id=gone)
    consolidate(principal, extractor=ScriptedExtractor([nothing]))
    ledger = EpisodeLedger.objects.of(principal).get()
    assert (ledger.consolidated, ledger.stored, ledger.waiting_since) == (2, 2, None)
    tell(principal, "Owns a canoe")
    consolidate(principal, extractor=ScriptedExtractor([literally]))
    assert texts(principal) == ["Owns a canoe"]


def test_what_is_being_answered_waits_for_its_answer(principal: Principal) -> None:
    turn = begin_turn(principal, text="Plays the cello")
    tell(principal, "Keeps bees")
    extractor = ScriptedExtractor([literally])
    assert consolidate(principal, extractor=extractor).waiting == 2
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="Noted.")
    assert consolidate(principal, extractor=extractor).waiting == 0
    assert texts(principal) == ["Keeps bees", "Plays the cello"]


def test_an_answer_that_never_comes_is_not_waited_for_for_ever(principal: Principal) -> None:
    begin_turn(principal, text="Plays the cello", at=timezone.now() - ANSWERING)
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).waiting == 0


def test_a_run_of_another_member_or_tenant_is_unknown(principal: Principal, stranger: Principal) -> None:
    tell(principal, "Plays the cello")
    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([literally])).runs
    for who, run in ((stranger, run_id), (principal, uuid.uuid4())):
        with pytest.raises(NotFound):
            rerun(who, run)
    assert consolidate(stranger, extractor=ScriptedExtractor([literally])).runs == []


def test_a_run_that_waits_anyway_is_not_run_again(principal: Principal) -> None:
    tell(principal, "Plays the cello")
    (run_id,) = consolidate(principal, extractor=ScriptedExtractor([fault(FaultKind.PASSING)])).runs
    with pytest.raises(Conflict):
        rerun(principal, run_id)


def test_a_commit_that_breaks_off_leaves_nothing_and_says_so(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = tell(principal, "Plays the cello")

    def broken(*_: object) -> None:
        raise DatabaseError(f"Failing row contains ({Episode.objects.get(pk=said).text})")

    with monkeypatch.context() as patch:
        patch.setattr(running, "advance", broken)
        report = consolidate(principal, extractor=ScriptedExtractor([literally]))
    run = ConsolidationRun.objects.get(pk=report.runs[0])
    place = "DatabaseError in memories.services.consolidation.running._commit"
    assert (report.error, report.waiting) == (running.UNEXPECTED.format(place), 1)
    assert "DatabaseError" in caplog.text and "running.py" in caplog.text and "cello" not in caplog.text
    assert (run.state, run.decisions, run.output) == (RunState.FAILED, [], {})
    assert not Fact.objects.exists()
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).decisions == {"created": 1}


def test_own_words_are_known_after_the_owner_has_another_name(principal: Principal, membership: Membership) -> None:
    begin_turn(principal, text="I keep bees", at=timezone.now() - timedelta(hours=2))
    tell(principal, "I play the cello", speaker=membership.user.get_username())
    tell(principal, "I collect stamps", speaker="Grace")
    membership.user.display_name = "Ada Fenwick"
    membership.user.save()
    extractor = ScriptedExtractor([literally])
    consolidate(own_principal(membership), extractor=extractor)
    assert [each.own for each in extractor.given[0].episodes] == [True, True, False]


def test_the_extractor_is_given_what_the_tenant_asks_for(principal: Principal) -> None:
    words = {"instructions": "Note sizes.", "categories": "bikes\nrepairs", "never_topics": "health"}
    set_policy(SYSTEM, tenant_id=principal.tenant_id, never_words="salary", **words)
    tell(principal, "I play the cello")
    extractor = ScriptedExtractor([literally])
    consolidate(principal, extractor=extractor)
    assert extractor.given[0].guidance == Guidance("Note sizes.", ("bikes", "repairs"), ("health", "salary"))


@pytest.mark.parametrize(
    ("category", "kept"), [("Repairs", "repairs"), ("repairs: what was mended", ""), ("home", ""), ("", "")]
)
def test_a_learned_fact_has_one_of_the_categories_or_none(principal: Principal, category: str, kept: str) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, categories="repairs: what was mended\ntrips")
    (said,) = tell(principal, "I trued the wheel")
    proposal = ProposedFact(text="Trued the wheel", category=category, supporting_episode_ids=(said,))
    consolidate(principal, extractor=ScriptedExtractor([lambda _: [proposal]]))
    assert Fact.objects.get().category == kept


TOPICS = "health: doctor, back pain\npolitical views"
IGNORED = ["My health is poor.", "I see two doctors.", "I have pain in my back.", "My views are political."]


def test_a_model_that_ignores_the_topics_stores_nothing_of_them(principal: Principal) -> None:
    said = tell(principal, *IGNORED, "I like the view.")
    set_policy(SYSTEM, tenant_id=principal.tenant_id, never_topics=TOPICS)
    report = consolidate(principal, extractor=ScriptedExtractor([literally]))
    assert report.decisions == {"refused": 4, "created": 1}
    assert [fact.text for fact in Fact.objects.all()] == ["I like the view."]
    reasons = [each["reason"] for each in ConsolidationRun.objects.get().decisions if each["verdict"] == "refused"]
    assert len(said) == 5 and all("“health”" in each or "“political views”" in each for each in reasons)


def test_apps_have_rules_of_their_own_and_a_batch_of_their_own(principal: Principal) -> None:
    for app in ("planner", "garage"):
        tell(replace(principal, app=app), f"My health was good at the {app}.")
    planner = {"never_topics": "health", "categories": "trips", "instructions": "Note dates."}
    set_policy(SYSTEM, tenant_id=principal.tenant_id, instructions="Be brief.", apps={"planner": planner})
    extractor = ScriptedExtractor([literally, literally])
    report = consolidate(principal, extractor=extractor)
    assert [each.guidance for each in extractor.given] == [
        Guidance("Be brief.\nNote dates.", ("trips",), ("health",)),
        Guidance("Be brief."),
    ]
    assert report.decisions == {"refused": 1, "created": 1} and Fact.objects.get().app == "garage"


def test_a_proposal_that_holds_a_word_kept_out_is_refused(principal: Principal) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, never_words="wage")
    (said,) = tell(principal, "I earn nine pounds")
    proposal = ProposedFact(text="Earns a wage of nine pounds", supporting_episode_ids=(said,))
    report = consolidate(principal, extractor=ScriptedExtractor([lambda _: [proposal]]))
    assert report.decisions == {"refused": 1} and not Fact.objects.exists()
