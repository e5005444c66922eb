"""`manage.py import_conversation`: the forms, twice, and one clear sentence for whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from memories.models import Episode, Session
from memories.search.outbox import DrainReport, pending
from memories.types import Owner
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.management.conftest import Run, arguments_of

pytestmark = pytest.mark.django_db

Write = Callable[[str | bytes], Path]


def lines(count: int) -> str:
    """`count` lines of a conversation."""
    said = (
        {"role": ("user", "assistant")[n % 2], "content": f"line {n}", "timestamp": 1.75e9 + n} for n in range(count)
    )
    return "\n".join(json.dumps({"session": "s"} | each) for each in said)


TALK = {"speaker_a": "Ines", "speaker_b": "Olaf", "session_1_date_time": "1:56 pm on 8 May, 2023"}
TURNS = [[{"speaker": "Ines", "dia_id": "D1:1", "text": f"Hello {n}"}] for n in range(2)]
LOCOMO = [{"sample_id": f"talk-{n}", "conversation": TALK | {"session_1": turns}} for n, turns in enumerate(TURNS)]


def test_a_conversation_becomes_sessions_and_episodes(run: Run, named: Any, write: Write, principal: Principal) -> None:
    said = run("import_conversation", write(lines(4)), *named, "--format=jsonl")
    assert said == "Imported 4 messages in 1 new sessions; 2 became episodes.\n"
    assert [row.text for row in Episode.objects.of(principal)] == ["line 0", "line 2"]


def test_afterwards_the_search_index_is_warm(run: Run, named: Any, write: Write, principal: Principal) -> None:
    run("import_conversation", write(lines(4)), *named, "--format=jsonl")
    assert not pending(Owner(principal.tenant_id, principal.user_id)).exists()
    assert all(row.embedding for row in Episode.objects.of(principal))


def test_a_search_plane_that_fails_stops_no_import(
    run: Run, named: Any, write: Write, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.management.member_command.drain", lambda **_: DrainReport(failed=2))
    said = run("import_conversation", write(lines(4)), *named, "--format=jsonl")
    assert "2 still wait for the search index" in said
    assert Episode.objects.of(principal).count() == 2


def test_one_conversation_of_several_or_all(run: Run, named: Any, write: Write, principal: Principal) -> None:
    run("import_conversation", write(json.dumps(LOCOMO)), *named, "--format=locomo", "--conversation=1")
    assert [row.text for row in Episode.objects.of(principal)] == ["Hello 1"]
    run("import_conversation", write(json.dumps(LOCOMO)), *named, "--format=locomo")
    assert sorted(row.text for row in Episode.objects.of(principal)) == ["Hello 0", "Hello 1"]
    assert {row.speaker for row in Episode.objects.of(principal)} == {"Ines"}


def test_an_account_export_is_read(run: Run, named: Any, write: Write, principal: Principal) -> None:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}, "create_time": 1.75e9}
    export = [{"id": "c", "title": "T", "current_node": "n", "mapping": {"n": {"parent": None, "message": message}}}]
    run("import_conversation", write(json.dumps(export)), *named, "--format=chatgpt")
    assert Session.objects.of(principal).get().title == "T"


@pytest.mark.parametrize(
    ("content", "form", "more", "sentence"),
    [
        pytest.param("", "locomo", [], "File: is empty", id="empty"),
        pytest.param(json.dumps(LOCOMO), "jsonl", [], "Line 1: must be a JSON object", id="no lines"),
        pytest.param(lines(1), "jsonl", ["--conversation=1"], "no number 1; this file has 1", id="no such session"),
        pytest.param("x" * 1_000_001, "jsonl", [], "Line 1: is longer than 1,000,000 bytes", id="a huge line"),
    ],
)
def test_a_bad_file_is_answered_by_one_sentence(
    run: Run, named: Any, write: Write, content: str | bytes, form: str, more: list[str], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        run("import_conversation", write(content), *named, f"--format={form}", *more)


@pytest.mark.parametrize(
    ("name", "sentence"), [("missing", "missing: No such file or directory"), (".", ": Is a directory")]
)
def test_a_file_that_cannot_be_read_is_named(run: Run, named: Any, tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        run("import_conversation", tmp_path / name, *named, "--format=jsonl")


def test_the_import_isolates_other_tenants(
    run: Run, membership: Membership, make_member: Any, write: Write, principal: Principal
) -> None:
    """A member of another tenant cannot be named in this one, not even by their id; nor is anybody named to them."""
    tenant, _ = arguments_of(membership)
    for stranger in ("nobody", make_member().user.username, str(make_member().user.pk)):
        with pytest.raises(CommandError, match="no active member") as raised:
            run("import_conversation", write(lines(1)), tenant, f"--user={stranger}", "--format=jsonl")
        assert membership.user.username not in str(raised.value)
    assert not Episode.objects.filter(tenant_id=principal.tenant_id).exists()
