"""Runs across tenants: narrowed by state, extractor, member and time; of nobody else's tenant."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.models import ConsolidationRun
from tenants.models import Membership, Tenant
from tests.factories import make_membership
from tests.memories.staff.looking import own_queries, page_of, words

pytestmark = pytest.mark.django_db

LIST = reverse("admin:memories_consolidationrun_changelist")
NOW = timezone.now()


def ran(member: Membership, *, at: datetime = NOW, **fields: Any) -> ConsolidationRun:
    columns = {"state": "done", "extractor": "rules", "started_at": at, "ended_at": at} | fields
    return ConsolidationRun.objects.create(tenant=member.tenant, user=member.user, **columns)


def listed(support: Client, query: str = "") -> list[ConsolidationRun]:
    page = support.get(LIST + query)
    assert page.status_code == 200
    return list(page.context["cl"].queryset)


def test_a_run_leads_to_its_page_and_shows_numbers_alone(support: Client, membership: Membership) -> None:
    run = ran(membership, output={"facts": ["Lives in Porto"]}, input_tokens=1200, output_tokens=30)
    page = support.get(LIST)
    assert page_of("run", membership, run.pk) in page.content.decode()
    assert "1,200 / 30" in words(page) and "Porto" not in words(page)


def test_it_is_narrowed(support: Client, membership: Membership, tenant: Tenant) -> None:
    done = ran(membership)
    ago = NOW - timedelta(days=9)
    failed = ran(make_membership(tenant), state="failed", given_up=True, extractor="big-model", at=ago)
    assert listed(support) == [done, failed]
    assert listed(support, "?outcome=done") == [done]
    assert listed(support, "?outcome=given_up") == [failed]
    assert listed(support, "?extractor=big-model") == [failed]
    assert listed(support, f"?q={failed.user.username}") == [failed]
    assert listed(support, f"?started_at__gte={NOW - timedelta(days=2):%Y-%m-%d}T00:00Z") == [done]
    assert listed(support, f"?q={failed.pk}") == [failed]


@pytest.mark.parametrize("query", ["started_at__gte=0001-01-01T00:00%2B14:00", "trigger__exact=%00"])
def test_what_no_database_can_be_asked_is_refused(support: Client, query: str) -> None:
    assert support.get(f"{LIST}?{query}").status_code == 400


def test_no_list_and_no_filter_shows_another_tenant(support: Client, membership: Membership) -> None:
    mine = ran(membership)
    foreign = ran(make_membership(name="Eve"), extractor="zebrafish-model", state="failed", error="zebrafish")
    for query in ("", "?outcome=failed", "?extractor=zebrafish-model", f"?q={foreign.pk}"):
        assert set(listed(support, query)) <= {mine}
    assert "zebrafish" not in support.get(LIST).content.decode()


def test_the_queries_do_not_grow_with_the_list(support: Client, tenant: Tenant) -> None:
    support.get(LIST)
    counts = []
    for _ in range(2):
        for _ in range(4):
            ran(make_membership(tenant))
        with CaptureQueriesContext(connection) as captured:
            support.get(LIST)
        counts.append(own_queries(captured))
    assert counts == [4, 4]
