"""Pushing a value that must not be stored through every edge, and looking for its bytes wherever something is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from hypothesis import strategies as st
from pytest_django import Settings

from memories.consolidation.material import Extraction, ExtractionFault, FaultKind, Material, ProposedFact
from memories.importing import ConversationSession, parse_memory
from memories.importing.conversations import ConversationTurn
from memories.models import Fact, Playbook, Session
from memories.recall.recording import flush
from memories.search.outbox import drain
from memories.services.consolidation import consolidate
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import import_sessions
from memories.types import Kind
from tests.factories import make_membership
from tests.memories.api.caller import Caller, caller_of
from tests.memories.hygiene.sensitivity import values as v
from tests.openai_server import KEY, Call, Say, openai_server

_RUN = re.compile(r"[^\W_]{10,}")
_BEFORE = ("", "It is ", "keep this: ", "Note for later\n", "¿Puedes guardar ", "my stuff (", '{"a": "')
_AFTER = ("", ".", " please", "\nthanks!", ")", '"}', ", ok?")


def _number(digits: int) -> st.SearchStrategy[str]:
    return st.integers(10 ** (digits - 1), 10**digits - 1).map(str)


def _card(rest: str, separator: str) -> v.Value:
    return v.card(f"4{rest}", "4444" if separator else "", separator)


def secrets() -> st.SearchStrategy[v.Value]:
    """Values of high severity with valid checksums, drawn anew each time."""
    seeds = st.integers(0, 10**6)
    return st.one_of(
        st.builds(_card, _number(14), st.sampled_from(["", " ", "-"])),
        seeds.map(lambda seed: v.github("ghp", seed)),
        seeds.map(lambda seed: v.token("gl" + "pat-", 20, seed)),
        seeds.map(lambda seed: v.token("sk_" + "live_", 24, seed)),
        seeds.map(v.web_token),
        seeds.map(lambda seed: v.private_key("EC PRIVATE", 2, seed)),
        _number(18).map(lambda number: v.iban("DE", number)),
    )


def wrapped() -> st.SearchStrategy[tuple[str, str]]:
    """What goes before and after a value."""
    return st.tuples(st.sampled_from(_BEFORE), st.sampled_from(_AFTER))


@dataclass
class Owner:
    """Somebody with a browser and a program, and a place to keep their value."""

    browser: Client
    caller: Caller

    def push(self, value: str, words: str) -> None:
        """Through API, chat, both imports and a consolidation; `words` hold the value."""
        self._by_api(value, words)
        self._by_chat(value, words)
        self._by_imports(value, words)
        for extractor in (_MakesUp(words), _BreaksOff(words)):
            consolidate(self.caller.principal, extractor=extractor)
        drain()
        flush()

    def _by_api(self, value: str, words: str) -> None:
        send, title = self.caller.send, within(200, words)
        session = send("POST", "sessions/", {"title": title}).json["id"]
        fact = send("POST", "memories/", {"text": f"Likes tea of {session}"}).json["memory_id"]
        howto = send("POST", "memories/", {"kind": "procedural", "title": f"T {session}", "steps": ["Go"]}).json
        episode = {"kind": "episodic", "session_id": session}
        playbook = {"kind": "procedural", "title": title, "trigger": words, "steps": [words]}
        slot = {"text": "x", "category": within(100, words), "scope": "task", "task": within(64, words)}
        calls: Iterable[tuple[str, str, dict[str, Any]]] = [
            ("POST", "memories/", {"text": words}),
            ("POST", "memories/", {"text": "x", "key": within(100, words), "reason": title}),
            ("POST", "memories/", slot),
            ("POST", "memories/", playbook),
            ("POST", "memories/", {"kind": "catalog", "title": title, "text": words}),
            ("POST", "memories/", episode | {"text": words, "context": words}),
            ("POST", "memories/", episode | {"text": "x", "speaker": within(100, words)}),
            ("PATCH", f"sessions/{session}/", {"title": title}),
            ("POST", f"sessions/{session}/turns/", {"message": words}),
            ("POST", "recall/", {"query": words, "task": within(64, words), "session_id": session}),
            ("PATCH", f"sessions/{session}/working-memory/", {"goal": words, "scratchpad": [words]}),
            ("POST", f"sessions/{session}/end/", {"outcome": words, "learned": [words]}),
            ("GET", f"memories/?{urlencode({'q': words, 'key': words})}", {}),
            ("POST", f"memories/{fact}/correct/", {"text": words, "reason": title}),
            ("POST", f"memories/{fact}/supersede/", {"text": words, "key": within(100, words)}),
            ("POST", f"memories/{fact}/confirm/", {"reason": title}),
            ("POST", f"memories/{howto['memory_id']}/outcome/", {"success": False, "refined_steps": [words]}),
            ("POST", f"memories/{fact}/retire/", {"reason": title}),
        ]
        for method, path, body in calls:
            answer = send(method, path, None if method == "GET" else body)
            assert answer.status < 500 and value not in answer.text

    def _by_chat(self, value: str, words: str) -> None:
        page = self.browser.post(reverse("chat:begin"), {"message": words}, follow=True)
        assert value not in page.content.decode()
        session = Session.objects.latest("created_at")
        self.browser.post(reverse("chat:send", args=[session.pk]), {"message": f"Again: {words}"})
        self.browser.post(reverse("chat:rename", args=[session.pk]), {"title": within(200, words)})
        fact = Fact.objects.current().latest("created_at")
        for what, field in (("correct", "text"), ("retire", "reason")):
            address = reverse(f"remember:{what}", kwargs={"kind": Kind.SEMANTIC, "memory_id": fact.pk})
            page = self.browser.post(address, {field: within(200, words)}, follow=True)
            assert value not in page.content.decode()

    def _by_imports(self, value: str, words: str) -> None:
        now = datetime.now(UTC)
        turns = (
            ConversationTurn("1", "1", words, now, context=words),
            ConversationTurn("2", "2", words, now, from_assistant=True, remembered=False),
        )
        import_sessions(self.caller.principal, [ConversationSession(words, turns, words)], source="jsonl")
        lines: list[dict[str, Any]] = [
            {"kind": "semantic", "text": words, "id": "1"},
            {"kind": "semantic", "text": "Fine", "id": "2", "supersedes": ["1"], "category": within(100, words)},
            {"kind": "procedural", "title": "x", "steps": [words], "id": "3"},
            {"kind": "episodic", "text": words, "id": f"4 {words}", "session": words, "speaker": within(100, words)},
        ]
        records = [parse_memory(line, place=f"line {place}") for place, line in enumerate(lines)]
        assert value not in repr(import_memories(self.caller.principal, records).left_out)


def within(limit: int, words: str) -> str:
    """The words where they fit; a part of a value is not that value."""
    return words if len(words) <= limit else "too long"


def replies(words: str) -> list[Call | Say]:
    """A model that calls every tool with the words, then says them."""
    tools: list[tuple[str, dict[str, Any]]] = [
        ("write_memory", {"text": words}),
        ("write_memory", {"kind": "procedural", "title": within(200, words), "steps": [words]}),
        ("recall_memory", {"query": words}),
        ("set_task", {"goal": words, "constraints": [words]}),
        ("update_plan", {"steps": [words]}),
        ("observe", {"text": words, "importance": "critical"}),
        ("note", {"text": words}),
        ("search_session", {"query": words}),
        ("finish_task", {"outcome": words, "learned": [words]}),
        (within(60, words), {words: words}),
    ]
    made = [(name, json.dumps(arguments)) for name, arguments in tools]
    return [Call(made[:4], text=words), Call(made[4:8]), Call(made[8:]), Say([words[:7], words[7:]])] * 20


def kept(value: str, index: Path, *told: str) -> list[str]:
    """Where the value, or a long unbroken run of it, is: the database's files, the index's, and what was told."""
    database = Path(str(connection.settings_dict["NAME"]))
    files = [*database.parent.glob(f"{database.name}*"), *index.rglob("*")]
    marks = [mark.casefold().encode() for mark in _marks(value)]
    looked_at = [(path.name, path.read_bytes()) for path in files if path.is_file()]
    looked_at += [("told", text.encode()) for text in told]
    return [f"{name}: {where}" for name, content in looked_at if (where := _around(marks, content))]


def _marks(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield from (run for run in _RUN.findall(value) if not run.isalpha())


def _around(marks: Iterable[bytes], content: bytes) -> str:
    """What stands around the first mark, for whoever has to find out who wrote it; empty if there is none."""
    lower = content.lower()
    places = [place for mark in marks if (place := lower.find(mark)) >= 0]
    return ascii(content[max(0, min(places) - 300) : min(places) + 200]) if places else ""


@dataclass
class _MakesUp:
    """An extractor that proposes the words as a fact, whatever was said."""

    words: str
    name: str = "makes up"

    def extract(self, material: Material) -> Extraction:
        facts = tuple(ProposedFact(self.words, (episode.id,)) for episode in material.episodes)
        return Extraction(facts, {"facts": [self.words]})


@dataclass
class _BreaksOff:
    """An extractor whose answer breaks off after the words."""

    words: str
    name: str = "breaks off"

    def extract(self, _material: Material) -> Extraction:
        raise ExtractionFault("It broke off.", FaultKind.UNUSABLE, output=f'{{"facts": ["{self.words}"')


def rows() -> int:
    """How much was stored meanwhile, so that a search of nothing does not pass."""
    return Fact.objects.count() + Playbook.objects.count() + Session.objects.count()


def push_and_look(
    value: v.Value, around: tuple[str, str], index: Path, log: pytest.LogCaptureFixture, configuration: Settings
) -> None:
    """Push the value through every edge, with a model on a socket that repeats it, and look for it everywhere."""
    words = value.text.join(around)
    membership = make_membership(role="admin")
    browser = Client()
    browser.force_login(membership.user)
    with openai_server(*replies(words)) as server:
        configuration.MEMORYHUB_MODEL, configuration.OPENAI_BASE_URL = "scripted", server.base_url
        configuration.OPENAI_API_KEY = KEY
        Owner(browser, caller_of(membership)).push(value.text, words)
    assert len(server.requests) >= 8 and rows() >= 5
    told = [json.dumps(server.requests, ensure_ascii=False), log.text]
    assert kept(value.text, index, *told) == []
