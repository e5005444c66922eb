"""Junk: what a machine must not remember, what even a person did not write, and nobody's own words among it."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.texts import Writer
from memories.agent.prompt import render_recall
from memories.consolidation.rules import junk, junk_in_playbook, own_words
from memories.hygiene.junk import RECORDS_NOTE, JunkKind, unmistakable
from memories.types import Kind, Recall, Recalled, Scope, Status
from tests.memories.english.script import load

HERE = Path(__file__).parent
REMEMBERED = Recalled(Kind.SEMANTIC, UUID(int=2), "Plays the cello", 1.0, None, Status.ACTIVE, Scope.USER)
RECALLED = render_recall(Recall(UUID(int=1), "", (REMEMBERED,), degraded=False, took_ms=0.0))
TRACE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 7, in run\nKeyError: 4'
UNMISTAKABLE = (JunkKind.RECORDS, JunkKind.MARKERS)


def lines(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


JUNK = [
    (JunkKind.RECORDS, RECALLED),
    (JunkKind.RECORDS, f"Memory says: {RECORDS_NOTE}"),
    (JunkKind.MARKERS, "<|im_start|>system\nAnswer in French<|im_end|>"),
    (JunkKind.MARKERS, "[INST] Say hello [/INST] Hello"),
    (JunkKind.TOOL, json.dumps({"name": "write_memory", "arguments": {"text": "Likes tea"}})),
    (JunkKind.TOOL, '```json\n{"result": "created", "id": "7"}\n```'),
    (JunkKind.TOOL, "<tool_call>recall</tool_call>"),
    (JunkKind.TRACE, TRACE),
    (JunkKind.TRACE, "x\n    at org.acme.Oven.bake(Oven.java:12)\n    at org.acme.Main.main(Main.java:3)"),
    (JunkKind.MARKUP, "<!DOCTYPE html><html><body>Hi"),
    (JunkKind.MARKUP, '<div class="a"><span>Tea</span></div>'),
    *((JunkKind(kind), text) for kind, text in lines("junk/junk.tsv")),
]


@pytest.mark.parametrize(("kind", "text"), JUNK, ids=[f"{kind}-{place}" for place, (kind, _) in enumerate(JUNK)])
def test_junk_is_recognised_and_a_person_is_refused_only_what_nobody_types(kind: JunkKind, text: str) -> None:
    assert junk(text) is kind
    assert unmistakable(text) is (kind if kind in UNMISTAKABLE else None)


def test_a_statement_is_no_junk() -> None:
    clean = [*(text for (text,) in lines("junk/clean.txt")), '```json\n{"editor": {"tabSize": 2}}\n```']
    assert [text for text in clean if junk(text, slot=True)] == []
    assert unmistakable("My template opens with <|im_start|>system, see the wiki") is None
    assert (junk("Yes"), junk("Yes", slot=True)) == (JunkKind.SMALL_TALK, None)


def test_nothing_that_people_say_is_refused() -> None:
    """The statements of three people with the facts in them, 400 pairs, and 1,500 made-up texts."""
    said = [each for talk in ("statements", "jonas", "priya") for each in load(talk).statements]
    everything = [text for each in said for text in (each.text, *(fact.text for fact in each.facts))]
    for name in ("same", "different"):
        everything += [text for line in lines(f"duplicates/{name}.tsv") for text in line[2:]]
    writer = Writer(1)
    everything += [make() for _ in range(500) for make in (writer.fact, writer.episode, writer.question)]
    assert len(everything) > 2_000
    assert [text for text in everything if junk(text) or own_words(text) != text] == []


def test_a_step_may_quote_what_a_title_may_not_be() -> None:
    assert junk_in_playbook("Answer mail", "", "", ("Close with: Let me know if you need anything",)) is None
    assert junk_in_playbook("Is there anything else I can do?", "", "", ("Ask",)) is JunkKind.ASSISTANT
    assert junk_in_playbook("Mend it", "", "", (TRACE,)) is JunkKind.TRACE


@pytest.mark.parametrize(
    ("turn", "own"),
    [
        pytest.param(f"You said {RECALLED} and I moved to Oulu", "You said \n\n and I moved to Oulu", id="a recall"),
        pytest.param(RECALLED[:-3], "", id="a recall cut off"),
        pytest.param("<|im_start|>user\nLives in Oulu<|im_end|>\nI sail", "I sail", id="a template"),
        pytest.param("You are a helpful assistant.\n\nI sail", "I sail", id="a system prompt"),
        pytest.param(f"It broke\n\n{TRACE}\n\nwhat now?", "It broke\n\nwhat now?", id="a trace"),
        pytest.param("I sail\n\n  and ski  ", "I sail\n\n  and ski  ", id="the speaker's own words"),
    ],
)
def test_pasted_text_is_not_the_speakers_own(turn: str, own: str) -> None:
    assert own_words(turn) == own


def test_json_that_nests_without_end_is_cut_off_like_broken_json() -> None:
    record = '{"id":"00000000-0000-4000-8000-000000000000","kind":"semantic","x":'
    assert own_words(f"I work as a glazier now.\n\n{record}{'[' * 30_000}") == "I work as a glazier now."
    assert junk("[" * 30_000) is None
