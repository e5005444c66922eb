"""Where the second half of the benchmarks finds its servers, and what it says if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.servers import HEAP, Unavailable, servers
from tests.elasticsearch_node.node import CannotBuild, Node
from tests.real_parts import Missing, PostgreSQL


def refuse_to_build(*_: object, **__: object) -> None:
    raise CannotBuild("there is no JDK")


def refuse_to_start(*_: object) -> None:
    raise Missing("not installed")


def test_without_a_node_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELASTICSEARCH_URL", raising=False)
    monkeypatch.setattr(Node, "start", refuse_to_build)
    with pytest.raises(Unavailable, match="there is no JDK"), servers(str(tmp_path), HEAP):
        pass


def test_a_node_of_the_environment_is_used_under_our_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ELASTICSEARCH_SETUP", "admin:password")
    monkeypatch.setattr(PostgreSQL, "start", refuse_to_start)
    with servers(str(tmp_path), HEAP) as first, servers(str(tmp_path), HEAP) as second:
        assert first.node.url == second.environ["ELASTICSEARCH_URL"] == "http://127.0.0.1:1"
        assert first.prefix != second.prefix
        assert first.database == "SQLite"
        assert first.environ["ELASTICSEARCH_INDEXER"].startswith(f"{first.prefix}-indexer:")
