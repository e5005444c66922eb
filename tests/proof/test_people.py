"""The attacks on provisioning by SCIM: clean as the product is, and found where a key finds people of any tenant."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from django.db.models import QuerySet

from memories.api.scim import storage
from proof.report import Conclusion
from proof.run import prove
from tenants.models import Tenant
from tenants.people import KnownMember, people_of
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_scim_only(only: Callable[[str], None]) -> None:
    only("scim:")


def test_provisioning_leaks_nothing() -> None:
    report = prove(attempts=60, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 60


def test_people_of_any_tenant_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_another(tenant_id: UUID) -> QuerySet[KnownMember, KnownMember]:
        other = Tenant.objects.exclude(pk=tenant_id).values_list("pk", flat=True)[:1].get()
        return people_of(other)

    monkeypatch.setattr(storage, "people_of", of_another)
    leaks = {leak.attack for leak in prove(attempts=60, concurrency=2, seed=3).leaks}
    assert {"scim: another tenant's people by their ids", "scim: lists and searches"} <= leaks
