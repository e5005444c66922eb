"""Dates are written in one form in all lists and fields of the admin, in the reader's zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import ConsolidationRun, ErasureRequest, LegalHold, OutboxEntry
from memories.types import Kind
from tenants.models import ApiToken, Membership
from tenants.tokens import issue_token
from tests.factories import MakeMember
from tests.memories.staff.seated import signed_in

pytestmark = pytest.mark.django_db

AT = datetime(2026, 1, 9, 23, 30, tzinfo=UTC)
WRITTEN = "2026-01-10 00:30 CET"
# As Django writes them: `Jan. 10, 2026, 12:30 a.m.`
OTHERWISE = re.compile(r"\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}|\b\d{1,2} [A-Z][a-z]{2,8} \d{4}|[ap]\.m\.")
OF_MEMBERS = ["legalhold", "erasurerequest", "consolidationrun", "outboxentry"]


@pytest.fixture
def berlin(membership: Membership, make_member: MakeMember) -> Client:
    """The browser of an administrator in Berlin, where all of the tenant happened at one time."""
    owner = {"tenant": membership.tenant, "user": membership.user}
    hold = LegalHold.objects.create(**owner, reason="a lawsuit")
    LegalHold.objects.filter(pk=hold.pk).update(placed_at=AT, released_at=AT)
    ErasureRequest.objects.create(tenant=membership.tenant, membership=membership, asked_at=AT, finished_at=AT)
    ConsolidationRun.objects.create(**owner, started_at=AT, first_ordinal=1, last_ordinal=1)
    OutboxEntry.objects.create(
        tenant_id=membership.tenant_id, user_id=membership.user_id, kind=Kind.SEMANTIC, memory_id=hold.pk, version=1,
        operation="upsert", created_at=AT,
    )  # fmt: skip
    token, _ = issue_token(membership, name="notes")
    ApiToken.objects.filter(pk=token.pk).update(created_at=AT, last_used_at=AT, expires_at=AT)
    Membership.objects.update(created_at=AT)
    client = signed_in(make_member(membership.tenant, "admin", "Alice"))
    client.cookies["tz"] = "Europe/Berlin"
    return client


def cells(page: str) -> str:
    """The rows of a list."""
    return page[page.index("result_list") :].partition("</table>")[0]


@pytest.mark.parametrize("model", [*(f"memories_{model}" for model in OF_MEMBERS), "tenants_apitoken"])
def test_a_list_writes_dates_as_all_others_do(berlin: Client, model: str) -> None:
    rows = cells(berlin.get(reverse(f"admin:{model}_changelist")).content.decode())
    assert WRITTEN in rows
    assert OTHERWISE.findall(rows) == []


def test_a_field_that_is_only_read_does_too(berlin: Client, membership: Membership) -> None:
    page = berlin.get(reverse("admin:tenants_membership_change", args=[membership.pk])).content.decode()
    assert WRITTEN in page
