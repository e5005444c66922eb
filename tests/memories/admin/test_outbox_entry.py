"""What waits across tenants: counted by tenant, for whom it is open, and of nobody else's tenant."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.models import OutboxEntry
from memories.types import Kind
from tenants.models import Membership, Tenant
from tests.factories import make_membership
from tests.memories.staff.looking import own_queries, page_of, words

pytestmark = pytest.mark.django_db

LIST = reverse("admin:memories_outboxentry_changelist")


def waits(member: Membership | None, **fields: object) -> OutboxEntry:
    owner = {"tenant_id": member.tenant_id, "user_id": member.user_id} if member else {}
    columns: dict[str, object] = {"kind": Kind.SEMANTIC, "memory_id": uuid4(), "version": 1, "operation": "upsert"}
    return OutboxEntry.objects.create(**{**columns, **owner, **fields})


def test_it_says_what_waits_of_whom_and_how_late_it_is(support: Client, tenant: Tenant, membership: Membership) -> None:
    waits(membership, attempts=4, last_error="SearchUnavailable", created_at=timezone.now() - timedelta(hours=2))
    waits(membership)
    page = support.get(LIST)
    shown = words(page)
    assert f"{tenant.name} 2 1 4 2 h ago late" in shown
    assert "SearchUnavailable" in shown and membership.user.username in shown
    assert page_of("index", membership) in page.content.decode()


def test_an_operation_is_named_in_the_language_of_the_page(support: Client, membership: Membership) -> None:
    waits(membership)
    page = words(support.get(LIST, headers={"accept-language": "de"}))
    assert "schreiben" in page and "upsert" not in page


def test_the_list_isolates_other_tenants_and_what_all_share(support: Client, membership: Membership) -> None:
    foreign = make_membership(name="Eve")
    mine, _, _ = waits(membership), waits(foreign), waits(None)
    for query in ("", "?kind=semantic", f"?q={foreign.pk}", "?tried=no"):
        page = support.get(LIST + query)
        assert set(page.context["cl"].queryset) <= {mine}
        assert foreign.tenant.name not in words(page) and "shared by all" not in words(page)
        assert "Pending changes 1" in words(page)


def test_the_platform_sees_all_and_the_filters_narrow(admin_client: Client, membership: Membership) -> None:
    tried, shared = waits(membership, attempts=1), waits(None)
    assert set(admin_client.get(LIST).context["cl"].queryset) == {tried, shared}
    assert list(admin_client.get(f"{LIST}?tried=in_vain").context["cl"].queryset) == [tried]
    assert list(admin_client.get(f"{LIST}?q={shared.memory_id}").context["cl"].queryset) == [shared]
    assert "shared by all tenants" in words(admin_client.get(LIST))


def test_the_queries_do_not_grow_with_the_list(support: Client, tenant: Tenant) -> None:
    support.get(LIST)
    counts = []
    for _ in range(2):
        for _ in range(4):
            waits(make_membership(tenant))
        with CaptureQueriesContext(connection) as captured:
            support.get(LIST)
        counts.append(own_queries(captured))
    assert counts == [6, 6]
