"""The responder names the memories that its answers state, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memories import evaluation
from memories.agent.events import TurnFinished
from memories.agent.loop import run_turn
from memories.english.responder import Responder
from memories.models import Episode
from memories.presenting.lines import headline
from memories.selectors.sessions import TurnView, find_turn
from tenants.principal import Principal
from tests.memories.agent.conftest import started_of, text_of

pytestmark = pytest.mark.django_db

OFFLINE = json.loads((Path(evaluation.__file__).parent / "answers" / "offline.json").read_text())


def answered(principal: Principal, text: str, session: UUID | None = None) -> tuple[str, TurnView, int]:
    """The answer, the stored turn, and the number of sources that the last event tells."""
    events = list(run_turn(principal, text=text, session_id=session, model=Responder()))
    started, finished = started_of(events), events[-1]
    assert isinstance(finished, TurnFinished)
    return text_of(events), find_turn(principal, started.session_id, started.turn), finished.used


@pytest.mark.parametrize("conversation", OFFLINE, ids=[each["who"] for each in OFFLINE])
def test_a_careful_reader_finds_the_same_sources(principal: Principal, conversation: dict[str, Any]) -> None:
    session = None
    for turn in conversation["turns"]:
        answer, view, counted = answered(principal, turn["said"], session)
        session = view.session_id
        sources = [headline(each.memory) for each in view.made_from if each.memory]
        assert len(sources) == counted == len(turn["from"]), (turn["said"], answer, sources)
        assert all(any(part in source for source in sources) for part in turn["from"]), (answer, sources)


def test_a_second_fact_that_the_answer_adds_is_a_source_too(principal: Principal) -> None:
    for said in ("I live in Leeds", "I moved to York"):
        answered(principal, said)
    answer, view, _ = answered(principal, "Where do I live?")
    assert "York" in answer and "Leeds" in answer
    assert {headline(each.memory) for each in view.made_from if each.memory} == {"Lives in York", "Lives in Leeds"}


@pytest.mark.parametrize(
    "said", ["Hi there!", "Where do I live?", "ok", "What is 17 * 3?", "Thanks, that was helpful!"]
)
def test_what_only_asks_or_greets_is_stored_and_never_recalled(principal: Principal, said: str) -> None:
    _, first, _ = answered(principal, said)
    _, second, _ = answered(principal, said if said.endswith("?") else "What did I say there?", first.session_id)
    assert first.episode_id and not Episode.objects.get(pk=first.episode_id).recallable
    assert first.episode_id not in {each.memory_id for each in second.mentions}


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Leeds, did I tell you?",
        "Did I tell you I moved to Leeds?",
        "What can I eat now that I am vegan?",
        "Where should we meet, I broke my leg?",
        "Hello, my name is Bo",
        "The spare key is under the blue pot",
        "Wo wohne ich?",
        "Do you know my dog died?",
    ],
)
def test_what_may_hold_news_is_recalled(principal: Principal, said: str) -> None:
    _, view, _ = answered(principal, said)
    assert view.episode_id and Episode.objects.get(pk=view.episode_id).recallable
