"""An owner's tests run against ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langgraph.store.base", reason="LangGraph is not installed (make integrations)")

from tests.proofs.site import ROOT

pytestmark = pytest.mark.long
THEIRS = """
import pytest
from langgraph.store.sqlite import SqliteStore

@pytest.fixture(params=["memory", "file"])
def store():
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        yield store

def test_what_is_put_is_there(store):
    store.put(("trips",), "oslo", {"nights": 3})
    assert store.get(("trips",), "oslo").value == {"nights": 3}

def test_a_store_is_a_database(store):
    store.conn.cursor()

def test_nonnull_migrations(store):
    assert store.MIGRATIONS
"""


def test_each_test_of_an_owner_counts_once(tmp_path: Path) -> None:
    (tmp_path / "test_store.py").write_text(THEIRS)
    command = [sys.executable, "-m", "tests.integrations.owners", "langgraph-sqlite", str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.stdout.endswith("langgraph-sqlite: 1 of 2 passed\n"), done.stdout + done.stderr
