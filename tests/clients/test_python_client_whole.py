"""Every method of the Python client against a real site, one test for each group; and what the server refuses."""

from __future__ import annotations

import asyncio
import functools
import http.server
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar
from unittest.mock import patch
from uuid import uuid4

import pytest

import memoryhub_client.resources
from memoryhub_client import (
    ApiError,
    AsyncClient,
    Client,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    etag_of,
)
from memoryhub_client.calls import _Method
from memoryhub_client.resources import (
    Audit,
    Consolidation,
    Erasures,
    Events,
    ForgetProposals,
    Holds,
    Items,
    Members,
    Memories,
    Operations,
    OwnErasure,
    Policies,
    Reviews,
    Root,
    Sessions,
    TenantAudit,
    Tokens,
    Turns,
    Webhooks,
    WorkingMemories,
)
from memoryhub_client.types import Fact, Playbook
from tests.clients.conftest import ENTRIES, Tenant
from tests.parts import serving
from tests.proofs.site import Person

pytestmark = pytest.mark.long

ENDS_WITHIN = 60.0
EARLIER = datetime(2025, 3, 1, tzinfo=UTC)
# Resources of which a test calls each method. Those of items are called in test_python_client_items.py.
COVERED: set[type] = {Items}

Test = Callable[..., None]


def calls_all_of(*resources: type) -> Callable[[Test], Test]:
    """The test calls each method of these resources."""
    COVERED.update(resources)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            called: set[Any] = set()
            bound = _Method._on

            def noted(method: Any, resource: Any, send: str) -> Any:
                called.add(method)
                return bound(method, resource, send)

            with patch.object(_Method, "_on", noted):
                test(*args, **kwargs)
            every = [(each, name, method) for each in resources for name, method in vars(each).items()]
            assert not [
                f"{each.__name__}.{name}"
                for each, name, method in every
                if isinstance(method, _Method) and method not in called
            ]

        return run

    return decorate


def test_every_method_of_every_resource_is_called() -> None:
    every = {getattr(memoryhub_client.resources, name) for name in memoryhub_client.resources.__all__}
    assert every == COVERED


@calls_all_of(Root)
def test_what_an_integration_calls_most(memory: Client) -> None:
    said = memory.messages([{"role": "user", "content": "I live in Porto."}], learn="now", return_context=True)
    assert said.context is not None and said.operation is not None
    batch = memory.messages_batch([{"messages": [{"role": "user", "content": "I keep goats."}], "learn": "off"}])
    assert [each.answer.session_id for each in batch.results if each.answer] != [said.session_id] and batch.stored == 1
    assert memory.context("Where do I live?").text and memory.recall("Where do I live?").items
    me = memory.me()
    assert me.member is not None and me.token is not None and "memory:decide" in me.scopes
    assert memory.version().api == "v1" and not list(memory.looks())


@calls_all_of(Memories, ForgetProposals)
def test_memories_from_their_first_word_to_their_end(url: str, tenant: Tenant) -> None:
    with Client(url, token=tenant.administrators[0]) as memory:
        memories = memory.memories
        home = memories.write("Lives in Porto.", key="home_city", learned_at=EARLIER)
        newer = memories.supersede(home.memory_id, "Lives in Braga.")
        assert [link.text for link in memories.chain(newer.memory_id).links] == ["Lives in Porto.", "Lives in Braga."]
        assert [each.text for each in memories.list(as_of=datetime(2025, 4, 1, tzinfo=UTC))] == ["Lives in Porto."]
        viola = memories.write("Plays the viola.")
        cello = memories.correct(viola.memory_id, "Plays the cello.").memory_id
        assert memories.pin(cello).pinned and memories.confirm(cello).last_verified_at
        assert memories.describe(cello, {"since": 2019}).metadata == {"since": 2019}
        assert memories.promote(cello, "tenant").memory.scope == "tenant"
        assert memories.retire(cello).memory.status == "superseded"
        assert memories.undo(cello).memory.text == "Plays the cello."
        assert memories.write_catalog_entry("Opening hours", "From nine to five.").memory.kind == "catalog"
        assert all(isinstance(each, Fact) for each in memories.to_confirm())

        session = memory.sessions.create()
        heard = memories.write_episode("The hive hums.", session_id=session.id)
        book = memories.write_playbook("Split a hive", steps=["Find the queen", "Wait"]).memory_id
        worked = memories.record_outcome(book, success=True, supporting_episode_ids=[heard.memory_id])
        assert isinstance(worked.memory, Playbook) and worked.memory.success_count == 1
        lines: list[dict[str, Any]] = [
            {"kind": "procedural", "text": "Feed", "title": "Feed", "steps": ["Sugar", "Water"], "proposed": True},
            {"kind": "semantic", "text": "Kept ducks.", "status": "evicted", "learned_at": "2025-01-01T00:00:00Z"},
        ]
        file = "\n".join(map(json.dumps, lines)).encode()
        assert [each.text for each in memories.import_(file, dry_run=True).examples]
        assert memories.import_(file).added == {"procedural": 1, "semantic": 1}
        (idea,) = [each for each in memories.list("procedural") if isinstance(each, Playbook) and each.proposed]
        assert not memories.accept(idea.id).proposed
        (ducks,) = memories.list(status=["evicted"])
        assert memories.restore(ducks.id).status == "active" == memories.get(ducks.id).status
        assert len(memories.export().splitlines()) >= 6

        proposal = memory.forget_proposals.create([ducks.id])
        assert memory.forget_proposals.keep(proposal.id).state == "kept"
        again = memory.forget_proposals.create([ducks.id])
        assert memory.forget_proposals.confirm(again.id).erase_at
        assert memory.forget_proposals.undo(again.id).state == memory.forget_proposals.get(again.id).state
        assert [each.id for each in memories.forget(ducks.id).erased] == [ducks.id]
        assert memories.batch([{"text": "Keeps bees."}]).stored == 1
        assert memories.forget_all(confirm=memories.forget_all(dry_run=True).confirm).complete
        assert not list(memories.list())


