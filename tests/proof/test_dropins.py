"""The attacks through drop-ins: clean as the product is, and found without a guard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memories.agent.context import Context, context_of
from memories.api import acting
from memories.api.dropin import remembering
from proof.report import Conclusion
from proof.run import prove
from tenants.models import Membership
from tenants.principal import Principal
from tests.factories import own_principal
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_drop_ins_only(only: Callable[[str], None]) -> None:
    only("drop-ins:")


def test_drop_ins_leak_nothing() -> None:
    report = prove(attempts=80, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 80


def test_a_recall_for_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def for_another(principal: Principal, query: str) -> Context:
        others = Membership.objects.filter(tenant_id=principal.tenant_id).exclude(user_id=principal.user_id)
        return context_of(own_principal(others.order_by("?")[0]), query)

    monkeypatch.setattr(remembering, "context_of", for_another)
    report = prove(attempts=40, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"drop-ins: records of others"}


def test_a_token_that_may_name_anybody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "_is_own", lambda *_: True)
    report = prove(attempts=40, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"drop-ins: requests that name another, or two"}
