"""The planner: each guard refuses what it is for, and lets through what it must."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.consolidation import planner
from memories.consolidation.material import (
    EpisodeText,
    KnownFact,
    KnownPlaybook,
    Material,
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedOutcome,
    ProposedPlaybook,
)
from memories.consolidation.planner import Decision, Planner, PlanVerdict
from memories.hygiene.junk import RECORDS_NOTE
from memories.hygiene.sensitivity.findings import label
from memories.types import Contradiction, SensitiveKind, Source, Status

SAID_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
EARLIER = SAID_AT - timedelta(days=30)


def said(text: str, **columns: Any) -> EpisodeText:
    """Something that the owner said."""
    plain = EpisodeText(uuid4(), 1, uuid4(), text, "Ada", own=True, happened_at=SAID_AT)
    return replace(plain, **columns)


def known(text: str, **columns: Any) -> KnownFact:
    """A fact that is believed since a month."""
    plain = KnownFact(uuid4(), text, "", "", Source.USER_STATED, 1.0, Status.ACTIVE, EARLIER)
    return replace(plain, **columns)


def ended(text: str, **columns: Any) -> KnownFact:
    """A fact that is no longer believed."""
    return known(text, status=Status.SUPERSEDED, superseded_at=SAID_AT + timedelta(days=1), **columns)


def fact(text: str, *support: EpisodeText, **columns: Any) -> ProposedFact:
    """A proposed fact."""
    return ProposedFact(text, tuple(episode.id for episode in support), **columns)


def plan(
    *proposals: Proposal,
    episodes: tuple[EpisodeText, ...],
    facts: tuple[KnownFact, ...] = (),
    playbooks: tuple[KnownPlaybook, ...] = (),
) -> list[Decision]:
    """The decisions."""
    return Planner(Material("Ada", episodes, facts, playbooks)).plan(proposals)


def decided(proposal: Proposal, episode: EpisodeText, *facts: KnownFact, **options: Any) -> Decision:
    """What is decided of a single proposal."""
    (decision,) = plan(proposal, episodes=(episode,), facts=facts, **options)
    return decision


def stored(proposal: Proposal, episode: EpisodeText, *facts: KnownFact) -> bool:
    """Whether a single proposal is stored."""
    return decided(proposal, episode, *facts).verdict is PlanVerdict.STORE


def reason_of(proposal: Proposal, episode: EpisodeText, *facts: KnownFact) -> str:
    """Why a single proposal is refused."""
    decision = decided(proposal, episode, *facts)
    assert decision.verdict is PlanVerdict.REFUSE
    return decision.reason


def test_what_the_owner_said_is_stored_with_its_time() -> None:
    episode = said("I play the cello")
    decision = decided(fact("Plays the cello", episode), episode)
    assert (decision.verdict, decision.said_at) == (PlanVerdict.STORE, SAID_AT)


def test_support_must_be_there_in_the_batch_and_the_owners_own() -> None:
    episode, foreign = said("I play the cello"), said("I play the cello")
    somebody = said("I play the cello", own=False, speaker="Bob")
    assert reason_of(fact("Plays the cello"), episode) == "no episode supports it"
    assert reason_of(fact("Plays the cello", foreign), episode) == "it names an episode that is not in the batch"
    assert reason_of(fact("Plays the cello", somebody), somebody) == "somebody else said it"
    assert reason_of(fact("Plays the cello", episode, foreign), episode)


@pytest.mark.parametrize("confidence", [0.49, 1.01, float("nan")])
def test_what_is_hardly_believed_is_refused(confidence: float) -> None:
    episode = said("I play the cello")
    assert "confidence" in reason_of(fact("Plays the cello", episode, confidence=confidence), episode)


@pytest.mark.english
@pytest.mark.parametrize(
    ("text", "quote", "reason"),
    [
        ("Plays the tuba", "", planner.NOT_SAID),
        ("Plays the tuba", "I", planner.NOT_SAID),
        ("Plays the tuba", "Yes", planner.NOT_SAID),
        ("Plays the viola", "", planner.ASSISTANT_ALONE),
        ("Likes the viola", "Yes, I", planner.ASSISTANT_ALONE),
        ("Plays the cello", "I adore the cello", planner.NOT_QUOTED),
        ("Is from Tromsø and plays the cello", "", planner.ASSISTANT_ALONE),
        ("Plays the cello since 2003", "", planner.INVENTED),
        ("Plays the cello with Miriam", "I play the cello", planner.INVENTED),
    ],
)
def test_what_is_not_in_the_owners_words_is_refused(text: str, quote: str, reason: str) -> None:
    episode = said("Yes, I play the cello", before="You come from Tromsø, I think. Do you like the viola?")
    assert reason_of(fact(text, episode, quote=quote), episode) == reason


def test_a_quote_grounds_other_words_and_a_resolved_time_its_year() -> None:
    episode = said("I don't eat meat any more, since last year")
    began = datetime(2025, 1, 1, tzinfo=UTC)
    assert stored(fact("Is vegetarian since 2025", episode, quote="don't eat meat any more", valid_from=began), episode)


def test_a_known_name_may_be_taken_up() -> None:
    episode = said("My sister moved in with us")
    proposal = fact("Sister Miriam lives with them", episode)
    assert reason_of(proposal, episode) == planner.INVENTED
    assert stored(proposal, episode, known("Has a sister called Miriam"))


@pytest.mark.english
def test_equal_and_alike_statements_confirm_what_is_known() -> None:
    episode = said("I reside in Bristol, you know")
    home = known("Lives in Bristol")
    for text in ("Lives in Bristol", "Resides in Bristol"):
        decision = decided(fact(text, episode), episode, home)
        assert (decision.verdict, decision.known) == (PlanVerdict.CONFIRM, home)


def test_a_detail_makes_another_fact_however_alike() -> None:
    episode = said("I have 3 cellos")
    assert stored(fact("Has 3 cellos", episode), episode, known("Has 2 cellos"))


def test_what_the_agent_had_just_said_is_no_new_evidence() -> None:
    remembered = known("Plays the cello")
    episode = said("Right, I play the cello", before="You play the cello.", recalled=(remembered.id,))
    decision = decided(fact("Plays the cello", episode), episode, remembered)
    assert (decision.verdict, decision.reason) == (PlanVerdict.KNOWN, "it repeats what had been recalled")


@pytest.mark.parametrize(
    ("words", "quote", "verdict"),
    [
        ("Which instrument do I play, the cello?", "", PlanVerdict.KNOWN),
        ("Which instrument do I play, the cello?", "the cello", PlanVerdict.KNOWN),
        ("A cello is expensive, isn't it? Tell me more.", "", PlanVerdict.KNOWN),
        ("I do play the cello. Shall I sell it?", "", PlanVerdict.CONFIRM),
        ("My bow on the strings again, every day!", "My bow on the strings", PlanVerdict.CONFIRM),
    ],
)
def test_a_recalled_memory_is_confirmed_only_by_who_states_it(words: str, quote: str, verdict: PlanVerdict) -> None:
    remembered = known("Plays the cello")
    episode = said(words, recalled=(remembered.id,))
    assert decided(fact("Plays the cello", episode, quote=quote), episode, remembered).verdict is verdict


@pytest.mark.english
@pytest.mark.parametrize(
    ("words", "text", "reason"),
    [
        ("ok thanks", "Ok thanks", "it is a greeting or a yes, and tells nothing"),
        ("You are a helpful sailing assistant", "Is into sailing", planner.PASTED),
        (f'{{"note": "{RECORDS_NOTE}", "memories": [{{"text": "Sails"}}]}}', "Sails", planner.PASTED),
        (f'{{"note": "{RECORDS_NOTE}", "memories": [{{"text": "Sails"}}]}} Thanks!', "Sails", planner.NOT_SAID),
    ],
)
def test_junk_and_what_was_pasted_are_refused(words: str, text: str, reason: str) -> None:
    episode = said(words)
    assert reason_of(fact(text, episode), episode) == reason


def test_words_that_lost_their_value_become_no_memory() -> None:
    episode = said(f"My card is {label(SensitiveKind.PAYMENT_CARD)}")
    assert reason_of(fact(episode.text, episode), episode) == planner.TAKEN_OUT


def test_what_was_learned_when_it_was_said_is_known() -> None:
    episode = said("I live in Bristol")
    for earlier in (
        known("Home is Bristol", key="home_city", learned_from=frozenset({episode.id})),
        ended("Lives in Bristol", learned_from=frozenset({episode.id})),
    ):
        assert (
            decided(fact("Lives in Bristol", episode, key="home_city"), episode, earlier).verdict is PlanVerdict.KNOWN
        )


def test_what_it_makes_false_is_replaced_even_if_it_was_learned_before() -> None:
    episode = said("We left Bristol, in Edinburgh now")
    new = known("Lives in Edinburgh", key="home_city", learned_from=frozenset({episode.id}))
    street = known("Rents a flat in Clifton")
    proposal = fact("Lives in Edinburgh", episode, key="home_city", supersedes=(street.id, new.id))
    decision = decided(proposal, episode, new, street)
    assert decision.verdict is PlanVerdict.CONFIRM
    assert isinstance(decision.proposal, ProposedFact) and decision.proposal.supersedes == (street.id,)


def test_what_ended_or_was_retracted_since_stays_ended_and_what_had_ended_before_is_true_again() -> None:
    episode = said("I live in Bristol again")
    again = fact("Lives in Bristol", episode)
    assert "history" in reason_of(again, episode, ended("Lives in Bristol"))
    assert "retracted" in reason_of(again, episode, ended("Lives in Bristol", retracted=True))
    assert stored(again, episode, known("Lives in Bristol", status=Status.SUPERSEDED, superseded_at=EARLIER))


def test_only_older_current_facts_at_hand_are_superseded() -> None:
    episode = said("We left Bristol, in Edinburgh now")
    old, newer = known("Lives in Bristol"), known("Lives in Leith", learned_at=SAID_AT + timedelta(days=1))
    over, unknown = ended("Lives in Bath"), uuid4()
    proposal = fact("Lives in Edinburgh", episode, supersedes=(unknown, newer.id, over.id, old.id, old.id))
    kept = decided(proposal, episode, old, newer, over).proposal
    assert isinstance(kept, ProposedFact) and kept.supersedes == (old.id,)


def test_a_later_proposal_supersedes_an_earlier_one_that_is_stored() -> None:
    first, second = said("I live in Bristol"), said("I live in Bath now", happened_at=SAID_AT + timedelta(hours=1))
    decisions = plan(
        fact("Lives in Bristol", first),
        fact("Plays the viola", first),
        fact("Lives in Bath", second, supersedes_places=(0, 1, 2, 9)),
        episodes=(first, second),
    )
    assert [decision.verdict for decision in decisions] == [PlanVerdict.STORE, PlanVerdict.REFUSE, PlanVerdict.STORE]
    last = decisions[2].proposal
    assert isinstance(last, ProposedFact) and last.supersedes_places == (0,)


@pytest.mark.english
def test_the_same_said_twice_is_stored_once() -> None:
    first, second = said("I live in Bristol"), said("I reside in Bristol, you know")
    decisions = plan(fact("Lives in Bristol", first), fact("Resides in Bristol", second), episodes=(first, second))
    assert [decision.verdict for decision in decisions] == [PlanVerdict.STORE, PlanVerdict.KNOWN]


def test_an_end_needs_a_fact_that_is_believed_and_older() -> None:
    episode = said("I never lived in Bath")
    old, over = known("Lived in Bath"), ended("Lived in Bath")
    newer = known("Lived in Bath", learned_at=SAID_AT + timedelta(days=1))

    def end(*ids: UUID) -> ProposedEnd:
        return ProposedEnd(ids, (episode.id,), contradiction=Contradiction.HARSH)

    natural = replace(end(old.id, over.id, uuid4()), contradiction=Contradiction.NATURAL)
    decision = decided(natural, episode, old, over)
    assert decision.verdict is PlanVerdict.STORE
    assert isinstance(decision.proposal, ProposedEnd) and decision.proposal.fact_ids == (old.id,)
    assert "believed and older" in reason_of(end(newer.id), episode, newer)
    assert "believed and older" in reason_of(end(), episode)


def test_an_end_is_meant_by_the_owners_words() -> None:
    episode = said("I play the cello, not any more the viola", before="You live in Bristol.")
    viola, home, boss = known("Plays the viola"), known("Lives in Bristol"), known("Boss is Kim")

    def end(fact: KnownFact, quote: str = "") -> ProposedEnd:
        return ProposedEnd((fact.id,), (episode.id,), quote=quote)

    for meant in (end(viola), end(home), end(boss, "not any more")):
        assert stored(meant, episode, viola, home, boss)
    assert reason_of(end(boss), episode, boss) == planner.NOT_MEANT
    assert reason_of(end(viola, "I sold it"), episode, viola) == planner.NOT_QUOTED


def test_nothing_ends_everything() -> None:
    episode = said("We left Bristol, in Edinburgh now")
    every = tuple(known(f"Bristol has shop {number}") for number in range(planner.MOST_ENDED + 1))
    ids = tuple(each.id for each in every)
    end = ProposedEnd(ids, (episode.id,), quote="left Bristol")
    for too_much in (end, fact("Lives in Edinburgh", episode, supersedes=ids)):
        assert reason_of(too_much, episode, *every) == planner.TOO_MANY
    assert stored(replace(end, fact_ids=ids[1:]), episode, *every)


def test_what_was_replaced_long_ago_can_still_turn_out_never_to_have_been_true() -> None:
    episode = said("I never lived in Bath")
    over, wrong = ended("Lived in Bath"), ended("Lived in Bath", retracted=True)
    end = ProposedEnd((over.id, wrong.id), (episode.id,), contradiction=Contradiction.HARSH)
    kept = decided(end, episode, over, wrong).proposal
    assert isinstance(kept, ProposedEnd) and kept.fact_ids == (over.id,)


STEPS = ("Switch it off", "Hold reset", "Feed it paper")


@pytest.mark.english
def test_a_playbook_needs_steps_that_were_told_and_a_trigger_of_its_own() -> None:
    episode = said("That worked!", before="Switch it off, hold the reset button, then feed it paper.")
    book = ProposedPlaybook("Fix the printer", "the printer stopped", STEPS, (episode.id,))
    assert stored(book, episode)
    assert "several steps" in reason_of(replace(book, steps=STEPS[:1]), episode)
    assert "no title" in reason_of(replace(book, title=" "), episode)
    assert "said by nobody" in reason_of(replace(book, steps=(*STEPS, "Kick the radiator")), episode)
    for title, trigger in (("fix the printer.", ""), ("Other", "The printer stopped")):
        there = KnownPlaybook(uuid4(), title, trigger, ("a", "b"))
        assert decided(book, episode, playbooks=(there,)).verdict is PlanVerdict.KNOWN


def test_an_outcome_counts_once_for_its_words_and_for_a_playbook_at_hand() -> None:
    episode = said("That worked!")
    there = KnownPlaybook(uuid4(), "Fix the printer", "", STEPS)
    outcome = ProposedOutcome(there.id, True, (episode.id,))
    decisions = plan(outcome, outcome, episodes=(episode,), playbooks=(there,))
    assert [decision.verdict for decision in decisions] == [PlanVerdict.STORE, PlanVerdict.KNOWN]
    assert reason_of(replace(outcome, playbook_id=uuid4()), episode)


def test_a_name_that_an_earlier_episode_of_the_batch_taught_is_known_to_a_later_one() -> None:
    first, second = said("My bike is a Canyon Endurace"), said("I put an Ultegra groupset on the bike")
    bike = fact("Has a Canyon Endurace", first)
    better = fact("Has a Canyon Endurace with an Ultegra groupset", second, supersedes_places=(0,))
    assert [each.verdict for each in plan(bike, better, episodes=(first, second))] == [PlanVerdict.STORE] * 2
    refused = fact("Has a Canyon Endurace", first, confidence=0.1)
    assert [each.verdict for each in plan(refused, better, episodes=(first, second))] == [PlanVerdict.REFUSE] * 2
