"""A model that extracts every episode correctly, behind an endpoint that fails at random, and checks of the results.

A seed gives the same sequence of faults on every machine. Each episode is one planted fact, so that facts can be
counted.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from memories.consolidation.model import ModelExtractor
from memories.llm.json_answers import JsonAnswers
from memories.models import ConsolidationRun, Episode, EpisodeLedger, Fact, RunState
from memories.selectors.runs import list_runs
from memories.services.consolidation import consolidate, rerun
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal
from tests.openai_server import (
    KEY,
    PATIENCE_SECONDS,
    Call,
    Cut,
    Decline,
    HangUp,
    Made,
    OpenAIServer,
    Raw,
    Refuse,
    Reply,
    Say,
    Stall,
    Whole,
    client_at,
    openai_server,
    said_as_json,
)

SAID_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
# Unrelated facts: none repeats, replaces or refines another.
PLANTED = (
    "Plays the cello",
    "Keeps bees on the roof",
    "Owns a red canoe",
    "Collects maps of Iceland",
    "Speaks Basque with grandmother",
    "Has a sister called Nora",
    "Is allergic to peanuts",
    "Volunteers at the lifeboat station",
    "Bakes rye bread every Sunday",
    "Drives a van from 1987",
)


def record_of(request: dict[str, Any]) -> dict[str, Any]:
    """The batch in a request."""
    record: dict[str, Any] = json.loads(request["messages"][1]["content"])
    return record


def faithful(request: dict[str, Any]) -> dict[str, Any]:
    """A correct answer: each of the user's episodes as a fact with the same text."""
    facts = [
        {"text": told["text"], "quote": told["text"], "confidence": 1, "episodes": [told["label"]]}
        for told in record_of(request)["episodes"]
        if told["by"] == "user"
    ]
    return {"facts": facts, "ends": [], "playbooks": [], "outcomes": []}


def faithful_reply(request: dict[str, Any]) -> Say:
    """The correct answer as a stream."""
    return said_as_json(faithful(request))


READS_WELL = Made(faithful_reply)


@contextmanager
def extractor_at(
    server: OpenAIServer, *, stall_seconds: float = PATIENCE_SECONDS, retries: int = 0
) -> Iterator[ModelExtractor]:
    """The real extractor and client, with short timeouts."""
    options = {"stall_seconds": stall_seconds, "retry_seconds": 0, "retries": retries}
    with client_at(server.base_url, JsonAnswers, **options) as model:
        yield ModelExtractor(model)


def tell(principal: Principal, *texts: str, since: datetime = SAID_AT) -> None:
    """Store these texts as a member's episodes, an hour apart."""
    drafts = [EpisodeDraft(text, since + timedelta(hours=hour), principal.speaker) for hour, text in enumerate(texts)]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)


Fault = Callable[[random.Random, dict[str, Any]], Reply]


def _cut(chance: random.Random, request: dict[str, Any], *, politely: bool) -> Reply:
    stream = faithful_reply(request)
    return Cut(stream, chance.randrange(len(b"".join(stream.chunks()))), politely)


FAULTS: dict[str, Fault] = {
    "malformed": lambda chance, request: Say(["{" * chance.randint(1, 50)]),
    "prose": lambda chance, request: Say(["Certainly! Here is what I found."]),
    "another shape": lambda chance, request: said_as_json({"facts": [{"text": "Owns a yacht"}]}),
    "empty": lambda chance, request: Say([]),
    "over-long": lambda chance, request: Say(["x" * 20_000] * 2),
    "out of tokens": lambda chance, request: Say([json.dumps(faithful(request))[:-2]], finish="length"),
    "disconnected": lambda chance, request: _cut(chance, request, politely=False),
    "truncated": lambda chance, request: _cut(chance, request, politely=True),
    "stalled": lambda chance, request: Stall(faithful_reply(request), chance.randint(0, 3)),
    "no reply": lambda chance, request: HangUp(),
    "server error": lambda chance, request: Refuse(chance.choice((500, 502, 503))),
    "limit": lambda chance, request: Refuse(429, headers={"Retry-After": chance.choice(("0.001", "30", "soon"))}),
    "wrong key": lambda chance, request: Refuse(401, message=f"Incorrect API key {KEY}"),
    "bad request": lambda chance, request: Refuse(400),
    "refusal": lambda chance, request: Decline(),
    "filtered": lambda chance, request: Say(["{}"], finish="content_filter"),
    "tool call": lambda chance, request: Call([("write_memory", '{"text": "Owns a yacht"}')]),
    "nonsense": lambda chance, request: Raw(b"data: {nonsense\n\n"),
    "a web page": lambda chance, request: Raw(b"<html>Welcome</html>"),
}


