"""The attacks on the routes of mem0: clean as the product is, and found without the scope of the owner."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from memories.api.mem0.views import Mem0View
from memories.models import Fact
from proof.report import Conclusion
from proof.run import prove
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_mem0_only(only: Callable[[str], None]) -> None:
    only("mem0:")


def test_the_routes_leak_nothing() -> None:
    report = prove(attempts=80, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 80


def test_a_chain_of_anybody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def anybodys(_: Mem0View, fact_id: UUID) -> list[Fact]:
        return list(Fact.objects.unscoped("test").filter(pk=fact_id))

    monkeypatch.setattr(Mem0View, "chain", anybodys)
    report = prove(attempts=80, concurrency=2, seed=3)
    assert "mem0: another's memories by their ids" in {leak.attack for leak in report.leaks}
