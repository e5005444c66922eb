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
from tenants.models import Membership, Tenant, User
from tests.factories import make_membership
from tests.memories.staff.looking import own_queries, page_of, staff_of, words

pytestmark = pytest.mark.django_db

LIST = reverse("admin:memories_consolidationrun_changelist")
NOW = timezone.now()


def ran(member: Membership, *, at: datetime = NOW, **fields: Any) -> ConsolidationRun:
    columns = {"state": "done", "extractor": "rules", "started_at": at, "ended_at": at} | fields
    return ConsolidationRun.objects.create(tenant=member.tenant, user=member.user, **columns)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def browser(tenant: Tenant) -> Client:
    """Support of Ada's tenant."""
    return signed_in(staff_of(tenant, "support"))


def listed(browser: Client, query: str = "") -> list[ConsolidationRun]:
    page = browser.get(LIST + query)
    assert page.status_code == 200
    return list(page.context["cl"].queryset)


def test_a_run_leads_to_its_page_and_shows_numbers_alone(browser: Client, membership: Membership) -> None:
    run = ran(membership, output={"facts": ["Lives in Porto"]}, input_tokens=1200, output_tokens=30)
    page = browser.get(LIST)
    assert page_of("run", membership, run.pk) in page.content.decode()
    assert "1,200 / 30" in words(page) and "Porto" not in words(page)


def test_it_is_narrowed(browser: Client, membership: Membership, tenant: Tenant) -> None:
    done = ran(membership)
    failed = ran(
        make_membership(tenant), state="failed", given_up=True, extractor="big-model", at=NOW - timedelta(days=9)
    )
    assert listed(browser) == [done, failed]
    assert listed(browser, "?outcome=done") == [done]
    assert listed(browser, "?outcome=given_up") == [failed]
    assert listed(browser, "?extractor=big-model") == [failed]
    assert listed(browser, f"?user__username__icontains={failed.user.username}") == [failed]
    assert listed(browser, f"?started_at__gte={NOW - timedelta(days=2):%Y-%m-%d}T00:00Z") == [done]
    assert listed(browser, f"?q={failed.pk}") == [failed]


@pytest.mark.parametrize("query", ["started_at__gte=0001-01-01T00:00%2B14:00", "trigger__exact=%00"])
def test_what_no_database_can_be_asked_is_refused(browser: Client, query: str) -> None:
    assert browser.get(f"{LIST}?{query}").status_code == 400


def test_no_list_and_no_filter_shows_another_tenant(browser: Client, membership: Membership) -> None:
    mine = ran(membership)
    foreign = ran(make_membership(name="Eve"), extractor="zebrafish-model", state="failed", error="zebrafish")
    queries = (
        "",
        "?outcome=failed",
        "?extractor=zebrafish-model",
        f"?q={foreign.pk}",
        "?user__username__icontains=user",
    )
    for query in queries:
        assert set(listed(browser, query)) <= {mine}
    assert "zebrafish" not in browser.get(LIST).content.decode()


def test_the_queries_do_not_grow_with_the_list(browser: Client, tenant: Tenant) -> None:
    browser.get(LIST)
    counts = []
    for _ in range(2):
        for _ in range(4):
            ran(make_membership(tenant))
        with CaptureQueriesContext(connection) as captured:
            browser.get(LIST)
        counts.append(own_queries(captured))
    assert counts == [4, 4]
