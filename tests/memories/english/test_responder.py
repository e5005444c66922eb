"""Conversations with the English responder, end to end: real turns, recall and services."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import translation

from memories.agent.events import MemoriesRecalled
from memories.agent.loop import run_turn
from memories.english.responder import Responder
from memories.models import Episode, Fact, Message, Playbook
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn
from tenants.principal import Principal
from tests.memories.agent.boundaries import decide
from tests.memories.agent.conftest import dispose, text_of
from tests.memories.english.conftest import PROPOSED, Say, current

pytestmark = pytest.mark.django_db

UNKNOWN = "I don't know that yet."
CARD = "4111 1111 1111 1111"


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("I live in Hull", "Where do I live?", "You live in Hull; you told me today."),
        ("I'm 35 now", "How old am I?", "You are 35 years old; you told me today."),
        ("My sister's birthday is 12 May", "When is my sister's birthday?", "Your sister's birthday is 12 May"),
        ("My dog is called Rex and he is 4", "How old is my dog?", "Rex is 4 years old"),
        ("My son Leo (3) likes trains", "What is my son's name?", "Your son is Leo"),
        ("I can't eat gluten", "What can't I eat?", "You cannot eat gluten"),
        ("I'm learning Portuguese", "What languages am I learning?", "You are learning Portuguese"),
        ("I don't have a car", "Do I have a car?", "No: you have no car"),
        ("My rent is £850 a month", "How much is my rent?", "You pay £850 a month in rent"),
        ("My sister Anu has a son named Ravi", "What are Anu's kids called?", "Anu has a son named Ravi"),
        ("I'm allergic to peanuts", "Can I eat peanut butter?", "No: you are allergic to peanuts"),
        ("I'm lactose intolerant", "Am I lactose intolerant?", "Yes: you are lactose intolerant"),
        ("I like my coffee black, no sugar.", "How do I take my coffee?", "You like coffee black, no sugar"),
        ("I like my coffee black, no sugar.", "Do I take sugar in my coffee?", "You like coffee black, no sugar"),
        ("I'm allergic to penicillin", "Can the doctor give me penicillin?", "You are allergic to penicillin"),
        ("Emil plays handball", "Which sport does Emil play?", "Emil plays handball"),
        ("My dentist is Dr Holm on High Street", "Who is my dentist?", "Your dentist is Dr Holm on High Street"),
        ("I drive a blue Skoda", "What car do I drive?", "You drive a blue Skoda"),
        ("my favrite colour is green", "what's my favourite color?", "Your favourite colour is green"),
        ("I parked on level 3", "Where did I park?", "You told me today: “I parked on level 3”"),
        (
            "I take 20 mg of lisinopril every day",
            "What medication do I take?",
            "You take 20 mg of lisinopril every day",
        ),
        ("I take metformin", "Which medicines do I take?", "You told me today: “I take metformin”"),
        ("My shoe size is 42", "What size shoes do I wear?", "Your shoe size is 42"),
        ("I wear size 42 shoes", "What shoe size do I have?", "You told me today: “I wear size 42 shoes”"),
    ],
)
def test_a_question_is_answered_by_the_fact_of_its_slot(say: Say, told: str, question: str, answer: str) -> None:
    say(told)
    assert say(question).startswith(answer)


@pytest.mark.parametrize(
    ("known", "question"),
    [
        ("Saddle height is 74 cm", "How high is my saddle?"),
        ("The saddle is 74 cm high", "What is my saddle height?"),
        ("The saddle is 74 cm high", "What's the height of my saddle?"),
        ("Table is 2 m long", "How long is my table?"),
        ("Suitcase is 20 kg", "How heavy is my suitcase?"),
        ("Bike weighs 8 kg", "How much does my bike weigh?"),
        ("Is 1.80 m tall", "How tall am I?"),
        ("Sister's height is 1.70 m", "How tall is my sister?"),
        ("Tom is 1.90 m tall", "How tall is Tom?"),
        ("Tom's phone number is 555 0199", "What's Tom's phone number?"),
        ("Tom's phone number is 555 0199", "What is the phone number of Tom?"),
        ("Tom's mobile is 555 0199", "What's Tom's phone number?"),
        ("Tom Baker's phone number is 555 0199", "What's Tom Baker's phone number?"),
        ("Tom's saddle height is 70 cm", "How high is Tom's saddle?"),
    ],
)
def test_an_attribute_is_told_in_whatever_words_it_is_asked_for(
    principal: Principal, say: Say, known: str, question: str
) -> None:
    remember_fact(principal, text=known)
    assert known.removeprefix("The ")[1:] in say(question).replace("you are", "Is").replace("You are", "Is")


@pytest.mark.parametrize(
    ("known", "question"),
    [
        ("Table is 2 m long", "How wide is my table?"),
        ("Saddle is 2 years old", "How high is my saddle?"),
        ("Saddle bag is 2 kg", "How heavy is my saddle?"),
        ("Tom's phone number is 555 0199", "What's my phone number?"),
        ("Tom's phone number is 555 0199", "What's Tim's phone number?"),
        ("Tom's saddle height is 70 cm", "How high is my saddle?"),
    ],
)
def test_another_attribute_is_no_answer(principal: Principal, say: Say, known: str, question: str) -> None:
    remember_fact(principal, text=known)
    assert say(question) == UNKNOWN


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I live in Hull", "Where does my sister live?"),
        ("My mother lives in Bath", "Where does my mother-in-law live?"),
        ("My sister's birthday is 12 May", "When is my birthday?"),
        ("Lia has a nut allergy", "Am I allergic to nuts?"),
        ("I live in Leeds with my wife Ana", "Where does Ana live?"),
        ("I think I might move to Berlin next year", "Where do I live?"),
        ("I'm allergic to penicillin", "Can the doctor give my son penicillin?"),
        ("I'm allergic to penicillin", "Can the doctor give me aspirin?"),
        ("Emil plays guitar", "Which sport does Emil play?"),
        ("I like my coffee black, no sugar.", "How do I take my tea?"),
        ("I take my dog out every morning", "What medication do I take?"),
    ],
)
def test_a_fact_about_somebody_else_answers_nothing(say: Say, told: str, question: str) -> None:
    say(told)
    assert say(question) == UNKNOWN


@pytest.mark.parametrize(
    ("job", "stays"),
    [
        ("Works as a dispatcher for a cargo bike firm", False),
        ("Works nights on the neonatal unit at St Aidan's Hospital, 20:00 to 08:15", False),
        ("Works as a nurse at Globex", True),
        ("Works as a teacher for the deaf", True),
    ],
)
def test_a_new_employer_ends_a_job_that_names_another_one(
    principal: Principal, say: Say, job: str, *, stays: bool
) -> None:
    remember_fact(principal, text=job, key="occupation")
    say("I work at Globex")
    assert current() == {"Works at Globex", *([job] if stays else [])}


@pytest.mark.parametrize(
    ("known", "question", "answer"),
    [
        ("Likes coffee but not tea", "Do I like tea?", "No: you like coffee but not tea."),
        ("Likes coffee but not tea", "Do I like coffee?", "Yes: you like coffee but not tea."),
        ("Not allergic to latex", "Am I allergic to latex?", "No: “Not allergic to latex”"),
        ("Not allergic to latex", "Am I allergic to nuts?", UNKNOWN),
        ("Not allergic to latex", "Do I have any allergies?", "Not as far as I know: “Not allergic to latex”"),
        ("Has a son named Leo", "What's my son's name?", "You have a son named Leo; you told me today."),
        ("Has a daughter named June", "Who is June?", "You have a daughter named June; you told me today."),
    ],
)
def test_a_fact_in_words_of_its_own_is_understood(
    principal: Principal, say: Say, known: str, question: str, answer: str
) -> None:
    remember_fact(principal, text=known)
    assert say(question) == answer


def test_values_that_contradict_each_other_are_all_told(principal: Principal, say: Say) -> None:
    remember_fact(principal, text="The saddle height is 71 centimetres")
    remember_fact(principal, text="Saddle height is 74 centimetres")
    answer = say("What is my saddle height?")
    assert "71 centimetres" in answer and "74 centimetres" in answer


def test_a_statement_that_contradicts_a_fact_is_told_where_it_is_settled(principal: Principal, say: Say) -> None:
    remember_fact(principal, text="The saddle height is 71 centimetres")
    noted, settle = say("My saddle height is 74 centimetres").split(". ", 1)
    assert noted == "Noted: “Saddle height is 74 centimetres”"
    assert settle.endswith("on the page “What I remember”, under “To settle”.")


def test_a_full_stop_that_is_stored_is_told_once(principal: Principal, say: Say) -> None:
    remember_fact(principal, text="Lives in Bristol, near the docks.", key="home_city")
    assert say("I moved to Edinburgh").endswith("(before: Bristol, near the docks).")
    assert say("Where do I live?").endswith("Before that: Bristol, near the docks.")


def test_a_bike_that_was_sold_is_told_as_one_that_was(say: Say) -> None:
    say("My bike is a Canyon")
    say("I sold the Canyon")
    assert say("Do I have a bike?") == "Not any more, as far as I know; before: your bike was a Canyon."


def test_a_move_is_told_with_what_was_before(say: Say) -> None:
    say("I live in Bristol")
    assert say("we left Bristol, in Edinburgh now") == "Got it: you live in Edinburgh (before: Bristol)."
    assert say("Where do I live?") == "You live in Edinburgh; you told me today. Before that: Bristol."
    assert say("Where did I live before?") == "Before: you lived in Bristol."


@pytest.mark.parametrize(
    ("told", "correction", "believed"),
    [
        ("I live in Leeds", "No, it's Sheffield, not Leeds", "Lives in Sheffield"),
        ("I'm vegetarian", "Wait, no, pescatarian", "Is pescatarian"),
        ("I'm 34", "sorry, 35", "Is 35 years old"),
        ("I'm allergic to nuts", "Correction: I am not allergic to nuts, it's latex.", "Allergic to latex"),
        ("My cat's name is Tiger", "Actually her name is Tigger", "Cat is called Tigger"),
    ],
)  # fmt: skip
def test_a_correction_corrects(say: Say, told: str, correction: str, believed: str) -> None:
    say(told)
    say(correction)
    assert current() == {believed}


def test_a_message_that_corrects_itself_is_one_statement(say: Say) -> None:
    assert say("I'm vegetarian. Wait, no, pescatarian.") == "Got it: you are pescatarian."
    assert set(Fact.objects.values_list("text", flat=True)) == {"Is pescatarian"}


def test_a_job_that_begins_later_is_said_to_begin_then(say: Say) -> None:
    say("I started at Acme on Monday")
    say("Actually that's wrong, I start there next Monday")
    assert "You start at Acme on Monday" in say("Where do I work?")
    assert Fact.objects.get(text="Works at Acme").retracted


def test_what_was_never_so_is_taken_back(say: Say) -> None:
    say("I moved to Bath")
    say("What a lovely morning")
    assert say("I never lived there") == "I took that back: it was never true that you live in Bath."
    assert Fact.objects.get().retracted


@pytest.mark.parametrize("between", ["I moved to Bath", "Where do I live?"])
def test_that_is_not_true_takes_back_what_was_just_spoken_of(say: Say, between: str) -> None:
    say("I moved to Bath")
    say(between)
    say("No, that's not true.")
    assert Fact.objects.get().retracted


def test_where_it_is_not_clear_what_is_meant_it_asks(principal: Principal, say: Say) -> None:
    remember_fact(principal, text="Lives in Bristol", key="home_city")
    say("we left Bristol, in Edinburgh now")
    assert say("I never lived there").startswith("Which place do you mean?")
    assert say("I never lived in Timbuktu").startswith("Nothing in your memory says that")
    assert current() == {"Lives in Edinburgh"}


def test_more_facts_than_one_step_takes_are_all_stored(say: Say) -> None:
    family = "I'm Otis, I am 41 years old, I live in Hull with my wife Selma and our daughter Wren (6)"
    say(f"{family}, and I work as a roofer at Dunn & Daughters. I drive an old Berlingo and I can't eat shellfish.")
    assert len(current()) == 10
    assert say("What's my name?").startswith("Your name is Otis")


def test_all_that_is_known_is_listed_pinned_first(principal: Principal, say: Say) -> None:
    assert say("What do you know about me?").startswith("I don't know anything about you yet.")
    remember_fact(principal, text="Allergic to nuts", pinned=True)
    for number in range(12):
        remember_fact(principal, text=f"Likes tea number {number}")
    first, top, *_, last = say("What do you know about me?").splitlines()
    assert (first, top) == ("Here is what I know about you:", "- You are allergic to nuts.")
    assert "10 of 13 facts" in last


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("Hi there!", "Hello"),
        ("Thanks, that was helpful!", "You're welcome!"),
        ("What can you do?", "I remember what you tell me"),
        ("What is your name?", "I'm memoryhub"),
        ("What's the weather like tomorrow?", "I can't do that without a language model."),
        ("How high is Everest?", "I can't answer that without a language model"),
        ("What is the capital of Peru?", "I can't answer that without a language model"),
        ("Ich wohne jetzt in Hamburg", "Ohne Sprachmodell lese ich nur Englisch"),
        ("¿Dónde vivo?", "Sin un modelo de lenguaje"),
        ("¿Qué sabe de mí?", "Sin un modelo de lenguaje"),
        ("Où est-ce que j'habite ?", "Sans modèle de langage"),
        ("Onde eu moro?", "Sem um modelo de linguagem"),
        ("私は大阪に住んでいます", "I can't read that language"),
        ("Forget everything you know about me", "I don't delete everything at once"),
    ],
)
def test_what_it_cannot_do_it_says_and_stores_nothing(say: Say, message: str, answer: str) -> None:
    assert say(message).startswith(answer)
    assert not Fact.objects.exists()


def test_a_reminder_is_noted_and_not_promised(say: Say) -> None:
    assert "I can't remind you" in say("Remind me to call mum at 5pm")
    assert current() == {"To do: call mum at 5pm"}


def test_a_how_to_is_remembered_told_and_erased_with_its_words(principal: Principal, say: Say) -> None:
    say("To reset the hub: hold the button for ten seconds, then wait for the light")
    assert "1. Hold the button for ten seconds\n2. Wait for the light" in say("How do I reset the hub?")
    say("To reset the hub: hold the button for ten seconds, then wait for the light")
    assert say("Forget how to reset the hub") == PROPOSED
    dispose(principal)
    assert not Playbook.objects.exists()


def test_a_fact_is_forgotten_by_another_form_of_its_verb(principal: Principal, say: Say) -> None:
    say("I play the cello and I'm learning Portuguese")
    assert say("Forget that I play the cello") == PROPOSED
    dispose(principal)
    assert current() == {"Is learning Portuguese"}


def test_a_new_measure_replaces_the_old_one_and_no_other_thing(say: Say) -> None:
    for told in ("The height of my desk is 72 cm", "My desk is now 75 cm high", "My office is 12 km away"):
        say(told)
    assert current() == {"Desk is 75 cm high", "Office is 12 km away"}


@pytest.mark.parametrize("described", ["My flat is 60 square metres", "My flat is a studio"])
def test_what_a_flat_is_like_ends_no_address(say: Say, described: str) -> None:
    say("I live at 12 Park Street")
    say(described)
    assert "Lives at 12 Park Street" in current()


def test_a_streamed_answer_names_a_button_in_the_language_of_the_page(principal: Principal) -> None:
    remember_fact(principal, text="Likes plums")
    with translation.override("de"):
        events = run_turn(principal, text="Forget that I like plums", model=Responder())
    assert text_of(events).endswith("only you can, with „Löschen“.")


def test_what_is_forgotten_is_gone_and_nothing_beside_it(principal: Principal, say: Say) -> None:
    say("I'm allergic to peanuts and my sister's birthday is 12 May")
    assert say("Forget that I am allergic to peanuts") == PROPOSED
    dispose(principal)
    assert current() == {"Sister's birthday is 12 May"}
    assert not Message.objects.filter(text__contains="peanuts").exists()
    assert say("What am I allergic to?") == UNKNOWN


@pytest.mark.parametrize("message", ["Forget my unicycle", "forget it"])
def test_what_is_not_clearly_meant_is_not_erased(say: Say, message: str) -> None:
    say("I live in Hull. I work at Acme.")
    assert say(message) != PROPOSED
    assert Episode.objects.filter(text="I live in Hull. I work at Acme.").exists()


def test_words_about_a_person_of_whom_no_fact_is_known_are_erased(principal: Principal, say: Say) -> None:
    say("My boss just resigned so I've got a new manager, Priscilla.")
    assert say("Forget everything I said about my manager.") == PROPOSED
    dispose(principal)
    assert not Episode.objects.filter(text__contains="Priscilla").exists()


def test_a_home_of_long_ago_is_no_home_of_today(say: Say) -> None:
    say("I used to live in Oslo.")
    assert "Oslo" not in say("Where do I live?")


def test_words_from_which_something_else_was_learned_are_not_erased(say: Say) -> None:
    say("I live in Hull. The telescope broke yesterday.")
    assert say("Forget the telescope").startswith("Which one shall I forget?")
    assert current() == {"Lives in Hull"}


@pytest.mark.parametrize("said", ["I live in Bath. My boss is Kim.", "The spare key is under the pot by the door"])
def test_forget_that_erases_what_was_just_said(principal: Principal, say: Say, said: str) -> None:
    say(said)
    assert say("forget that") == PROPOSED
    dispose(principal)
    assert not Fact.objects.exists()
    assert not Episode.objects.filter(text=said).exists()


def test_what_was_told_today_is_statements_alone_the_latest_of_many(principal: Principal, say: Say) -> None:
    for number in range(11):
        begin_turn(principal, text=f"Box {number} is in the cellar")
    begin_turn(principal, text="That's wrong.")
    begin_turn(principal, text="Undo that.")
    begin_turn(principal, text="Forget everything about the cellar.")
    lead, *told = say("What did I tell you today?").splitlines()
    assert lead == "Today you told me, most recently:"
    assert told == [f"- “Box {number} is in the cellar”" for number in range(1, 11)]


def test_earlier_words_are_quoted_with_their_day(principal: Principal, say: Say) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=40)
    begin_turn(principal, text="The spare key hangs behind the boiler", at=long_ago)
    expected = f"You told me on {long_ago.day} {long_ago:%B %Y}: “The spare key hangs behind the boiler”"
    assert say("Where is the spare key?") == expected


def test_a_value_that_was_taken_out_is_neither_stored_nor_answered(say: Say) -> None:
    assert say(f"Remember that my card is {CARD}") == "I kept your message without the value that was taken out."
    say(f"I live in Leeds. My card is {CARD}.")
    assert current() == {"Lives in Leeds"}
    assert say("What is my card?") == UNKNOWN


@pytest.mark.parametrize("mode", ["pull", "push"])
def test_it_answers_in_each_mode_of_recall(principal: Principal, say: Say, mode: str) -> None:
    decide(principal, recall_mode=mode)
    say("The spare key hangs behind the boiler")
    assert "behind the boiler" in say("Where is the spare key?")
    say("I moved to Oslo")
    assert say("Where do I live?").startswith("You live in Oslo")


def test_small_talk_recalls_nothing(principal: Principal) -> None:
    remember_fact(principal, text="Likes tea")
    events = list(run_turn(principal, text="Hi there!", model=Responder()))
    assert not [event for event in events if isinstance(event, MemoriesRecalled)]


@pytest.mark.parametrize("other", ["other_member", "other_tenant_member"])
def test_nobody_is_told_or_erases_what_another_said(
    principal: Principal, say: Say, request: pytest.FixtureRequest, other: str
) -> None:
    theirs = request.getfixturevalue(other)
    for text in ("My favourite colour is ultramarine", "I live in Ultima"):
        list(run_turn(theirs, text=text, model=Responder()))
    before = current()
    asked = ("What is my favourite colour?", "Where do I live?", "What do you know about me?", "Forget where I live")
    for text in asked:
        assert "ultra" not in say(text).casefold()
        assert "ultima" not in say(text).casefold()
    say("I never lived in Ultima")
    assert current() == before
