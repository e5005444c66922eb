"""The audit log as sentences: whom holds and erasures are about, and what is said of tenants and search keys."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.models import MemoryPolicy
from memories.services.erasure.requests import ask_erasure, place_hold, release_hold
from memories.services.erasure.stages import carry_out
from memories.services.policies import propose_threshold, set_policy
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.models import Membership, Tenant
from tenants.principal import SYSTEM, Actor, ActorKind
from tests.factories import MakeMember, make_membership
from tests.memories.staff.looking import words
from tests.memories.staff.seated import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def hollis(tenant: Tenant) -> Membership:
    """An administrator of the tenant."""
    return make_membership(tenant, role="admin", name="Hollis")


@pytest.fixture
def acting(hollis: Membership) -> Actor:
    """Hollis at the desk."""
    return Actor(ActorKind.STAFF, hollis.user_id)


def trail(browser: Client) -> str:
    """The list, in words."""
    return words(browser.get(reverse("admin:tenants_auditevent_changelist")))


def test_holds_and_erasures_say_whose_they_are(acting: Actor, hollis: Membership, membership: Membership) -> None:
    hold = place_hold(acting, tenant_id=membership.tenant_id, membership_id=membership.pk, reason="a lawsuit")
    release_hold(acting, hold_id=hold.pk)
    ask_erasure(acting, membership_id=membership.pk, reason="by letter")
    place_hold(acting, tenant_id=membership.tenant_id, reason="a lawsuit")
    told, name = trail(signed_in(hollis)), membership.user.speaker
    assert f"Hollis placed a legal hold on {membership.tenant.name} " in told
    assert f"Hollis placed a legal hold on {name} " in told
    assert f"Hollis released a legal hold on {name} " in told
    assert f"Hollis asked for an erasure of {name} " in told
    assert f"Hollis approved an erasure of {name} " in told


def test_after_the_erasure_the_name_of_other_lines_stands_there(
    acting: Actor, hollis: Membership, membership: Membership
) -> None:
    MemoryPolicy.objects.create(tenant=membership.tenant, erasure_delay_hours=0)
    request = ask_erasure(acting, membership_id=membership.pk, reason="by letter")
    assert carry_out(request.pk)
    told, left = trail(signed_in(hollis)), f"erased member {str(membership.user_id)[:8]}"
    assert f"Hollis asked for an erasure of {left} " in told
    assert f"The system finished an erasure of {left} " in told
    assert f"erased the names of {left} " in told


def test_one_query_names_whom_all_of_them_are_about(
    acting: Actor, hollis: Membership, make_member: MakeMember, tenant: Tenant
) -> None:
    browser, counts = signed_in(hollis), []
    for number in range(4):
        place_hold(acting, tenant_id=tenant.pk, membership_id=make_member(tenant).pk, reason=f"lawsuit {number}")
        trail(browser)
        with CaptureQueriesContext(connection) as queries:
            trail(browser)
        counts.append(len(queries))
    assert len(set(counts)) == 1


def test_a_tenant_and_a_member_are_not_what_is_proposed_or_revoked(
    acting: Actor, hollis: Membership, membership: Membership, tenant: Tenant
) -> None:
    propose_threshold(SYSTEM, tenant_id=tenant.pk)
    set_policy(acting, tenant_id=tenant.pk, recall_threshold=0.5)
    for verb in ("minted", "rotated", "revoked", "verified"):
        record_tenant_event(SYSTEM, tenant.pk, EventDraft(f"search_key.{verb}", "membership", membership.pk))
    for verb in ("set", "dropped"):
        record_tenant_event(acting, tenant.pk, EventDraft(f"expiry_rule.{verb}", "tenant", tenant.pk))
    told, name = trail(signed_in(hollis)), membership.user.speaker
    assert f"The system proposed a recall threshold for {tenant.name} " in told
    assert f"Hollis changed the memory policy of {tenant.name} " in told
    assert f"Hollis set an expiry rule of {tenant.name} " in told
    assert f"Hollis dropped an expiry rule of {tenant.name} " in told
    assert f"The system made the search key of {name} " in told
    for did in ("rotated", "revoked", "verified"):
        assert f"The system {did} the search key of {name} " in told
