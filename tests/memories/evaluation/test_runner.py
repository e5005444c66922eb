"""A measurement goes through the product, and leaves the configured database alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.evaluation.cases import Form, parse_cases
from memories.evaluation.runner import run
from memories.management.commands.eval_recall import measure
from memories.management.member_command import progress
from memories.models import Fact, RecallTrace
from memories.search import search_plane
from tenants.models import Tenant
from tests.factories import mint_at_once
from tests.memories.evaluation.test_cases import CONVERSATION, MEMBER


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    mint_at_once(monkeypatch)


@pytest.mark.django_db
def test_a_conversation_is_measured_through_the_product() -> None:
    measured = run(parse_cases([CONVERSATION], Form.LOCOMO), watch=progress)
    assert measured.keys() == {"questions", "recall", "mrr", "by_category", "latency_ms", "settings"}
    assert (measured["questions"], measured["recall"]["5"]) == (2, 1.0)
    assert measured["settings"]["search"] == search_plane().name


@pytest.mark.django_db
def test_superseded_facts_answer_questions_about_the_past_alone() -> None:
    measured = run(parse_cases(MEMBER, Form.MEMORIES), watch=progress)
    assert measured["by_category"].keys() == {"semantic", "temporal"}
    assert measured["recall"]["5"] == 1.0
    assert measured["by_category"]["semantic"]["recall"]["1"] == 1.0, "the old city is hidden"
    assert measured["unanswerable"]["questions"] == 1
    assert not RecallTrace.objects.exists() and not Fact.objects.filter(use_count__gt=0).exists(), "none is counted"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one conversation."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CONVERSATION]))
    return path


@pytest.mark.long
@pytest.mark.django_db
def test_the_command_measures_in_a_place_of_its_own(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("eval_recall", file, "--format", "locomo", "--conversations", "0", "--json")
    measured: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (measured["questions"], measured["recall"]["20"]) == (2, 1.0)
    assert not Tenant.objects.exists(), "the configured database is not touched"


@pytest.mark.django_db
def test_the_command_prints_a_table_for_people(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = json.dumps(run(parse_cases([CONVERSATION], Form.LOCOMO), watch=progress))
    monkeypatch.setattr("memories.management.commands.eval_recall.measure", lambda _arguments: measured)
    call_command("eval_recall", file, "--format", "locomo", "--fusion", "rrf")
    assert "recall@10" in capsys.readouterr().out


@pytest.mark.long
def test_a_bad_file_is_said_in_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(CommandError):
        measure([str(tmp_path / "bad.json"), "--format=locomo"])
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("listed", ["one", "0,-1", "0;1"])
def test_conversations_are_named_by_numbers(file: Path, listed: str) -> None:
    with pytest.raises(CommandError, match="numbers"):
        call_command("eval_recall", file, "--format", "locomo", f"--conversations={listed}")