def test_a_batch_has_a_result_for_each_entry(memory: Client) -> None:
    done = memory.memories.batch(
        [
            {"text": "Lives in Porto.", "key": "home_city", "learned_at": EARLIER},
            {"text": ""},
            {"kind": "procedural", "title": "Split a hive", "steps": ["Find the queen"]},
        ]
    )
    assert (done.stored, done.refused, [each.status for each in done.results]) == (2, 1, [201, 400, 201])
    assert done.results[1].problem is not None and "text" in done.results[1].problem["detail"]


def test_everything_is_forgotten_after_a_count(memory: Client) -> None:
    memory.memories.batch([{"text": f"Keeps hive {number}.", "category": "bees"} for number in range(3)])
    memory.memories.write("Plays the cello.")
    bees = {"field": "category", "op": "eq", "value": "bees"}
    with pytest.raises(InvalidInput):
        memory.memories.forget_all(filters=bees)
    count = memory.memories.forget_all(dry_run=True, filters=bees)
    assert count.dry_run and count.kinds["semantic"] == count.memories == 3
    assert memory.memories.forget_all(confirm=count.confirm, filters=bees).complete
    assert [each.text for each in memory.memories.list()] == ["Plays the cello."]


@calls_all_of(Sessions, WorkingMemories, Turns)
def test_sessions_with_their_turns_and_working_memory(memory: Client) -> None:
    session = memory.sessions.create(title="Garden")
    answer = memory.turns.create("I keep goats.", session_id=session.id)
    with memory.turns.stream("What do I keep?", session_id=session.id) as events:
        assert [event.type for event in events][-1] == "turn_finished"
    transcript = memory.sessions.get(session.id)
    assert [turn.turn for turn in transcript.turns] == [answer.turn, answer.turn + 1]
    assert memory.working_memory.set(session.id, goal="Fence").goal == memory.working_memory.get(session.id).goal
    assert list(memory.sessions.search(session.id, "goats"))
    assert memory.sessions.rename(session.id, "Goats").title in [each.title for each in memory.sessions.list()]
    assert memory.sessions.end(session.id, outcome="Done.").ended_at > session.created_at
    assert memory.sessions.forget(session.id).erased
    with pytest.raises(NotFound):
        memory.sessions.get(session.id)


@calls_all_of(Consolidation, Operations, Reviews)
def test_what_is_learned_and_what_waits_for_a_person(memory: Client) -> None:
    session = memory.sessions.create()
    memory.memories.write_episode("I moved to Coimbra.", session_id=session.id)
    done = memory.consolidation.run()
    assert memory.consolidation.get(done.runs[0]).id in [run.id for run in memory.consolidation.list()]
    assert memory.consolidation.rerun(done.runs[0]).episodes == 1

    started = memory.messages([{"role": "user", "content": "I keep goats."}]).operation
    assert started is not None and memory.operations.wait(started.id).state == "done"
    assert memory.operations.get(started.id).id in [each.id for each in memory.operations.list()]
    for refused in (memory.operations.cancel, memory.operations.retry):
        with pytest.raises(Conflict):
            refused(started.id)

    memory.memories.write("Is allergic to peanuts.")
    memory.memories.write("Is not allergic to peanuts.")
    (review,) = memory.reviews.list()
    assert memory.reviews.decide(review.id, "keep_both").decided_at
    assert memory.reviews.undo(review.id).decision == memory.reviews.get(review.id).decision == "open"


