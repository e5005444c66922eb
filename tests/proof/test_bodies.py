"""The attack with another's ids in the body of a request: clean as the product is, and found without a guard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memories.models import Episode
from memories.services import playbooks
from memories.services.facts import remember
from proof.report import Conclusion
from proof.run import prove
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_bodies_only(only: Callable[[str], None]) -> None:
    only("api: another's id in the body")


def test_an_id_in_a_body_is_answered_like_an_unknown_one() -> None:
    report = prove(attempts=40, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())


def test_support_that_is_anybody_s_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (remember, playbooks):
        monkeypatch.setattr(module, "own_episodes", lambda _, ids: [*Episode._default_manager.filter(pk__in=ids)])
    report = prove(attempts=40, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"api: another's id in the body"}
