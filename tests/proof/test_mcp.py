"""The attacks over MCP: clean as the product is, and found where it would take a caller at their word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memories.api.mcp import forgetting, tools
from memories.models import MEMORY_MODELS
from memories.selectors.memories import _ORDER
from memories.types import Kind
from proof.report import Conclusion
from proof.run import prove
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_mcp_only(only: Callable[[str], None]) -> None:
    only("mcp:")


def test_mcp_leaks_nothing() -> None:
    report = prove(attempts=160, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 160


def test_a_list_of_all_owners_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def everybody(_: object, kind: Kind, **__: object) -> object:
        return MEMORY_MODELS[kind].objects.unscoped("a test breaks the guard").order_by(*_ORDER[kind])

    monkeypatch.setattr(tools, "list_memories", everybody)
    report = prove(attempts=60, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"mcp: lists, recall, resource and prompt"}


def test_a_question_that_anybody_may_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"result": "kept", "proposal_id": ""}
    monkeypatch.setattr(forgetting, "_decided", lambda *_: done)
    monkeypatch.setattr(forgetting, "_proposal_of", lambda *_: None)
    report = prove(attempts=60, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"mcp: the answer to another's question"}
