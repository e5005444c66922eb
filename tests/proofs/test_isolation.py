"""Random operations of many owners in several tenants: nobody is ever shown, or can touch, what is somebody else's."""

from __future__ import annotations

import json
import logging
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from rich.progress import track

from memories.errors import Conflict, NotFound
from memories.models import MEMORY_MODELS
from memories.recall.pipeline import recall
from memories.search import outbox
from memories.selectors.history.chains import verify_chains
from memories.selectors.memories import chain_of, find_memory, get_memory, list_memories, messages_using
from memories.selectors.sessions import get_session, list_sessions, transcript
from memories.services.erasure.forget import forget, forget_session, preview_forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.portability.memories_export import export_memories
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import rename_session
from memories.services.sessions.turns import begin_turn
from memories.types import Contradiction, Kind, Scope
from tenants.audit.chain import verify_all
from tests.proofs.world import Resident, World

SEED = 20
FIRST_MEMORIES = 20
API_ATTEMPTS: list[tuple[str, str, dict[str, object]]] = [
    ("GET", "", {}),
    ("GET", "chain/", {}),
    ("DELETE", "?cascade=true", {}),
    ("POST", "correct/", {"text": "Mine"}),
    ("POST", "supersede/", {"text": "Mine"}),
    ("POST", "retire/", {}),
    ("POST", "undo/", {}),
    ("POST", "promote/", {"to": "user"}),
    ("POST", "pin/", {"pinned": True}),
]


@pytest.fixture
def world(db: None, caplog: pytest.LogCaptureFixture) -> World:
    """Every owner with some memories, all of them searchable."""
    caplog.set_level(logging.ERROR, "django.request")  # refusals are what is asked for here
    world = World(random.Random(SEED))
    for _ in range(FIRST_MEMORIES):
        for resident in world.residents:
            world.remember(resident)
    outbox.drain()
    return world


def test_nobody_is_shown_or_touches_what_is_another_owners(world: World, client: Client, fuzz: int) -> None:
    acts = [write, change, look, look, ask, ask, ask_the_api, ask_the_api, open_pages, steal, steal, steal_by_api]
    for _ in track(range(fuzz), description="isolation"):
        resident = world.chance.choice(world.residents)
        world.chance.choice(acts)(world, resident, client)
    for resident in world.residents:
        for kind in (Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL):
            stored = set(MEMORY_MODELS[kind].objects.of(resident.principal).values_list("pk", flat=True))
            assert stored == resident.memories[kind]
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())


def write(world: World, resident: Resident, _: Client) -> None:
    """Store something; now and then let the search plane catch up."""
    world.remember(resident)
    if world.chance.random() < 0.3:
        outbox.drain()


def change(world: World, resident: Resident, _: Client) -> None:
    """Correct, retire or forget something of one's own."""
    kind, id_ = world.chance.choice(resident.all_ids())
    who, roll = resident.principal, world.chance.random()
    try:
        if roll < 0.3:
            resident.memories[kind] -= {pk for of, pk in forget(who, kind=kind, memory_id=id_).erased if of is kind}
        elif kind is not Kind.EPISODIC and roll < 0.6:
            retire(who, kind=kind, memory_id=id_)
        elif kind is not Kind.EPISODIC:
            text = f"{world.writer.fact()} {resident.word}"
            resident.memories[kind].add(correct(who, kind=kind, memory_id=id_, text=text).memory_id)
    except Conflict:
        pass  # it was replaced before: the answer is about the resident's own memory


def look(world: World, resident: Resident, _: Client) -> None:
    """Read lists, histories and transcripts, asking for somebody else's word."""
    who, wanted = resident.principal, world.another(resident).word
    for kind in Kind:
        assert not [*list_memories(who, kind, query=wanted)]
        rows = list(list_memories(who, kind))
        assert not world.leaks(resident, [(row.searchable_text, getattr(row, "category", "")) for row in rows])
    assert not world.leaks(resident, [session.title for session in list_sessions(who)])
    assert not world.leaks(resident, list(export_memories(who, catalog=True)))
    for kind, id_ in world.chance.sample(resident.all_ids(), 3):
        if kind is not Kind.EPISODIC:
            assert not world.leaks(resident, chain_of(who, kind, id_))
    if resident.sessions:
        assert not world.leaks(resident, transcript(who, world.chance.choice(resident.sessions)))


def ask(world: World, resident: Resident, _: Client) -> None:
    """Recall with somebody else's words, in every way."""
    other = world.another(resident)
    answer = recall(
        resident.principal,
        world.chance.choice([world.writer.question(), f"{world.writer.question()} {other.word}", other.word]),
        limit=world.chance.choice([5, 100]),
        include_superseded=world.chance.random() < 0.5,
        as_of=timezone.now() - timedelta(seconds=world.chance.random()) if world.chance.random() < 0.3 else None,
        session_id=world.chance.choice(other.sessions) if other.sessions else None,
        exclude_episode_ids=tuple(other.memories[Kind.EPISODIC])[:3],
    )
    assert not world.leaks(resident, answer.items)


