"""A measurement goes through the product, and leaves the configured database alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.evaluation.ablation import VARIANTS
from memories.evaluation.cases import Form, parse_cases
from memories.evaluation.runner import COLLAPSE, run
from memories.management.commands import eval_recall
from memories.management.commands.eval_recall import measure
from memories.management.member_command import progress
from memories.models import Fact, RecallTrace
from memories.recall.pipeline import Run
from memories.recall.pipeline import run as recall_run
from memories.recall.request import Request
from memories.search import search_plane
from tenants.models import Tenant
from tenants.principal import Principal
from tests.factories import mint_at_once
from tests.memories.evaluation.test_cases import CONVERSATION, MEMBER

PAIR = (("a", "kitchen"), ("b", "garden"))


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    mint_at_once(monkeypatch)


@pytest.mark.django_db
def test_a_conversation_is_measured_through_the_product() -> None:
    measured = run(parse_cases([CONVERSATION], Form.LOCOMO), watch=progress)
    assert (measured["questions"], measured["recall@5"][0]) == (2, 1.0)
    assert measured["settings"]["search"] == search_plane().name


@pytest.mark.django_db
def test_superseded_facts_answer_questions_about_the_past_alone() -> None:
    measured = run(parse_cases(MEMBER, Form.MEMORIES), watch=progress)
    assert measured["by_category"].keys() == {"semantic", "temporal"}
    assert measured["recall@5"][0] == 1.0
    assert measured["by_category"]["semantic"]["recall@1"][0] == 1.0, "the old city is hidden"
    assert (measured["unanswerable"]["questions"], measured["unanswerable"]["injected"]) == (1, 1.0)
    assert not RecallTrace.objects.exists() and not Fact.objects.filter(use_count__gt=0).exists(), "none is counted"


@pytest.mark.django_db
def test_a_fact_that_answers_were_made_from_comes_before_its_rival() -> None:
    pair = [{"id": name, "kind": "semantic", "text": f"The {room} bin is by the door"} for name, room in PAIR]
    asked = [{"question": "which bin is by the door?", "evidence": ["b"], "kind": "used"}]
    owner = {"name": "Ana", "memories": pair, "questions": asked, "uses": {"b": 40}}
    measured = run(parse_cases({"owner": owner}, Form.MEMORIES), watch=progress)
    assert measured["by_category"]["used"]["recall@1"][0] == 1.0


OTHER: dict[str, Any] = {
    "owner": {
        "name": "Ben",
        "tenant": "acme",
        "memories": [{"id": "b1", "kind": "semantic", "text": "Hides the key under the third pot"}],
        "questions": [{"question": "where does she live?", "evidence": [], "kind": "leak", "forbidden": ["f2"]}],
    }
}


@pytest.mark.django_db
def test_members_that_probe_each_other_share_their_tenant_and_see_no_more() -> None:
    measured = run(parse_cases([MEMBER, OTHER], Form.MEMORIES), watch=progress)
    assert measured["leaks"] == {"questions": 4, "probes": 1, "leaked": 0}
    assert Tenant.objects.get(name="acme").memberships.count() == 2


@pytest.mark.django_db
def test_a_memory_of_another_member_is_counted_as_leaked(monkeypatch: pytest.MonkeyPatch) -> None:
    principals: list[Principal] = []

    def confused(principal: Principal, request: Request, **options: Any) -> Run:
        principals.append(principal)
        return recall_run(principals[0], request, **options)

    monkeypatch.setattr("memories.evaluation.runner.run_recall", confused)
    measured = run(parse_cases([MEMBER, OTHER], Form.MEMORIES), watch=progress)
    assert measured["leaks"]["leaked"] == 1


@pytest.mark.django_db
def test_an_ablation_measures_every_stage_and_signal() -> None:
    measured = run(parse_cases([CONVERSATION], Form.LOCOMO), ablation=True, watch=progress)
    assert measured["without"].keys() == {*VARIANTS, COLLAPSE}
    assert all(-1.0 <= gains["recall@10"][0] <= 0.0 for gains in measured["without"].values())
    assert measured["without"]["sub-query by words"]["recall@20"] == [0.0, 0.0, 0.0], "meaning finds everything here"


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
    assert (measured["questions"], measured["recall@20"][0]) == (2, 1.0)
    assert not Tenant.objects.exists(), "the configured database is not touched"


@pytest.mark.django_db
def test_the_command_prints_a_table_for_people(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = json.dumps(run(parse_cases([MEMBER, OTHER], Form.MEMORIES), ablation=True, watch=progress))
    monkeypatch.setattr("memories.management.commands.eval_recall.measure", lambda _arguments: measured)
    call_command("eval_recall", file, "--format", "memories", "--ablation")
    printed = capsys.readouterr().out
    assert all(said in printed for said in ("recall@10", "signal meaning", "Unanswerable: 1", "in 0 of 4 answers"))


@pytest.mark.long
def test_the_files_of_a_folder_are_measured_together(tmp_path: Path) -> None:
    for name, case in (("ana", MEMBER), ("ben", OTHER)):
        (tmp_path / f"{name}.json").write_text(json.dumps(case))
    measured = json.loads(measure([str(tmp_path), "--format=memories"]))
    assert (measured["questions"], measured["leaks"]["probes"]) == (2, 1)


@pytest.mark.parametrize("files", [(), ("one.json",)], ids=["an empty folder", "numbers of a folder"])
def test_a_folder_that_cannot_be_measured_is_refused(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).write_text(json.dumps(MEMBER))
    numbers = ["--conversations=0"] if files else []
    with pytest.raises(CommandError, match="file"):
        call_command("eval_recall", tmp_path, "--format", "memories", "--here", *numbers)


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


def test_a_measurement_takes_the_models_of_the_environment_and_nothing_else_of_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MEMORYHUB_EMBEDDING_MODEL", "MEMORYHUB_RERANK_URL", "MEMORYHUB_SECRET_KEY", "MEMORYHUB_RULES"):
        monkeypatch.setenv(name, "theirs")
    given = eval_recall._environment(tmp_path)
    assert [name for name, value in given.items() if value == "theirs"] == [
        "MEMORYHUB_EMBEDDING_MODEL", "MEMORYHUB_RERANK_URL",
    ]  # fmt: skip
