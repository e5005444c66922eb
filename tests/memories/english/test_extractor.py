"""The rule-based extractor, by example: what one statement does to what is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memories.consolidation.material import Material, ProposedEnd, ProposedFact
from memories.english.extractor import RuleExtractor
from memories.types import Contradiction
from tests.memories.english.memory import Memory, said

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)  # a Wednesday
HOME = (
    "Lives in Bristol", "Address is 3 Elm Row, Bristol", "Rents a flat in Clifton", "Landlord is Mr Bell",
    "Neighbour is Ms Lee", "Cycles to work along the river",
)  # fmt: skip
WORK = ("Works at Acme", "Boss is Dana", "Has desk 12 in the Acme office", "Works as a senior buyer")
ELSE = ("Sister lives in Bristol", "Studied in Bristol", "Favourite colour is teal", "Has a cat called Biscuit")


def knowing(*texts: str) -> Memory:
    memory = Memory()
    for text in texts:
        key, _, plain = text.rpartition(": ")
        memory.know(plain, key)
    return memory


def after(memory: Memory, *words: str, before: str = "") -> set[str]:
    """What is believed after these messages, each read by itself."""
    for minutes, each in enumerate(words):
        memory.consolidate(RuleExtractor(), [said(each, NOW + timedelta(minutes=minutes), before=before)])
    return memory.current()


def kinds(memory: Memory) -> dict[str, Contradiction]:
    return {memory.facts[pk].text: kind for pk, kind in memory.kinds.items()}


@pytest.mark.parametrize("told", ["we left Bristol, in Edinburgh now", "We've relocated from Bristol to Edinburgh."])
def test_a_move_makes_false_what_hung_on_the_old_home_and_nothing_else(told: str) -> None:
    assert after(knowing(*HOME, *WORK, *ELSE), told) == {"Lives in Edinburgh", *WORK, *ELSE}


def test_a_move_ends_every_wording_of_the_old_home_with_or_without_a_key() -> None:
    memory = knowing("home_city: Lives in Bristol", "Based in Bristol", "city: Resides in Bristol")
    assert after(memory, "I moved to Leeds") == {"Lives in Leeds"}
    assert set(kinds(memory).values()) == {Contradiction.NATURAL}


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("I left Acme and started at Globex as a welder.", {"Works at Globex", "Works as a welder"}),
        ("I no longer work at Acme.", set()),
        ("I've started a new job at Globex!", {"Works at Globex"}),
    ],
)
def test_leaving_an_employer_ends_the_boss_the_desk_and_the_rank_there(told: str, left: set[str]) -> None:
    memory = knowing(*WORK, *ELSE)
    assert after(memory, told) == {*left, *ELSE}


def test_a_profession_stays_with_whoever_changes_the_employer() -> None:
    memory = Memory()
    after(memory, "I'm a nurse.", "I work at Acme.", "I work at Globex now.")
    assert memory.current() == {"Works as a nurse", "Works at Globex"}


@pytest.mark.parametrize(
    ("known", "told", "believed"),
    [
        ("boss: Boss is Dana", "My boss is Kim, not Dana.", "Boss is Kim"),
        ("Has a bike with a 105 groupset", "No, it's an Ultegra, not a 105.", "Has a bike with an Ultegra groupset"),
        ("birthday: Birthday is on 5 May", "My birthday is on 4 May, not 5 May", "Birthday is on 4 May"),
        ("allergy_peanut: Allergic to peanuts", "I'm allergic to cashews, not peanuts", "Allergic to cashews"),
        ("home_city: Lives in Bristol", "That's wrong, I live in Cardiff.", "Lives in Cardiff"),
    ],
)  # fmt: skip
def test_a_correction_is_harsh_and_changes_only_what_it_corrects(known: str, told: str, believed: str) -> None:
    memory = knowing(known, *ELSE)
    assert after(memory, told) == {believed, *ELSE}
    assert "allergy_peanut" not in {fact.key for fact in memory.facts.values() if fact.current}
    assert kinds(memory) == {known.rpartition(": ")[2]: Contradiction.HARSH}


def test_a_correction_reaches_every_wording_of_the_mistake() -> None:
    memory = knowing("boss: Boss is Dana", "Line manager is Dana", "Dana plays chess")
    assert after(memory, "My boss is Kim, not Dana.") == {"Boss is Kim", "Dana plays chess"}


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Lived in Brighton", "I never lived in Brighton!"),
        ("home_city: Lives in Rome", "I've never lived in Rome."),
        ("allergy_nut: Allergic to nuts", "Turns out I'm not allergic to nuts after all."),
        ("Has a dog called Rex", "I never had a dog."),
    ],
)
def test_what_never_was_ends_harshly_without_a_successor(known: str, told: str) -> None:
    memory = knowing(known, *ELSE)
    assert after(memory, told) == set(ELSE)
    assert kinds(memory) == {known.rpartition(": ")[2]: Contradiction.HARSH}


def test_there_is_the_home_that_was_just_spoken_of() -> None:
    memory = knowing("home_city: Lives in Edinburgh", "Lived in Brighton", *ELSE)
    answer = "From what you told me: “Lived in Brighton”."
    assert after(memory, "I never lived there", before=answer) == {"Lives in Edinburgh", *ELSE}
    memory = knowing("home_city: Lives in Edinburgh", "Lived in Brighton")
    both = "You lived in Brighton, and you live in Edinburgh."
    assert after(memory, "I never lived there", before=both) == {"Lives in Edinburgh", "Lived in Brighton"}


def test_a_home_that_was_replaced_can_still_be_denied() -> None:
    memory = knowing("home_city: Lives in Bristol")
    after(memory, "I moved to Edinburgh")
    denied = said("I never lived in Bristol", NOW + timedelta(days=1))
    (end,) = RuleExtractor().extract(Material("Ada", (denied,), tuple(memory.facts.values()))).proposals
    assert isinstance(end, ProposedEnd)
    assert [memory.facts[pk].text for pk in end.fact_ids] == ["Lives in Bristol"]
    assert end.contradiction is Contradiction.HARSH


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Goes climbing at Redpoint on Thursdays", "I quit climbing."),
        ("Has a Canyon Endurace", "Sold the Canyon yesterday"),
        ("car: Car is a blue Golf", "I sold my car."),
        ("dog_name: Dog is called Rex", "My dog died."),
        ("spouse: Married to Sam", "Sam and I split up in May."),
        ("Is vegan", "I'm not vegan any more."),
    ],
)
def test_what_stopped_ends_by_itself(known: str, told: str) -> None:
    memory = knowing(known, *ELSE)
    assert after(memory, told) == set(ELSE)
    assert set(kinds(memory).values()) == {Contradiction.NATURAL}


@pytest.mark.parametrize(
    ("known", "told", "believed"),
    [
        ("Goes climbing on Tuesdays", "Climbing is on Thursdays now.", "Goes climbing on Thursdays"),
        ("Prefers tea over coffee", "I prefer coffee over tea these days", "Prefers coffee over tea"),
        ("fiance: Fiancé is Tom", "Tom and I got married yesterday!", "Married to Tom"),
        ("No longer eats meat", "I'm eating meat again.", "Eats meat again"),
        ("favourite_colour: Favourite colour is red", "my favourite colour is green", "Favourite colour is green"),
    ],
)  # fmt: skip
def test_what_changed_is_replaced(known: str, told: str, believed: str) -> None:
    rest = {"Comes from Leeds", "Allergic to penicillin"}
    memory = knowing(known, *rest)
    assert after(memory, told) == {believed, *rest}


@pytest.mark.parametrize(
    "told",
    [
        "If I left Acme I'd be broke.", "I might move to Oslo.",
        "Oh great, another late shift. I just love working at Globex.", "I live in Oslo. Just kidding!",
        "Translate: I live in Berlin.", "I left my keys at Acme.",
        "When I was a student I lived in York and worked at Tesco.", "I bought a Brompton for my brother.",
        "Write an email saying I no longer work at Acme.", "I moved to Bristol in 2015.",
        "We had a dog named Rex when I was small.",
    ],
)  # fmt: skip
def test_what_says_nothing_lasting_of_the_speaker_changes_nothing(told: str) -> None:
    memory = knowing(*HOME, *WORK, *ELSE)
    assert after(memory, told) == {*HOME, *WORK, *ELSE}


OF_OTHERS = (
    "Wife works at Acme", "Sister lives in Bristol", "Sister is allergic to nuts", "Brother has a Canyon bike",
    "Has a brother called Rex", "Mother's address is 14 High Street", "Tom's car is a Golf", "Former boss is Dana",
)  # fmt: skip
STILL_TRUE = (
    "Born in Bristol", "Lived in Bath until 2012", "Used to work at Tesco", "Owns a house in Bristol",
    "Goes to the Acme gym on Mondays", "Studies law at Acme College", "Takes the 14 bus to the gym",
    "Wants to buy a Canyon", "Partner is Sam",
)  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        "I moved to Oslo.", "I left Acme.", "I no longer work at Acme.", "I left Bristol.",
        "I started at Globex as a welder.", "I'm not allergic to nuts.", "I sold my car.", "I sold the Canyon.",
        "Rex died.", "It's 15, not 14.", "My boss is Kim, not Dana.", "My address is 15 Low Road.",
        "Tom and I got married yesterday.",
    ],
)  # fmt: skip
def test_what_is_true_of_others_or_in_spite_of_it_stays(told: str) -> None:
    memory = knowing("home_city: Lives in Bristol", "employer: Works at Acme", *OF_OTHERS, *STILL_TRUE)
    assert {*OF_OTHERS, *STILL_TRUE} <= after(memory, told)


def test_only_the_owner_is_believed_and_never_the_assistant() -> None:
    memory = knowing("home_city: Lives in Bristol")
    memory.consolidate(RuleExtractor(), [said("I live in Rome", NOW, own=False)])
    memory.consolidate(RuleExtractor(), [said("Thanks!", NOW, 2, before="You live in Rome and work at Acme.")])
    assert memory.current() == {"Lives in Bristol"}


def test_later_statements_of_a_batch_meet_the_earlier_ones() -> None:
    memory = Memory()
    words = ("My boss is Dana.", "Sorry, my boss is Kim, not Dana.", "We adopted a cat called Rex.", "Rex died.")
    batch = [said(each, NOW + timedelta(minutes=place), place) for place, each in enumerate(words)]
    memory.consolidate(RuleExtractor(), batch)
    assert memory.current() == {"Boss is Kim"}
    assert kinds(memory) == {"Boss is Dana": Contradiction.HARSH, "Cat is called Rex": Contradiction.NATURAL}


def test_what_the_conversation_stored_already_still_ends_what_it_makes_false() -> None:
    memory, episode = knowing("landlord: Landlord is Mr Bell"), said("we left Bristol, in Edinburgh now", NOW)
    stored = memory.know("Lives in Edinburgh", "home_city", at=NOW + timedelta(seconds=2))
    memory.facts[stored.id] = replace(stored, learned_from=frozenset((episode.id,)))
    for _ in range(2):
        assert memory.consolidate(RuleExtractor(), [episode]) == []
        assert memory.current() == {"Lives in Edinburgh"}


@pytest.mark.parametrize("told", ["My sister is Fien", "My sister Fien came by. My sister is called Fien."])
def test_a_name_is_one_fact_in_whatever_words_it_is_given(told: str) -> None:
    assert after(knowing("Sister is called Fien"), told) == {"Sister is called Fien"}
    assert len(after(Memory(), told)) == 1
    assert len(after(knowing("Sister is called Ana"), told)) == len({"Ana", "Fien"})


def test_what_was_learned_later_is_not_ended_by_older_words() -> None:
    memory = Memory()
    memory.know("Lives in Edinburgh", "home_city", at=NOW)
    old = Material("Ada", (said("I live in Bristol", NOW - timedelta(days=9)),), tuple(memory.facts.values()))
    (fact,) = RuleExtractor().extract(old).proposals
    assert isinstance(fact, ProposedFact)
    assert (fact.text, fact.supersedes) == ("Lives in Bristol", ())


@pytest.mark.parametrize(
    ("told", "since"),
    [
        ("I've been working at Acme since March 2024.", "2024-03-01"),
        ("I moved to York in October.", "2025-10-01"),
        ("I moved to York two weeks ago.", "2026-03-04"),
        ("On Monday I started at Acme.", "2026-03-16"),
    ],
)
def test_the_time_in_the_users_words_is_when_it_became_true(told: str, since: str) -> None:
    (fact,) = RuleExtractor().extract(Material("Ada", (said(told, NOW),))).proposals
    assert isinstance(fact, ProposedFact)
    assert fact.valid_from == datetime.fromisoformat(since).replace(tzinfo=UTC)


def test_a_fact_quotes_the_words_that_say_it_and_names_their_episode() -> None:
    episode = said("Lovely day. Oh, and I live in York.", NOW)
    (fact,) = RuleExtractor().extract(Material("Ada", (episode,))).proposals
    assert isinstance(fact, ProposedFact)
    assert fact.quote in episode.text
    assert fact.supporting_episode_ids == (episode.id,)
