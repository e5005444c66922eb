"""`manage.py import_memories` and `export_memories`: in, out, in again; to a pipe and to a file."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from memories.models import CatalogEntry, Fact
from memories.search.outbox import pending
from memories.types import Owner
from tenants.principal import Principal
from tests.memories.management.conftest import Run, arguments_of

pytestmark = pytest.mark.django_db

Write = Callable[[str | bytes], Path]

CARD = "4111 1111 1111 " + "1111"
RECORDS: list[dict[str, Any]] = [
    {"id": "e1", "kind": "episodic", "text": "We left Bristol.", "session": "s", "happened_at": "2025-05-01T09:00:00Z"},
    {"id": "f1", "kind": "semantic", "text": "Lives in Bristol", "key": "home_city", "valid_from": "2024-01-01"},
    {"id": "f2", "kind": "semantic", "text": "Lives in Leeds", "key": "home_city", "supersedes": ["f1"]},
    {"id": "p1", "kind": "procedural", "title": "Move house", "steps": ["Pack", "Label", "Go"], "text": "How we move."},
    {"id": "c1", "kind": "catalog", "title": "Removals", "text": "We move households."},
]


def lines(records: list[dict[str, Any]]) -> str:
    """The records as a file."""
    return "\n".join(map(json.dumps, records))


def test_memories_of_all_kinds_come_in_and_are_searchable(
    run: Run, named: Any, write: Write, principal: Principal
) -> None:
    said = run("import_memories", write(lines(RECORDS)), *named)
    assert said == "Imported 1 episodes, 2 facts, 1 playbooks, 1 catalog entries, 0 items.\n"
    assert Fact.objects.of(principal).get(text="Lives in Bristol").superseded_by is not None
    assert CatalogEntry.objects.visible_to(principal).get().embedding
    owners = Owner(principal.tenant_id, principal.user_id), Owner(principal.tenant_id, None)
    assert not pending(*owners).exists()


def test_what_must_not_be_stored_is_left_out_and_listed_by_line(run: Run, named: Any, write: Write) -> None:
    held = {"kind": "semantic", "text": f"Pays with {CARD}"}
    said = {"kind": "episodic", "text": f"I pay with {CARD}", "happened_at": "2025-05-01T09:00:00Z"}
    file = write(lines([{"kind": "semantic", "text": "Likes tea"}, held, said, held | {"task": "shop"}]))
    report = run("import_memories", file, *named)
    assert report == (
        "Imported 1 episodes, 1 facts, 0 playbooks, 0 catalog entries, 0 items."
        " 1 were stored without a value that must not be stored; a label stands in its place.\n"
        "2 were left out: they hold what is not stored. Take it out and import them again.\n"
        "  line 2: payment card number\n"
        "  line 4: payment card number\n"
    )
    numbers = json.loads(run("import_memories", file, *named, "--json"))
    assert numbers["blocked"] == [{"place": f"line {line}", "kinds": ["payment_card"]} for line in (2, 4)]
    assert (numbers["known"], numbers["masked"], numbers["facts"]) == (2, 0, 0)


def test_an_export_of_another_product_comes_in_after_a_dry_run(
    run: Run, named: Any, write: Write, principal: Principal
) -> None:
    entries = [{"memory": "Likes tea", "user_id": "a"}, {"memory": "Served tea", "user_id": "a", "role": "assistant"}]
    file = write(json.dumps({"results": entries}))
    told = run("import_memories", file, *named, "--format", "auto", "--dry-run")
    assert told == (
        "Would import 0 episodes, 1 facts, 0 playbooks, 0 catalog entries, 0 items.\n"
        "Refused: results.1 was said by an assistant.\n"
        "For example: Likes tea\n"
    )
    assert not Fact.objects.of(principal).exists()
    numbers = json.loads(run("import_memories", file, *named, "--format", "mem0", "--json"))
    assert (numbers["facts"], numbers["refused"]) == (
        1,
        [{"place": "results.1", "reason": "was said by an assistant."}],
    )


def test_an_export_to_a_file_is_private_and_whole(run: Run, named: Any, write: Write, tmp_path: Path) -> None:
    run("import_memories", write(lines(RECORDS)), *named)
    target = tmp_path / "memories.jsonl"
    assert run("export_memories", target, *named) == ""
    assert len(target.read_text().splitlines()) == 4
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.glob("*memories.jsonl*")} == {"memories.jsonl"}


def test_an_export_leaves_a_pipe_or_a_link_what_it_is(run: Run, named: Any, write: Write, tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("before")
    link.symlink_to(target)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for path in (link, pipe):
        run("export_memories", path, *named)
    os.close(reader)
    assert link.is_symlink() and pipe.is_fifo() and target.read_text() != "before"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_an_export_without_a_place_to_write_is_one_sentence(run: Run, named: Any, tmp_path: Path) -> None:
    place = tmp_path / "nowhere" / "memories.jsonl"
    with pytest.raises(CommandError, match=rf"^{re.escape(str(place))}: No such file or directory\.$"):
        run("export_memories", place, *named)


def test_an_export_isolates_other_members_and_tenants(
    run: Run, named: Any, write: Write, tenant: Any, make_member: Any
) -> None:
    run("import_memories", write(lines(RECORDS)), *named)
    assert run("export_memories", *arguments_of(make_member(tenant, name="Bob"))) == ""
    assert run("export_memories", *arguments_of(make_member()), "--catalog") == ""
