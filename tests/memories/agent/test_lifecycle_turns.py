"""The life of a memory in a conversation: moved, asked about, denied, corrected, forgotten; by either kind of model.

What a language model answers is scripted, on a real socket; what it is told, and what its calls do, is real.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.agent.events import MemoriesRetired
from memories.agent.loop import run_turn
from memories.agent.offline import OfflineResponder
from memories.importing import parse_memory
from memories.llm.openai_chat import OpenAIChat
from memories.models import Episode, Fact, Mention, Message, Playbook, Relation
from memories.selectors.history.chains import verify_chains
from memories.services.facts.remember import remember_fact
from memories.services.portability.import_records import import_memories
from memories.types import Contradiction, Status
from tenants.audit.chain import verify_all
from tenants.principal import Principal
from tests.memories.agent.conftest import started_of, text_of
from tests.openai_server import Call, Reply, Say, openai_server

pytestmark = pytest.mark.django_db

KNOWN = {
    "Lives in Bristol": "home_city",
    "Lives in Clifton": "neighbourhood",
    "Rents from Mrs Hale": "landlord",
    "Works remotely for Acme": "employer",
    "Allergic to peanuts": "allergy_peanut",
    "Favourite city is Lisbon": "favourite_city",
    "Her sister lives in Leeds": "",
}
ENDED_BY_A_MOVE = {"Lives in Bristol", "Lives in Clifton", "Rents from Mrs Hale"}

Script = Callable[[], list[Reply]]


@dataclass
class Conversation:
    """One conversation with either model. `told` is what the language model was sent, its tool results parsed."""

    kind: str
    principal: Principal
    session: UUID | None = None
    told: list[dict[str, Any]] = field(default_factory=list)
    retired: list[MemoriesRetired] = field(default_factory=list)

    def say(self, text: str, *script: Reply) -> str:
        """The answer; the language model plays `script`."""
        if self.kind == "offline":
            return self._turn(text, OfflineResponder())
        with openai_server(*script) as server:
            model = OpenAIChat(name="m", base_url=server.base_url, api_key="k")
            try:
                answer = self._turn(text, model)
            finally:
                model.close()
        results = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"]
        self.told = [json.loads(result) for result in results]
        return answer

    def _turn(self, text: str, model: OfflineResponder | OpenAIChat) -> str:
        events = list(run_turn(self.principal, text=text, session_id=self.session, model=model))
        self.session = started_of(events).session_id
        self.retired += [event for event in events if isinstance(event, MemoriesRetired)]
        return text_of(events)

    def memories(self) -> dict[str, dict[str, Any]]:
        """What the last turn's recalls told the language model, by text."""
        return {item["text"]: item for result in self.told for item in result.get("memories", ())}


@pytest.fixture(params=["offline", "language model"])
def ada(principal: Principal, request: pytest.FixtureRequest) -> Conversation:
    """Ada in conversation."""
    return Conversation(request.param, principal)


def know(principal: Principal, **others: str) -> dict[str, str]:
    """Store KNOWN, as said some time ago, and give the ids by text."""
    facts = {**KNOWN, **{text: key for key, text in others.items()}}
    return {text: str(remember_fact(principal, text=text, key=key).memory_id) for text, key in facts.items()}


def use(tool: str, /, **arguments: Any) -> Call:
    """One tool call by the language model."""
    return Call([(tool, json.dumps(arguments))])


def current(principal: Principal) -> set[str]:
    return set(Fact.objects.of(principal).current().values_list("text", flat=True))


def move(ada: Conversation) -> str:
    """Ada, of whom much is known, tells of a move in passing."""
    ids = know(ada.principal)
    return ada.say(
        "we left Bristol, in Edinburgh now",
        use("recall_memory", query="neighbourhood landlord address", types=["semantic"]),
        use(
            "write_memory",
            text="Lives in Edinburgh",
            key="home_city",
            supersedes_ids=[ids[text] for text in sorted(ENDED_BY_A_MOVE)],
        ),
        Say(["You live in Edinburgh now."]),
    )


@pytest.mark.english
def test_a_move_told_in_passing_ends_all_that_it_makes_false_and_nothing_else(ada: Conversation) -> None:
    assert "Edinburgh" in move(ada)
    assert current(ada.principal) == (set(KNOWN) - ENDED_BY_A_MOVE) | {"Lives in Edinburgh"}
    successor = Fact.objects.get(text="Lives in Edinburgh")
    ended = Fact.objects.filter(superseded_by=successor)
    assert set(ended.values_list("text", flat=True)) == ENDED_BY_A_MOVE
    assert set(ended.values_list("contradiction", "retracted")) == {(Contradiction.NATURAL, False)}
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())


