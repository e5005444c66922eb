"""The Python client against a real site, on a real socket; the asynchronous one makes the same calls."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime

import pytest

from memoryhub_client import AsyncClient, Client, Conflict, InvalidInput, NotAuthenticated, NotFound
from memoryhub_client.types import (
    Episode,
    Fact,
    MemoriesRecalled,
    Playbook,
    TextDelta,
    TurnFinished,
    TurnStarted,
)
from tests.proofs.site import ROOT, Person

GUIDES = (ROOT / "clients" / "python" / "README.md", ROOT / "README.md", ROOT / "docs" / "compare.md")
EXAMPLES = [
    example
    for guide in GUIDES
    for example in re.findall(r"^```python\n(.*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
]
# By the name that they leave to their reader.
OF_A_MEMBER = [example for example in EXAMPLES if "token=TOKEN" in example]
OF_A_KEY = [example for example in EXAMPLES if "token=BACKEND_KEY" in example or "MEMORYHUB_KEY" in example]
# The scopes of the keys that the guide says to make, by the name that its examples give them.
SCOPES = {
    name: scopes.split()
    for scopes, name in re.findall(
        r"^memoryhub token create .*--scopes (.+) +# (\w+)$", GUIDES[0].read_text(), re.MULTILINE
    )
}

pytestmark = pytest.mark.long


def test_a_fact_is_written_recalled_read_superseded_and_brought_back(memory: Client) -> None:
    written = memory.memories.write("Lives in Porto.", key="home_city", category="home", pinned=True)
    assert written.result == "created" and isinstance(written.memory, Fact)
    assert written.memory.created_at.tzinfo is not None and written.memory.key == "home_city"
    found = memory.recall("Where does she live?", types=["semantic"], limit=3)
    assert [item.text for item in found.items] == ["Lives in Porto."] and "same meaning" in found.items[0].reasons
    newer = memory.memories.supersede(written.memory_id, "Lives in Braga.", reason="She moved.")
    assert newer.superseded_ids == [written.memory_id]
    chain = memory.memories.chain(newer.memory_id)
    assert [link.text for link in chain.links] == ["Lives in Porto.", "Lives in Braga."]
    assert memory.memories.get(written.memory_id).status == "superseded"
    assert memory.memories.undo(newer.memory_id).memory.text == "Lives in Porto."


def test_facts_are_corrected_retired_confirmed_and_recalled_as_of_earlier(memory: Client) -> None:
    wrong = memory.memories.write("Plays the viola.", learned_at=datetime(2025, 3, 1, tzinfo=UTC))
    right = memory.memories.correct(wrong.memory_id, "Plays the cello.")
    assert memory.memories.confirm(right.memory_id).last_verified_at is not None
    assert memory.memories.pin(right.memory_id).pinned
    ended = memory.memories.retire(right.memory_id, reason="She sold it.")
    assert ended.memory.status == "superseded"
    earlier = memory.recall("What does she play?", types=["semantic"], as_of=datetime(2025, 4, 1, tzinfo=UTC))
    assert earlier.as_of == datetime(2025, 4, 1, tzinfo=UTC)
    with pytest.raises(Conflict) as refused:
        memory.memories.confirm(right.memory_id)
    assert refused.value.type == "conflict" and refused.value.request_id


def test_lists_are_read_page_by_page(memory: Client) -> None:
    for number in range(5):
        memory.memories.write(f"Keeps hive number {number}.", category="bees")
    listed = memory.memories.list(category="bees", limit=2)
    assert [fact.text for fact in listed] == [f"Keeps hive number {number}." for number in (4, 3, 2, 1, 0)]
    pages = list(listed.pages())
    assert [len(page.results) for page in pages] == [2, 2, 1] and pages[-1].next_cursor is None
    assert next(listed.pages(pages[0].next_cursor)).results == pages[1].results
    assert not list(memory.memories.list(status=["superseded", "evicted"], category="bees"))


def test_a_playbook_counts_its_outcomes(memory: Client) -> None:
    book = memory.memories.write_playbook("Split a hive", steps=["Find the queen", "Move four frames"], trigger="May")
    counted = memory.memories.record_outcome(book.memory_id, success=True)
    assert isinstance(counted.memory, Playbook) and counted.memory.success_count == 1
    assert [each.id for each in memory.memories.list("procedural")] == [book.memory_id]


def test_what_was_said_in_a_session_is_consolidated(memory: Client) -> None:
    session = memory.sessions.create(title="Garden")
    said = memory.memories.write_episode("I moved to Coimbra.", session_id=session.id)
    assert isinstance(said.memory, Episode) and said.memory.session_id == session.id
    done = memory.consolidation.run()
    assert (done.episodes, done.waiting, done.error) == (1, 0, "")
    run = memory.consolidation.get(done.runs[0])
    assert run.episodes == [said.memory_id] and run in list(memory.consolidation.list())
    assert memory.sessions.rename(session.id, "Moving").title == "Moving"
    assert session.id in [each.id for each in memory.sessions.list(limit=1)]


def test_a_turn_is_answered_whole_or_as_a_stream(memory: Client) -> None:
    answer = memory.turns.create("I keep goats.")
    assert answer.answer and answer.notices
    with memory.turns.stream("What do I keep?", session_id=answer.session_id) as events:
        seen = list(events)
    assert isinstance(seen[0], TurnStarted) and isinstance(seen[-1], TurnFinished)
    assert seen[0].session_id == answer.session_id and any(isinstance(each, MemoriesRecalled) for each in seen)
    words = "".join(each.text for each in seen if isinstance(each, TextDelta))
    transcript = memory.sessions.get(answer.session_id)
    assert [turn.answer for turn in transcript.turns] == [answer.answer, words]
    assert list(memory.sessions.search(answer.session_id, "goats"))
    assert memory.sessions.end(answer.session_id).ended_at > transcript.created_at


def test_a_turn_that_is_sent_again_is_stored_once(memory: Client) -> None:
    turn = "5f0c5d0e-6c1b-4a52-9d0e-0d7c0f2f7a11"
    first = memory.turns.create("The gate squeaks.", turn_id=turn)
    again = memory.turns.create("The gate squeaks.", session_id=first.session_id, turn_id=turn)
    assert again.message_id == first.message_id


def test_the_working_memory_is_set_and_read(memory: Client) -> None:
    session = memory.sessions.create()
    memory.working_memory.set(session.id, goal="Build a hive", plan={"steps": ["Saw", "Glue"], "done": 1})
    slots = memory.working_memory.get(session.id)
    assert (slots.goal, slots.plan.current) == ("Build a hive", "Glue")


def test_forgetting_is_proposed_confirmed_undone_or_done_at_once(memory: Client) -> None:
    secret = memory.memories.write("Dreams of owning a lighthouse.")
    proposal = memory.forget_proposals.create([secret.memory_id])
    assert [each.id for each in proposal.goes] == [secret.memory_id]
    assert memory.forget_proposals.confirm(proposal.id).erase_at is not None
    assert memory.forget_proposals.undo(proposal.id).state == memory.forget_proposals.get(proposal.id).state
    gone = memory.memories.forget(secret.memory_id)
    assert [each.id for each in gone.erased] == [secret.memory_id]
    with pytest.raises(NotFound):
        memory.memories.get(secret.memory_id)


def test_a_contradiction_waits_for_a_person_and_is_decided(memory: Client) -> None:
    first = memory.memories.write("Is allergic to peanuts.")
    second = memory.memories.write("Is not allergic to peanuts.")
    assert second.result == "queued_for_review"
    (review,) = memory.reviews.list()
    assert [each.id for each in review.memories] == [first.memory_id, second.memory_id]
    assert memory.reviews.decide(review.id, "keep_both").decision == "keep_both"
    assert [each.id for each in memory.reviews.list(decided=True)] == [review.id]
    assert memory.reviews.undo(review.id).decision == "open"


def test_metadata_and_app_are_kept_and_filtered_by(url: str, person: Person) -> None:
    to_lisbon = {"field": "metadata.to", "op": "eq", "value": "Lisbon"}
    with Client(url, token=person.token, app="travel") as memory:
        trip = memory.memories.write("Flies in May.", metadata={"to": "Lisbon", "seats": [12, 14], "note": None})
        memory.memories.write("Flies in June.", metadata={"to": "Oslo"})
        assert trip.memory.metadata == {"to": "Lisbon", "seats": [12, 14], "note": None} and trip.memory.app == "travel"
        assert [fact.id for fact in memory.memories.list(filters=to_lisbon)] == [trip.memory_id]
        assert [item.id for item in memory.recall("When does she fly?", filters=to_lisbon).items] == [trip.memory_id]
        memory.memories.describe(trip.memory_id, {"to": "Faro"})
        assert not list(memory.memories.list(filters=to_lisbon))


def test_nobody_reaches_the_memory_of_another_member(memory: Client, stranger: Client) -> None:
    own = memory.memories.write("Hides the key under the third pot.")
    for call in (stranger.memories.get, stranger.memories.chain, stranger.memories.forget):
        with pytest.raises(NotFound):
            call(own.memory_id)
    assert not stranger.recall("Where is the key?").items


def test_errors_name_the_field_the_status_and_the_request(url: str, memory: Client) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.memories.write("", confidence=7)
    assert {each.field for each in refused.value.errors} == {"text", "confidence"}
    assert refused.value.status == 400 and refused.value.request_id
    with Client(url, token="mh_nothing") as stranger, pytest.raises(NotAuthenticated):
        stranger.recall("anything")


def test_the_asynchronous_client_makes_the_same_calls(url: str, person: Person) -> None:
    async def use() -> None:
        async with AsyncClient(url, token=person.token) as memory:
            written = await memory.memories.write("Sings in a choir.", category="music")
            assert (await memory.memories.get(written.memory_id)).text == "Sings in a choir."
            assert [fact.text async for fact in memory.memories.list(category="music")] == ["Sings in a choir."]
            assert [len(page.results) async for page in memory.memories.list(category="music").pages()] == [1]
            recalls = await asyncio.gather(*(memory.recall("What does she sing?") for _ in range(4)))
            assert {recall.items[0].text for recall in recalls} == {"Sings in a choir."}
            async with memory.turns.stream("Where do I sing?") as events:
                kinds = [event.type async for event in events]
            assert (kinds[0], kinds[-1]) == ("turn_started", "turn_finished")
            with pytest.raises(NotFound):
                await memory.memories.get("5f0c5d0e-6c1b-4a52-9d0e-0d7c0f2f7a11")

    asyncio.run(use())


@pytest.mark.parametrize("example", OF_A_MEMBER, ids=range(len(OF_A_MEMBER)))
def test_each_example_of_a_member_runs_as_it_is_written(example: str, url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        made = backend.for_user("alice").tokens.create("guide", scopes=SCOPES["TOKEN"])
    run(example, url, {"TOKEN": made.token})


def test_every_example_is_run() -> None:
    assert OF_A_KEY and len(OF_A_MEMBER) + len(OF_A_KEY) == len(EXAMPLES)


def run(example: str, url: str, names: dict[str, str]) -> None:
    """Run an example against this site, with these names."""
    exec(compile(example.replace("http://127.0.0.1:8000", url), "example", "exec"), names)  # noqa: S102 - ours
