"""A refused search leaves one event a minute on its owner's chain."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tenants.audit.chain import owner_chain
from tenants.audit.verification import verify_all
from tenants.models import AuditEvent, AuditPayload, Membership, SearchCredential
from tenants.principal import Principal
from tenants.search_keys import record_refusal


def refusals() -> list[str]:
    return list(AuditEvent.objects.filter(action="search.refused").values_list("chain", flat=True))


def test_a_refusal_is_on_the_owners_chain_with_its_reason(principal: Principal) -> None:
    record_refusal(principal, reason="revoked")
    assert refusals() == [owner_chain(principal.tenant_id, principal.user_id)]
    assert AuditPayload.objects.get().data["reason"] == "revoked"
    assert all(report.ok for report in verify_all())


def test_there_is_one_a_minute_for_each_member(principal: Principal, other_member: Principal) -> None:
    for _ in range(3):
        record_refusal(principal, reason="revoked")
        record_refusal(other_member, reason="revoked")
    assert len(refusals()) == 2
    SearchCredential.objects.update(refused_at=timezone.now() - timedelta(seconds=61))
    record_refusal(principal, reason="revoked")
    assert len(refusals()) == 3


def test_another_refusal_in_the_same_minute_takes_no_lock(
    principal: Principal, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    record_refusal(principal, reason="revoked")
    with django_assert_num_queries(1):
        record_refusal(principal, reason="revoked")


def test_whoever_is_not_active_or_has_no_key_leaves_a_trace_too(principal: Principal) -> None:
    SearchCredential.objects.all().delete()
    Membership.objects.filter(id=principal.membership_id).update(is_active=False)
    record_refusal(principal, reason="missing")
    record_refusal(principal, reason="missing")
    assert len(refusals()) == 1


def test_a_principal_that_is_nobody_leaves_none(principal: Principal, other_tenant_member: Principal) -> None:
    record_refusal(replace(principal, tenant_id=other_tenant_member.tenant_id), reason="missing")
    assert refusals() == []