@pytest.mark.english
def test_each_fact_that_was_replaced_is_named_in_the_transcript(ada: Conversation) -> None:
    move(ada)
    replaced = Mention.objects.filter(relation=Relation.REPLACED).values_list("memory_id", flat=True)
    assert set(Fact.objects.filter(pk__in=replaced).values_list("text", flat=True)) == ENDED_BY_A_MOVE


@pytest.mark.english
def test_where_one_has_lived_is_told_with_times(ada: Conversation) -> None:
    move(ada)
    lookup = use("recall_memory", query="Where have I lived?", types=["semantic"], include_superseded=True)
    answer = ada.say("Where have I lived?", lookup, Say(["In Bristol until now, in Edinburgh since."]))
    if ada.kind == "offline":
        day = f"{Fact.objects.get(text='Lives in Bristol').superseded_at:%-d %B %Y}"
        assert f"“Lives in Bristol” until {day}, “Lives in Edinburgh” since {day}" in answer
        assert "Leeds" not in answer
        assert "Lisbon" not in answer
    else:
        told = ada.memories()
        assert told["Lives in Bristol"]["status"] == "superseded"
        assert told["Lives in Bristol"]["until"] == told["Lives in Edinburgh"]["since"]
        assert told["Lives in Bristol"]["replaced_by"] == told["Lives in Edinburgh"]["id"]


