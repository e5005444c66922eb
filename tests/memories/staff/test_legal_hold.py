"""Legal holds in the admin: placed on a member or a tenant, released, and read by auditors."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memories.models import LegalHold
from tenants.models import Membership, User
from tests.factories import MakeMember
from tests.memories.staff.seated import at, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(membership: Membership, make_member: MakeMember) -> Client:
    return signed_in(make_member(membership.tenant, "admin", "Alice"))


def test_one_member_is_held_on_their_page_and_released(admin: Client, membership: Membership) -> None:
    admin.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    hold = LegalHold.objects.get()
    assert (hold.user_id, hold.reason) == (membership.user_id, "a lawsuit")
    assert "a lawsuit" in admin.get(at("erasure", membership.pk)).content.decode()
    assert "in force" in admin.get(at("legal_hold", hold.pk)).content.decode()
    admin.post(at("legal_hold_release", hold.pk), {"reason": "settled"})
    hold.refresh_from_db()
    assert hold.released_at is not None
    assert "Release it" not in admin.get(at("legal_hold", hold.pk)).content.decode()


def test_lists_give_people_the_name_of_other_pages_and_the_username_beside_it(
    admin: Client, membership: Membership
) -> None:
    admin.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    user = membership.user
    User.objects.filter(pk=user.pk).update(display_name="Ada Fenwick")
    for address in (at("legalhold_changelist"), "/admin/tenants/membership/", at("membermemory_changelist")):
        page = admin.get(address).content.decode()
        assert f"Ada Fenwick ({user.username})" in page
        assert "to view |" not in page and "to change |" not in page
        assert not re.search(r'data-label="[a-z]', page)


def test_a_whole_tenant_is_held(admin: Client, membership: Membership) -> None:
    data = {"tenant": str(membership.tenant_id), "reason": "a lawsuit"}
    assert "Hold a whole tenant" in admin.get(at("legalhold_changelist")).content.decode()
    admin.post(at("hold_tenant"), data)
    assert LegalHold.objects.get().user_id is None
    again = admin.post(at("hold_tenant"), data)
    assert (again.status_code, LegalHold.objects.count()) == (400, 1)
    assert "already" in again.content.decode()


def test_no_other_tenant_is_held(admin: Client, make_member: MakeMember) -> None:
    other = make_member(name="Eve")
    page = admin.get(at("hold_tenant")).content.decode()
    assert str(other.tenant_id) not in page
    answer = admin.post(at("hold_tenant"), {"tenant": str(other.tenant_id), "reason": "a lawsuit"})
    assert answer.status_code == 404
    assert admin.post(at("hold_member", other.pk), {"reason": "a lawsuit"}).status_code == 404
    assert not LegalHold.objects.exists()
