"""One way to choose a tenant by the address: by slug or id, together or one at a time, nobody else's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.http import Http404, HttpRequest
from django.test import RequestFactory

from tenants.admin.scoping import PLATFORM, TenantScope, address_of, one_of, scope_of
from tenants.models import Membership, Tenant, User
from tenants.principal import AUDITS
from tests.factories import make_membership, make_tenant

BOTH = [scope_of, one_of]
Choose = Callable[..., TenantScope]


def asked(user: User, **address: str) -> HttpRequest:
    request = RequestFactory().get("/", address)
    request.user = user
    return request


@pytest.fixture
def auditor(tenant: Tenant) -> User:
    """Of two tenants, `tenant` and "Zwei"; a mere member of a third."""
    user = make_membership(tenant, role="auditor").user
    Membership.objects.create(tenant=make_tenant("Zwei"), user=user, role="admin")
    Membership.objects.create(tenant=make_tenant(), user=user)
    return user


@pytest.mark.parametrize("choose", BOTH)
def test_a_tenant_is_named_by_its_slug_and_an_old_link_by_its_id(choose: Choose, auditor: User, tenant: Tenant) -> None:
    for named in (tenant.slug, str(tenant.pk)):
        scope = choose(asked(auditor, tenant=named), AUDITS)
        assert (scope.chosen, scope.address, scope.may_choose) == (tenant, tenant.slug, True)
        assert [address for address, _ in scope.choices] == [each.slug for each in scope.tenants]
        assert len(scope.tenants) == 2


@pytest.mark.parametrize("choose", BOTH)
def test_any_other_is_as_one_that_does_not_exist(choose: Choose, auditor: User, foreign: Membership) -> None:
    member_of = Membership.objects.get(user=auditor, role="member").tenant
    for named in (foreign.tenant.slug, str(foreign.tenant_id), member_of.slug, "no-such-tenant", PLATFORM):
        with pytest.raises(Http404):
            choose(asked(auditor, tenant=named), AUDITS)


def test_without_a_name_sums_are_of_all_and_trails_of_the_first(auditor: User) -> None:
    together, single = scope_of(asked(auditor), AUDITS), one_of(asked(auditor), AUDITS)
    assert (together.chosen, together.address, len(together.shown)) == (None, "", 2)
    assert single.chosen == single.tenants[0] and single.shown == (single.chosen,)


def test_only_who_runs_the_platform_chooses_what_belongs_to_no_tenant(superuser: User) -> None:
    assert one_of(asked(superuser), AUDITS).address == PLATFORM, "there is nothing else yet"
    gone = make_tenant()
    Tenant.objects.filter(pk=gone.pk).update(is_active=False)
    assert one_of(asked(superuser), AUDITS).chosen == gone
    scope = one_of(asked(superuser, tenant=PLATFORM), AUDITS)
    assert (scope.chosen, scope.address, scope.may_choose) == (None, PLATFORM, True)


def test_a_tenant_that_is_called_like_the_platform_is_named_by_its_id(tenant: Tenant, superuser: User) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(slug=PLATFORM)
    tenant.refresh_from_db()
    assert one_of(asked(superuser, tenant=address_of(tenant)), AUDITS).chosen == tenant