@calls_all_of(Members, Tokens)
def test_members_and_tokens(url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        assert backend.members.create("alice", name="Alice").active
        backend.for_user("alice").memories.write("Keeps bees.")
        assert backend.members.export("alice", reason="She asked for it.").state == "approved"
        assert backend.members.download("alice").startswith(b"PK")
        assert backend.members.forget_memories("alice").memories == 1
        assert backend.members.change("alice", name="Alicia").name == backend.members.get("alice").name == "Alicia"
        assert backend.members.erase("alice", reason="She left.").id == backend.members.erasure("alice").id
        assert [each.user_id for each in backend.members.list(active=True)] == ["alice"]

        made = backend.tokens.create("reader", scopes=["memory:read"])
        assert made.id in [each.id for each in backend.tokens.list()]
        assert backend.tokens.rotate(made.id).token != made.token
        assert backend.tokens.revoke(made.id).state == backend.tokens.get(made.id).state


@calls_all_of(OwnErasure)
def test_a_member_asks_for_their_own_erasure_and_withdraws_it(memory: Client) -> None:
    asked = memory.own_erasure.ask(reason="No more.")
    assert memory.own_erasure.get().id == asked.id and asked.begins_at is not None
    assert memory.own_erasure.withdraw().state == "refused"


@calls_all_of(Audit, TenantAudit, Policies, Erasures, Holds)
def test_administrators_hold_erase_and_audit(url: str, tenant: Tenant) -> None:
    ann, ben = (Client(url, token=each) for each in tenant.administrators)
    alice = Client(url, token=tenant.key, user_id="alice")
    with ann, ben, alice:
        fact = alice.memories.write("Keeps bees.").memory_id
        (created,) = alice.audit.list(action="fact.created", memory=fact)
        assert alice.audit.get(created.id).after is not None and alice.audit.verify().ok

        hold = ann.holds.create(user_id="alice", reason="A dispute.")
        with pytest.raises(Conflict):
            alice.memories.forget(fact)
        assert [each.id for each in ann.holds.list()] == [ann.holds.get(hold.id).id]
        assert ann.holds.release(hold.id, reason="It is settled.").released_at
        assert [each.id for each in ann.holds.list(released=True)] == [hold.id]

        refused = ann.erasures.create("alice", reason="By mistake.")
        assert ann.erasures.withdraw(refused.id).state == "refused"
        asked = ann.erasures.create("alice", reason="She left.")
        with pytest.raises(Forbidden):
            ann.erasures.approve(asked.id)
        assert ben.with_options(if_match=etag_of(ben.erasures.get(asked.id))).erasures.approve(asked.id).begins_at
        until(lambda: ann.erasures.get(asked.id).state == "done")
        assert {each.id: each.has_receipt for each in ann.erasures.list()} == {asked.id: True, refused.id: False}
        assert ann.erasures.receipt(asked.id).signature and ann.erasures.verify(asked.id).ok

        written = alice.for_user("Žofie, 3").memories.write("Keeps goats.").memory_id
        (event,) = ann.tenant_audit.list(user_id="Žofie, 3", memory=written)
        assert ann.tenant_audit.get(event.id, reason="They asked.").target_id == written
        assert ann.tenant_audit.verify().ok and ann.tenant_audit.verify(user_id="Žofie, 3").ok

        policy = ann.policy.get()
        assert policy.categories == [] and policy.recall_items is None
        assert ann.policy.change({"categories": ["bees"], "recall_items": 5}).recall_items == 5
        with pytest.raises(PreconditionFailed):
            ann.with_options(if_match=etag_of(policy)).policy.change({"recall_items": None})
        assert ann.policy.change({"recall_items": None}).recall_items is None


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what a webhook sends."""

    got: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.headers["webhook-id"], json.loads(body)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@calls_all_of(Events, Webhooks)
def test_what_happens_is_read_and_sent(url: str, key: str) -> None:
    with serving(Receiver) as port, Client(url, token=key) as backend:
        start = backend.events.read()
        hook = backend.webhooks.create(f"http://127.0.0.1:{port}/hook", types=["memory.created"])
        assert hook.secret.startswith("whsec_")
        fact = backend.for_user("alice").memories.write("Keeps bees.").memory_id
        (event,) = backend.events.read(start.next_cursor, types=["memory.created"]).results
        assert (event.data.id, event.data.user_id, event.data.actor) == (fact, "alice", "key")
        until(lambda: bool(list(backend.webhooks.deliveries(hook.id, state="delivered"))))
        assert Receiver.got[0][0] == event.id and Receiver.got[0][1]["data"]["id"] == fact
        assert backend.webhooks.replay(hook.id, cursor=start.next_cursor).id == hook.id
        until(lambda: [each for each, _ in Receiver.got] == [event.id, event.id])
        assert not backend.webhooks.change(hook.id, enabled=False, description="Off").enabled
        assert backend.webhooks.rotate(hook.id, grace_hours=1).secret != hook.secret
        assert [each.id for each in backend.webhooks.list()] == [backend.webhooks.get(hook.id).id]
        backend.webhooks.delete(hook.id)
        assert not list(backend.webhooks.list())


def test_a_change_of_what_changed_meanwhile_is_refused(memory: Client) -> None:
    home = memory.memories.write("Lives in Porto.")
    read = memory.memories.get(home.memory_id)
    unchanged = memory.with_options(if_match=etag_of(read))
    assert unchanged.memories.pin(home.memory_id).pinned
    with pytest.raises(PreconditionFailed) as refused:
        unchanged.memories.supersede(home.memory_id, "Lives in Braga.")
    assert refused.value.type == "precondition-failed" and refused.value.status == 412
    assert memory.memories.get(home.memory_id).status == "active"
    with pytest.raises(ValueError, match="no ETag"):
        etag_of(home)


def test_a_change_is_made_once_for_its_key(memory: Client) -> None:
    once = memory.with_options(idempotency_key=str(uuid4()))
    assert once.sessions.create(title="One").id == once.sessions.create(title="One").id
    with pytest.raises(ApiError) as refused:
        once.sessions.create(title="Two")
    assert refused.value.type == "key-reused"


def test_the_asynchronous_client_makes_the_same_calls(url: str, person: Person) -> None:
    async def use() -> None:
        async with AsyncClient(url, token=person.token) as memory:
            done = await memory.memories.batch([{"text": "Keeps bees."}])
            fact = done.results[0].id or ""
            unchanged = memory.with_options(if_match=etag_of(await memory.memories.get(fact)))
            assert (await unchanged.memories.pin(fact)).pinned
            with pytest.raises(PreconditionFailed):
                await unchanged.memories.retire(fact)
            assert (await memory.memories.import_(await memory.memories.export())).added == {}
            assert [event.data.id for event in (await memory.events.read(types=["memory.created"])).results] == [fact]

    asyncio.run(use())


def test_nobody_reaches_what_is_another_tenant_s(url: str, key: str, tenant: Tenant) -> None:
    with Client(url, token=key) as backend, Client(url, token=tenant.key) as other:
        hook = other.webhooks.create("http://127.0.0.1:9999/")
        other.for_user("alice").memories.write("Keeps bees.")
        event = next(iter(other.tenant_audit.list()))
        (token, *_) = other.tokens.list()
        calls: list[Callable[[], object]] = [
            lambda: backend.webhooks.get(hook.id),
            lambda: backend.webhooks.rotate(hook.id),
            lambda: backend.tokens.revoke(token.id),
            lambda: backend.members.get("alice"),
            lambda: backend.for_user("bob").audit.get(event.id),
            lambda: backend.tenant_audit.get(event.id),
        ]
        for call in calls:
            with pytest.raises(NotFound):
                call()
        assert not backend.events.read(since=EARLIER, types=["memory.created"]).results


def test_bad_input_names_its_place(memory: Client, url: str, key: str) -> None:
    with Client(url, token=key) as backend:
        refused: dict[str, Callable[[], object]] = {
            "url": lambda: backend.webhooks.create("https://10.0.0.1/"),
            "cursor": lambda: memory.events.read("nonsense"),
            "status": lambda: list(memory.memories.list(as_of=EARLIER, status=["active"])),
            "confirm": lambda: memory.memories.forget_all(confirm="nonsense"),
            "file": lambda: memory.memories.import_(b""),
        }
        for field, call in refused.items():
            with pytest.raises(InvalidInput) as error:
                call()
            assert field in [each.field for each in error.value.errors]


def test_a_limit_of_use_says_when_to_come_back(memory: Client) -> None:
    with pytest.raises(QuotaExceeded) as refused:
        memory.memories.batch([{"text": f"Keeps hive {number}."} for number in range(ENTRIES + 1)])
    assert refused.value.retry_after and refused.value.problem["violated-policies"] == ["token-entries"]
    assert not list(memory.memories.list())


def until(ready: Callable[[], bool]) -> None:
    """Wait for what a worker does; AssertionError if it takes too long."""
    deadline = time.monotonic() + ENDS_WITHIN
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.2)
