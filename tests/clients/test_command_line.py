"""`memoryhub-cli` against a real site."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryhub_client import Client
from memoryhub_client.command_line import main
from tests.proofs.site import ROOT, Person

EXAMPLES = re.findall(r"^memoryhub-cli (.*)$", (ROOT / "clients" / "python" / "README.md").read_text(), re.MULTILINE)

pytestmark = pytest.mark.long

Run = Callable[..., str]


@pytest.fixture
def run(url: str, key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`run(*arguments, status=0, stdin="", user=True)`: what the command prints, or of one that fails its error."""
    monkeypatch.setenv("MEMORYHUB_URL", url)
    monkeypatch.setenv("MEMORYHUB_KEY", key)

    def ran(*arguments: str, status: int = 0, stdin: str = "", user: bool = True) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        named = ["--user", "alice"] if user and "--user" not in arguments else []
        assert main([*arguments, *named]) == status
        printed, errors = capsys.readouterr()
        assert bool(errors) == bool(status)
        return errors if status else printed

    return ran


def test_the_examples_of_the_guide_run_as_they_are_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = [run(*shlex.split(example)) for example in EXAMPLES]
    assert "created" in said[0] and "Bristol" in said[1] and said[-1] == "1 semantic\n"


def test_a_fact_is_remembered_recalled_listed_and_forgotten(run: Run) -> None:
    result, memory_id = run("remember", "Lives in Porto.", "--name", "home_city", "--category", "home").split()
    assert result == "created"
    assert run("recall", "Where does she live?").startswith("1. Lives in Porto. (")
    assert "Lives in Porto." in run("context", "Where does she live?", "--budget", "500")
    assert run("list", "--category", "home") == f"{memory_id}  Lives in Porto.\n"
    assert run("list", "--user", "bob") == ""
    assert "--yes" in run("forget", memory_id, status=2)
    assert run("forget", memory_id, "--yes") == f"erased {memory_id}\n"
    assert run("list") == ""


def test_an_answer_in_json_has_every_field(run: Run) -> None:
    run("remember", "Keeps bees.", "--pin")
    (item,) = json.loads(run("recall", "What does she keep?", "--json"))["items"]
    assert item["text"] == "Keeps bees." and item["score"] is not None
    assert [json.loads(line)["pinned"] for line in run("list", "--limit", "1", "--json").splitlines()] == [True]


def test_an_export_of_one_user_is_imported_for_another_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    run("remember", "Lives in Porto.", "--name", "home_city", "--pin")
    book = {"kind": "procedural", "title": "Split a hive", "text": "Split a hive", "steps": ["Find the queen", "Wait"]}
    assert run("import", stdin=json.dumps(book)) == "1 procedural\n"
    assert run("export", str(file)) == ""
    would = run("import", str(file), "--user", "bob", "--dry-run")
    assert would.startswith("1 procedural, 1 semantic\n") and "Lives in Porto." in would
    assert run("import", str(file), "--user", "bob") == "1 procedural, 1 semantic\n"
    assert run("import", str(file), "--user", "bob") == "2 known\n"
    listed = [run("list", "--kind", kind, "--json", "--user", "bob") for kind in ("semantic", "procedural")]
    fact, copied = map(json.loads, listed)
    assert copied["steps"] == book["steps"] and fact["pinned"] and fact["key"] == "home_city"


def test_an_export_of_another_product_is_imported(run: Run) -> None:
    written = {"memory": "Keeps bees.", "created_at": "2026-01-05T09:30:00Z"}
    file = json.dumps({"results": [{**written, "id": "1", "user_id": "a"}, {"id": "2", "user_id": "b", "memory": ""}]})
    assert "mem0" in json.loads(run("import", "--dry-run", "--source-user", "a", "--json", stdin=file))["format"]
    said = run("import", "--source-user", "a", "--format", "mem0", stdin=file)
    assert said == "1 semantic\nleft out results.1: belongs to another user.\n"
    assert run("list").endswith("  Keeps bees.\n")


def test_a_member_s_own_token_exports_everything(run: Run, url: str, person: Person) -> None:
    with Client(url, token=person.token) as memory:
        memory.memories.supersede(memory.memories.write("Lives in Porto.").memory_id, "Lives in Braga.")
    lines = run("export", "--all", "--key", person.token, user=False).splitlines()
    assert {json.loads(line)["text"] for line in lines} == {"Lives in Porto.", "Lives in Braga."}
    assert "403" in run("export", "--all", status=1)


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["list", "--limit", "0"], "--limit must be"),
        (["context", "x", "--budget", "1"], "--budget must be"),
        (["remember", "x", "--name", "n" * 101], "--name is too long"),
        (["recall", "x", "--user", ""], "--user must have"),
        (["export", "--all"], "--all, export needs the member's own token"),
    ],
)
def test_a_refusal_names_the_flag_instead_of_the_field(run: Run, arguments: list[str], flag: str) -> None:
    assert flag in run(*arguments, status=1)


def test_a_key_for_many_users_needs_one_named(run: Run) -> None:
    for command in (["recall", "x"], ["remember", "x"], ["list"], ["export"]):
        assert run(*command, status=1, user=False).startswith("memoryhub-cli: needs --user")


@pytest.mark.parametrize("second", ["{", '{"kind": "unknown", "text": "Hello."}', '{"text": "No kind."}'])
def test_an_import_with_a_wrong_line_stores_nothing(run: Run, second: str) -> None:
    said = run("import", stdin=f'{{"kind": "semantic", "text": "Keeps bees."}}\n{second}\n', status=1)
    assert "line 2" in said.lower() and "Nothing was stored" in said
    assert run("list") == ""


def test_the_key_comes_from_a_file_or_is_asked_for(
    run: Run, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORYHUB_KEY")
    assert "MEMORYHUB_KEY" in run("list", status=2)
    file = tmp_path / "key"
    file.write_text(f"{key}\n")
    assert run("list", "--key-file", str(file)) == ""
    assert "no-such-file" in run("list", "--key-file", "no-such-file", status=2)


def test_a_refusal_and_a_server_that_is_away_are_errors(run: Run) -> None:
    assert "401 authentication-failed" in run("list", "--key", "mh_nothing", status=1)
    unknown = "5f0c5d0e-6c1b-4a52-9d0e-0d7c0f2f7a11"
    assert f"404 not-found: No memory has the id {unknown}" in run("forget", unknown, "--yes", status=1)
    assert "No answer" in run("list", "--url", "http://127.0.0.1:9", status=1)
    assert "ASCII" in run("list", "--app", "é", status=2)
    assert "begins with http://" in run("list", "--url", "127.0.0.1:9", status=2)


def test_no_text_of_a_memory_steers_the_terminal(run: Run) -> None:
    said = run("import", stdin=json.dumps({"kind": "semantic", "text": "Red \u202e text."}))
    assert said == "1 semantic\n" and "\u202e" not in run("list")
