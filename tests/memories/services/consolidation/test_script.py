"""Two years of one person's talk through a model that reads well: all is learned, and all that it makes false ends.

The model answers by the script of tests/memories/english/script; everything else is real: the client, recall
(what it does not bring up cannot be superseded), the guards and the gates.
"""

from __future__ import annotations

from typing import Any

import pytest

from memories.models import ConsolidationRun
from memories.selectors.history.chains import verify_chains
from memories.services.consolidation import consolidate
from tests.factories import MakeMember, own_principal
from tests.faulty_model import extractor_at, record_of
from tests.memories.english.script import Expected, Said, load
from tests.memories.english.script.measure import measure
from tests.memories.english.script.stored import learned, tell
from tests.openai_server import Made, Say, openai_server, said_as_json

pytestmark = pytest.mark.django_db

SCRIPT = load()
BY_TEXT = {said.text: said for said in SCRIPT.statements}
# A model that is asked sixty times takes long; `make prove` asks it so, and the rules are read so everywhere.
TOGETHER = [
    pytest.param(1, id="turn by turn", marks=pytest.mark.proof),
    pytest.param(20, id="twenty at a time"),
]
TEXTS = SCRIPT.known_before | {fact.name: fact.text for said in SCRIPT.statements for fact in said.facts}


def read_well(request: dict[str, Any]) -> Say:
    """What the script expects of each episode of a batch, said in the labels of the question."""
    record = record_of(request)
    labels = {fact["text"]: fact["label"] for fact in record["facts"] if fact.get("current") != "no"}
    answer: dict[str, list[Any]] = {"facts": [], "ends": [], "playbooks": [], "outcomes": []}
    for episode in record["episodes"]:
        said = BY_TEXT[episode["text"]]
        for fact in said.facts:
            answer["facts"].append(_new(fact, episode["label"], labels))
            labels[fact.text] = f"N{len(answer['facts'])}"
        answer["ends"] += _ends(said, episode["label"], labels)
    return said_as_json(answer)


def _new(fact: Expected, episode: str, labels: dict[str, str]) -> dict[str, Any]:
    over = [TEXTS[name] for name in (*fact.replaces, *fact.makes_false)]
    return {
        "text": fact.text,
        "key": fact.key,
        "category": fact.category,
        "confidence": 1,
        "quote": fact.quote,
        "episodes": [episode],
        "supersedes": [labels[text] for text in over if text in labels],
        "contradiction": fact.kind.value,
        "valid_from": fact.valid_from,
        "valid_to": "",
    }


def _ends(said: Said, episode: str, labels: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "facts": [labels[TEXTS[name]] for name in end.names if TEXTS[name] in labels],
            "quote": end.quote,
            "episodes": [episode],
            "contradiction": end.kind.value,
            "valid_to": end.valid_to,
        }
        for end in said.ends
    ]


@pytest.mark.long
@pytest.mark.parametrize("batch", TOGETHER)
def test_a_model_that_reads_well_teaches_all_and_ends_all_that_became_false(
    make_member: MakeMember, batch: int
) -> None:
    principal = own_principal(make_member(name=SCRIPT.person))
    tell(principal, SCRIPT)
    with openai_server(Made(read_well)) as server, extractor_at(server) as extractor:
        report = consolidate(principal, extractor=extractor, batch=batch)
    assert (report.episodes, report.waiting, report.error) == (60, 0, "")
    score = measure(SCRIPT, learned(principal, SCRIPT))
    refused = [line for run in ConsolidationRun.objects.all() for line in run.decisions if line["verdict"] == "refused"]
    assert (score.missed, score.invented, score.wrong_ends, score.wrong_times, refused) == ([], [], [], [], [])
    assert (score.facts, score.ends, score.times) == (score.expected_facts, score.expected_ends, score.expected_times)
    assert verify_chains().ok