@dataclass
class Chance:
    """Random replies: faults with probability `share`, else correct answers, some of them without streaming."""

    random: random.Random
    share: float
    drawn: Counter[str] = field(default_factory=Counter)

    def reply(self, request: dict[str, Any]) -> Reply:
        """The next reply."""
        if self.random.random() >= self.share:
            whole = self.random.random() < 0.3
            return Whole({"content": json.dumps(faithful(request))}) if whole else faithful_reply(request)
        name = self.random.choice(sorted(FAULTS))
        self.drawn[name] += 1
        return FAULTS[name](self.random, request)


def go_through(principal: Principal, seed: int) -> Counter[str]:
    """One random sequence: a member speaks, consolidations and reruns fail at random, then the endpoint recovers.

    After every step each episode was consolidated once, waits, or is in a failed run that can be repeated; at the end
    all are consolidated. Returns the faults that occurred.
    """
    chance = Chance(random.Random(seed), share=random.Random(seed).choice((0.3, 0.6, 0.9)))
    said = chance.random.sample(PLANTED, k=chance.random.randint(2, 5))
    with openai_server(Made(chance.reply)) as server:
        with extractor_at(server, stall_seconds=0.15, retries=chance.random.randint(0, 1)) as extractor:
            for text in said:
                tell(principal, text, since=SAID_AT + timedelta(days=said.index(text)))
                if chance.random.random() < 0.8:
                    consolidate(principal, extractor=extractor, batch=chance.random.randint(1, 5))
                    check(principal)
                for run in unsettled_runs(principal)[:1]:
                    rerun(principal, run.pk, extractor=extractor)
                    check(principal)
        server.script[:] = [READS_WELL]
        with extractor_at(server) as extractor:
            heal(principal, extractor)
    assert sorted(Fact.objects.of(principal).values_list("text", flat=True)) == sorted(said), f"seed {seed}"
    return chance.drawn


def unsettled_runs(principal: Principal) -> QuerySet[ConsolidationRun]:
    """Failed runs that were given up and that no successful rerun made good."""
    return list_runs(principal).filter(given_up=True).exclude(reruns__state=RunState.DONE)


def heal(principal: Principal, extractor: ModelExtractor) -> None:
    """Consolidate waiting episodes and repeat failed runs, with a working endpoint."""
    report = consolidate(principal, extractor=extractor)
    assert (report.waiting, report.given_up, report.error) == (0, 0, "")
    for run in unsettled_runs(principal):
        assert rerun(principal, run.pk, extractor=extractor).error == ""
    check(principal)
    assert not unsettled_runs(principal).exists()


def check(principal: Principal) -> None:
    """Check that the runs, the watermark and the facts of a member are consistent."""
    watermark = EpisodeLedger.objects.of(principal).get().consolidated
    runs = list(ConsolidationRun.objects.of(principal))
    assert not [run for run in runs if run.state == RunState.RUNNING]
    assert all(run.error for run in runs if run.state == RunState.FAILED)
    first_read = [run for run in runs if run.rerun_of_id is None]
    settled = {run.rerun_of_id for run in runs if run.state == RunState.DONE and run.rerun_of_id}
    learned = []
    for episode in Episode.objects.of(principal):
        read_by = [run for run in first_read if str(episode.pk) in run.input["episodes"]]
        done = [run for run in read_by if run.state == RunState.DONE]
        given_up = [run for run in read_by if run.given_up]
        assert len(done) + len(given_up) == int(episode.ordinal <= watermark)
        if done or any(run.pk in settled for run in given_up):
            learned.append(episode.text)
    assert sorted(Fact.objects.of(principal).values_list("text", flat=True)) == sorted(learned)
