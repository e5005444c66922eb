"""The attacks on OAuth: clean as the product is, and what they find without each of its guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proof.report import Conclusion, ProofReport
from proof.run import prove
from tenants.models import ApiToken
from tenants.oauth import grants
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_oauth_only(only: Callable[[str], None]) -> None:
    only("oauth:")


def attack(attempts: int = 60) -> ProofReport:
    return prove(attempts=attempts, concurrency=4, seed=3)


def found(report: ProofReport) -> set[str]:
    assert report.conclusion is Conclusion.LEAK, "\n".join(report.sentences())
    return {leak.attack for leak in report.leaks}


def test_oauth_leaks_nothing() -> None:
    report = attack()
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())


def test_a_code_without_its_proof_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "_proves", lambda *_: True)
    assert "oauth: another's code or refresh token" in found(attack())


def test_revoking_another_s_token_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of_anybody = ApiToken.objects.filter

    def unfiltered(*args: Any, membership_id: object = None, **wanted: Any) -> Any:
        return of_anybody(*args, **wanted)

    monkeypatch.setattr(ApiToken.objects, "filter", unfiltered)
    assert "oauth: what another has connected" in found(attack())
