"""The attacks on feedback and cases: clean as the product is, and found without the scope of the owner."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from memories.models import SupportCase
from memories.services import cases as services
from memories.staff import case_actions as pages
from proof.report import Conclusion
from proof.run import prove
from tenants.principal import Principal
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_cases_only(only: Callable[[str], None]) -> None:
    only("cases:")


def test_feedback_and_cases_leak_nothing() -> None:
    report = prove(attempts=80, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 80


def test_a_case_of_anybody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def anybodys(_: Principal, case_id: UUID) -> SupportCase:
        return SupportCase.objects.unscoped("test").get(pk=case_id)

    monkeypatch.setattr(services, "_locked", anybodys)
    monkeypatch.setattr(pages, "get_case", anybodys)
    leaks = {leak.attack for leak in prove(attempts=80, concurrency=2, seed=3).leaks}
    assert "cases: another's feedback and cases, by the services" in leaks
    assert "cases: of another tenant, as its administrator" in leaks