def ask_the_api(world: World, resident: Resident, client: Client) -> None:
    """The same over HTTP, with the resident's token."""
    bearer = {"Authorization": f"Bearer {resident.token}"}
    body = {"query": world.writer.question(), "limit": 100, "include_superseded": True}
    answer = client.post("/api/v1/recall/", body, content_type="application/json", headers=bearer)
    assert answer.status_code == 200, answer.content
    assert not world.leaks(resident, answer.content)
    for address in ("memories/?kind=semantic", "memories/?kind=episodic", "sessions/", "memories/?kind=catalog"):
        answer = client.get(f"/api/v1/{address}", headers=bearer)
        assert answer.status_code == 200, answer.content
        assert not world.leaks(resident, answer.content)


def open_pages(world: World, resident: Resident, client: Client) -> None:
    """The member's pages, one's own and somebody else's."""
    client.force_login(resident.user)
    other = world.another(resident)
    own = [f"/remember/{kind}/" for kind in ("facts", "how-tos", "events")]
    for address in ["/", "/remember/", "/chat/all/", *own]:
        assert not world.leaks(resident, client.get(address, follow=True).content)
    kind, id_ = world.chance.choice(other.all_ids())
    sessions = [f"/chat/{session}/" for session in other.sessions]
    for address in [*sessions, *(f"/remember/{of}/{id_}/" for of in ("facts", "how-tos", "events"))]:
        assert client.get(address).status_code == 404, (kind, address)


def steal(world: World, resident: Resident, _: Client) -> None:
    """Name somebody else's memory or session in every call that takes one: it is not there."""
    other = world.another(resident)
    kind, id_ = world.chance.choice(other.all_ids())
    assert not messages_using(resident.principal, id_).exists()
    for attempt in attempts_on_memory(resident, kind):
        assert refusal(attempt, id_) == refusal(attempt, uuid.uuid4())
    for session in other.sessions[:1]:
        for on_session in attempts_on_session(resident):
            assert refusal(on_session, session) == refusal(on_session, uuid.uuid4())


def attempts_on_memory(resident: Resident, kind: Kind) -> Iterator[Callable[[UUID], object]]:
    """Calls that take the id of a memory."""
    who = resident.principal
    yield lambda id_: get_memory(who, kind, id_)
    yield lambda id_: find_memory(who, id_)
    yield lambda id_: preview_forget(who, kind=kind, memory_id=id_, cascade=True, sources=True)
    yield lambda id_: forget(who, kind=kind, memory_id=id_, cascade=True, sources=True)
    yield lambda id_: remember_fact(who, text=f"Mine {resident.word}", supporting_episode_ids=[id_])
    yield lambda id_: remember_fact(who, text=f"Mine {resident.word}", supersedes_ids=[id_])
    if kind is not Kind.EPISODIC:
        yield lambda id_: chain_of(who, kind, id_)
        yield lambda id_: correct(who, kind=kind, memory_id=id_, text=f"Mine {resident.word}")
        yield lambda id_: retire(who, kind=kind, memory_id=id_)
        yield lambda id_: undo(who, kind=kind, memory_id=id_)
        yield lambda id_: promote(who, kind=kind, memory_id=id_, to=Scope.USER)
        yield lambda id_: supersede(who, old_ids=[id_], text=f"Mine {resident.word}", contradiction=Contradiction.HARSH)
    if kind is Kind.SEMANTIC:
        yield lambda id_: pin_fact(who, fact_id=id_, pinned=True)


def attempts_on_session(resident: Resident) -> Iterator[Callable[[UUID], object]]:
    """Calls that take the id of a session."""
    who = resident.principal
    yield lambda id_: get_session(who, id_)
    yield lambda id_: transcript(who, id_)
    yield lambda id_: rename_session(who, session_id=id_, title="Mine")
    yield lambda id_: forget_session(who, session_id=id_, cascade=True)
    yield lambda id_: remember_episode(who, session_id=id_, text="Mine")
    yield lambda id_: begin_turn(who, session_id=id_, text="Mine")


def refusal(attempt: Callable[[UUID], object], id_: UUID) -> str:
    """What whoever names an id that is not theirs is told."""
    with pytest.raises(NotFound) as refused:
        attempt(id_)
    return str(refused.value)


def steal_by_api(world: World, resident: Resident, client: Client) -> None:
    """The same over HTTP: a foreign id and an unknown one get the same answer."""
    kind, id_ = world.chance.choice(world.another(resident).all_ids())
    for method, path, body in API_ATTEMPTS:
        answers = []
        for target in (id_, uuid.uuid4()):
            answer = client.generic(
                method,
                f"/api/v1/memories/{target}/{path}",
                data=json.dumps(body),
                content_type="application/json",
                headers={"Authorization": f"Bearer {resident.token}", "X-Request-ID": "the-same-request"},
            )
            assert answer.status_code == 404, (kind, method, path, answer.content)
            answers.append(answer.content.decode().replace(str(target), "ID"))
        assert answers[0] == answers[1]