@pytest.mark.english
def test_when_one_moved_is_when_one_says_so(ada: Conversation) -> None:
    ids = know(ada.principal)
    moved = (datetime.now(UTC) - timedelta(days=70)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    write = use(
        "write_memory",
        text="Lives in Edinburgh",
        key="home_city",
        supersedes_ids=[ids["Lives in Bristol"]],
        valid_from=moved.isoformat(),
    )
    ada.say(f"I moved to Edinburgh in {moved:%B %Y}", write, Say(["Welcome."]))
    assert Fact.objects.get(text="Lives in Edinburgh").valid_from == moved
    assert Fact.objects.get(text="Lives in Bristol").valid_to == moved
    lookup = use("recall_memory", query="Where have I lived?", include_superseded=True)
    answer = ada.say("Where have I lived?", lookup, Say(["Both."]))
    if ada.kind == "offline":
        assert f"until 1 {moved:%B %Y}, “Lives in Edinburgh” since 1 {moved:%B %Y}" in answer
    else:
        assert ada.memories()["Lives in Bristol"]["true_until"] == f"{moved:%Y-%m}-01T00:00Z"


def test_an_old_story_ends_nothing(principal: Principal) -> None:
    know(principal)
    Conversation("offline", principal).say("I moved to Oslo twenty years ago")
    assert current(principal) == set(KNOWN)


@pytest.mark.english
def test_it_finds_the_two_among_many(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    trails = (f"Likes trail number {number} in the hills by the city" for number in range(150))
    import_memories(principal, [parse_memory({"kind": "semantic", "text": trail}, place=trail) for trail in trails])
    ada.say("I live in Bristol")
    ada.say("we left Bristol, in Edinburgh now")
    answer = ada.say("Where have I lived?")
    assert answer.startswith("From your history: “Lives in Bristol” until ")
    assert "“Lives in Edinburgh” since " in answer
    assert "trail" not in answer


@pytest.mark.english
@pytest.mark.parametrize("denial", ["I never lived there", "I never lived in Bath"])
def test_what_never_was_is_taken_back_harshly_and_told_no_more(ada: Conversation, denial: str) -> None:
    know(ada.principal)
    ada.say("I moved to Bath", use("write_memory", text="Lives in Bath", key="home_city"), Say(["Bath it is."]))
    bath = str(Fact.objects.get(text="Lives in Bath").pk)
    ada.say(denial, use("retire_memory", memory_ids=[bath], contradiction="harsh"), Say(["I took that back."]))
    row = Fact.objects.get(pk=bath)
    assert (row.status, row.retracted, row.contradiction) == (Status.SUPERSEDED, True, Contradiction.HARSH)
    assert [(event.harsh, event.ended) for event in ada.retired] == [(True, ((row.pk, "Lives in Bath"),))]
    lookup = use("recall_memory", query="Where have I lived?", include_superseded=True)
    answer = ada.say("Where have I lived?", lookup, Say(["In Bristol."]))
    assert "Bath" not in answer
    if ada.kind == "offline":
        assert "“Lives in Bristol” until " in answer
    else:
        assert ada.memories()["Lives in Bath"]["never_true"] is True


@pytest.mark.english
def test_what_was_replaced_already_can_be_taken_back_too(ada: Conversation) -> None:
    ids = know(ada.principal)
    remember_fact(ada.principal, text="Lives in Edinburgh", key="home_city")
    end = use("retire_memory", memory_ids=[ids["Lives in Bristol"]], contradiction="harsh")
    ada.say("I never lived in Bristol", end, Say(["Noted."]))
    assert Fact.objects.get(text="Lives in Bristol").retracted
    assert "Lives in Edinburgh" in current(ada.principal)
    assert verify_chains().ok


@pytest.mark.english
def test_where_two_places_were_spoken_of_there_is_asked_about(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    move(ada)
    assert ada.say("I never lived there").startswith("Which place do you mean?")
    assert not Fact.objects.filter(retracted=True).exists()
    assert ada.say("I never lived in Bristol") == "I took back “Lives in Bristol”, as never true."


@pytest.mark.english
def test_there_reaches_back_to_the_place_that_was_spoken_of(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    know(principal)
    ada.say("I moved to Bath")
    ada.say("What a lovely morning")
    assert ada.say("I never lived there") == "I took back “Lives in Bath”, as never true."


@pytest.mark.english
@pytest.mark.parametrize("said", ["I moved to Bath", "Where do I live?"])
def test_that_is_not_true_takes_back_what_was_just_spoken_of(principal: Principal, said: str) -> None:
    ada = Conversation("offline", principal)
    ada.say("I moved to Bath")
    ada.say(said)
    assert ada.say("No, that's not true.") == "I took back “Lives in Bath”, as never true."
    assert Fact.objects.get().retracted


@pytest.mark.english
def test_what_nobody_said_is_not_taken_back(principal: Principal) -> None:
    know(principal)
    answer = Conversation("offline", principal).say("I never lived in Timbuktu")
    assert answer.startswith("Nothing in your memory says that")
    assert current(principal) == set(KNOWN)


CORRECTED = [
    pytest.param(
        "I just bought a Canyon Endurace with a 105 groupset",
        "Has a Canyon Endurace with a 105 groupset",
        "No, it's an Ultegra, not a 105",
        "Has a Canyon Endurace with an Ultegra groupset",
        id="a part",
    ),
    pytest.param("My boss is Dana", "Boss is Dana", "my boss is Kim, not Dana", "Boss is Kim", id="a name"),
]


@pytest.mark.english
@pytest.mark.parametrize(("said", "wrong", "correction", "right"), CORRECTED)
def test_a_correction_is_harsh_and_keeps_the_rest(
    ada: Conversation, said: str, wrong: str, correction: str, right: str
) -> None:
    ada.say(said, use("write_memory", text=wrong), Say(["Noted."]))
    old = Fact.objects.get(text=wrong)
    write = use("write_memory", text=right, supersedes_ids=[str(old.pk)], contradiction="harsh")
    answer = ada.say(correction, write, Say([f"{right}, then."]))
    assert current(ada.principal) == {right}
    old.refresh_from_db()
    assert (old.retracted, old.superseded_by_id) == (True, Fact.objects.get(text=right).pk)
    assert right in answer


@pytest.mark.english
def test_what_was_bought_is_remembered(principal: Principal) -> None:
    Conversation("offline", principal).say("I just bought a Brompton")
    assert current(principal) == {"Has a Brompton"}


@pytest.mark.english
@pytest.mark.parametrize("question", ["Where do I live and where do I work?", "Where do I live and work?"])
def test_a_question_in_two_parts_is_answered_in_both(principal: Principal, question: str) -> None:
    know(principal)
    home, work = Conversation("offline", principal).say(question).split("Where do I work?\n")
    assert home.startswith("Where do I live?\nFrom what you told me: “Lives in Bristol”")
    assert work.startswith("From what you told me: “Works remotely for Acme”")


@pytest.mark.english
def test_a_job_that_ends_takes_what_hangs_on_it(principal: Principal) -> None:
    know(principal, boss="Boss is Dana")
    Conversation("offline", principal).say("I no longer work at Acme")
    assert current(principal) == (set(KNOWN) - {"Works remotely for Acme"}) | {"No longer works at Acme"}


FORGOTTEN = "Zanzibarville"


@pytest.mark.english
def test_forget_that_erases_what_was_just_said_and_learned(ada: Conversation) -> None:
    know(ada.principal)
    ada.say(
        f"I moved to {FORGOTTEN}",
        use("write_memory", text=f"Lives in {FORGOTTEN}", key="home_city"),
        Say([f"{FORGOTTEN} is lovely."]),
    )
    fact = str(Fact.objects.get(text__contains=FORGOTTEN).pk)
    answer = ada.say("Forget that.", use("forget_memory", memory_id=fact), Say([f"{FORGOTTEN} is forgotten."]))
    if ada.kind == "offline":
        assert answer == "Erased for good: 1 fact and 1 event."
    assert not Fact.objects.filter(text__contains=FORGOTTEN).exists()
    assert not Episode.objects.filter(text__contains=FORGOTTEN).exists()
    assert not Message.objects.filter(text__contains=FORGOTTEN).exists()
    assert FORGOTTEN not in str(list(Message.objects.values_list("tool_calls", flat=True)))


@pytest.mark.english
@pytest.mark.parametrize(
    ("said", "erased"),
    [
        pytest.param("What am I allergic to?", "Allergic to peanuts", id="the one memory that was quoted"),
        pytest.param("The spare key is under the pot by the door", "", id="words of which nothing was learned"),
    ],
)
def test_that_is_what_the_last_exchange_was_about(principal: Principal, said: str, erased: str) -> None:
    ada = Conversation("offline", principal)
    know(principal)
    ada.say(said)
    assert ada.say("forget that").startswith("Erased for good: 1 ")
    assert current(principal) == set(KNOWN) - {erased}
    assert Episode.objects.filter(text=said).exists() is bool(erased)


@pytest.mark.english
def test_a_how_to_goes_with_the_words_that_taught_it(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    ada.say("To reset the hub: hold the button for ten seconds, then wait for the light")
    assert ada.say("Please delete that.") == "Erased for good: 1 how-to and 1 event."
    assert not Playbook.objects.exists()
    assert not Episode.objects.filter(text__contains="button").exists()


@pytest.mark.english
def test_forget_it_means_never_mind(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    know(principal)
    ada.say("What am I allergic to?")
    assert ada.say("forget it").startswith("Which one shall I forget?")
    assert current(principal) == set(KNOWN)


@pytest.mark.english
def test_after_two_facts_in_one_message_that_is_the_message(principal: Principal) -> None:
    ada = Conversation("offline", principal)
    ada.say("I live in Bath. My boss is Kim.")
    assert ada.say("forget that") == "Erased for good: 1 event and 2 facts."
    assert not Fact.objects.exists()


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member"])
@pytest.mark.parametrize(
    "reach",
    [
        pytest.param(lambda pk: use("write_memory", text="Lives in York", supersedes_ids=[pk]), id="supersede"),
        pytest.param(lambda pk: use("retire_memory", memory_ids=[pk]), id="end"),
        pytest.param(lambda pk: use("retire_memory", memory_ids=[pk], contradiction="harsh"), id="take back"),
        pytest.param(lambda pk: use("forget_memory", memory_id=pk), id="forget"),
    ],
)
def test_a_model_that_names_anothers_fact_is_told_that_there_is_none(
    principal: Principal, request: pytest.FixtureRequest, stranger: str, reach: Callable[[str], Call]
) -> None:
    theirs = remember_fact(request.getfixturevalue(stranger), text="Lives in Bristol", key="home_city").memory_id
    ada = Conversation("language model", principal)
    refusals = []
    for memory_id in (str(theirs), str(uuid4())):
        ada.say("we left Bristol, in York now", reach(memory_id), Say(["Hm."]))
        refusals.append(ada.told[-1])
    assert "error" in refusals[0]
    assert refusals[0] == refusals[1]
    row = Fact.objects.get()
    assert (row.pk, row.status, row.retracted) == (theirs, Status.ACTIVE, False)


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member"])
def test_a_move_ends_nothing_of_anybody_else(
    principal: Principal, request: pytest.FixtureRequest, stranger: str
) -> None:
    other: Principal = request.getfixturevalue(stranger)
    know(other)
    ada = Conversation("offline", principal)
    move(ada)
    ada.say("I never lived in Bristol")
    ada.say("forget that I live in Edinburgh")
    assert current(other) == set(KNOWN)
    assert not Fact.objects.of(other).filter(retracted=True).exists()
