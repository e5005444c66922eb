"""`manage.py consolidate`: a member's episodes now, the runs with their reasons, one again."""

from __future__ import annotations

import json
import uuid

import pytest
from django.core.management.base import CommandError

from memories.consolidation.material import FaultKind
from memories.models import ConsolidationRun, Fact
from tenants.principal import Principal
from tests.memories.management.conftest import Run
from tests.memories.services.consolidation.conftest import ScriptedExtractor, Step, fault, literally, tell

pytestmark = pytest.mark.django_db


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps of the extractor that the installation is given."""
    steps: list[Step] = [literally]
    extractor = ScriptedExtractor(steps)
    monkeypatch.setattr("memories.services.consolidation.running.consolidation_extractor", lambda: extractor)
    return steps


def test_it_says_what_came_of_the_episodes(
    run: Run, named: tuple[str, str], principal: Principal, scripted: list[Step]
) -> None:
    tell(principal, "Plays the cello", "Keeps bees")
    assert run("consolidate", *named).strip() == "2 episodes consolidated: 2 created. 0 wait."
    assert run("consolidate", *named).strip() == "0 episodes consolidated: nothing new. 0 wait."


def test_the_runs_and_their_decisions_are_shown_without_words_of_the_member(
    run: Run, named: tuple[str, str], principal: Principal, scripted: list[Step]
) -> None:
    tell(principal, "Plays the cello")
    run("consolidate", *named)
    (run_id,) = ConsolidationRun.objects.values_list("pk", flat=True)
    listed, told = run("consolidate", *named, "--runs"), run("consolidate", *named, f"--show={run_id}")
    assert "cello" not in listed + told and str(run_id) in listed
    assert all(words in told for words in (str(Fact.objects.get().pk), "said by the user", "scripted"))
    shown = json.loads(run("consolidate", *named, f"--show={run_id}", "--json"))
    assert (shown["stored"], shown["refused"], shown["decisions"][0]["verdict"]) == (1, 0, "created")
    assert "cello" in shown["output"]["proposals"][0]


def test_a_fault_ends_with_code_1_and_what_was_given_up_is_read_again(
    run: Run, named: tuple[str, str], principal: Principal, scripted: list[Step]
) -> None:
    tell(principal, "Plays the cello")
    scripted[:] = [fault(FaultKind.REFUSED)]
    with pytest.raises(SystemExit) as ended:
        run("consolidate", *named)
    assert ended.value.code == 1
    listed = json.loads(run("consolidate", *named, "--runs", "--json"))
    (given_up,) = listed["runs"]
    assert given_up["given_up"] and given_up["error"] == "The model said no."
    scripted[:] = [literally]
    assert json.loads(run("consolidate", *named, f"--rerun={given_up['id']}", "--json"))["decisions"] == {"created": 1}


@pytest.mark.parametrize(
    "arguments", [[f"--show={uuid.uuid4()}"], [f"--rerun={uuid.uuid4()}"], ["--batch=0"], [f"--batch={10**20}"]]
)
def test_what_cannot_be_done_is_one_sentence(run: Run, named: tuple[str, str], arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"^(No such run\.|--batch: must be between 1 and 10,000\.)$"):
        run("consolidate", *named, *arguments)
