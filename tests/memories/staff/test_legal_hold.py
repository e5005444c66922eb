"""Legal holds in the admin: placed on a member or a tenant, released, and read by auditors."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memories.models import LegalHold
from tenants.models import Membership, User
from tests.factories import MakeMember
from tests.memories.staff.seated import at

pytestmark = pytest.mark.django_db


def test_one_member_is_held_on_their_page_and_released(administrator: Client, membership: Membership) -> None:
    administrator.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    hold = LegalHold.objects.get()
    assert (hold.user_id, hold.reason) == (membership.user_id, "a lawsuit")
    assert "a lawsuit" in administrator.get(at("erasure", membership.pk)).content.decode()
    assert "in force" in administrator.get(at("legal_hold", hold.pk)).content.decode()
    administrator.post(at("legal_hold_release", hold.pk), {"reason": "settled"})
    hold.refresh_from_db()
    assert hold.released_at is not None
    assert "Release it" not in administrator.get(at("legal_hold", hold.pk)).content.decode()


def test_lists_give_people_the_name_of_other_pages_and_the_username_beside_it(
    administrator: Client, membership: Membership
) -> None:
    administrator.post(at("hold_member", membership.pk), {"reason": "a lawsuit"})
    user = membership.user
    User.objects.filter(pk=user.pk).update(display_name="Ada Fenwick")
    for address in (at("legalhold_changelist"), "/admin/tenants/membership/", at("membermemory_changelist")):
        page = administrator.get(address).content.decode()
        assert f"Ada Fenwick ({user.username})" in page
        assert "to view |" not in page and "to change |" not in page
        assert not re.search(r'data-label="[a-z]', page)


def test_a_whole_tenant_is_held(administrator: Client, membership: Membership) -> None:
    data = {"tenant": str(membership.tenant_id), "reason": "a lawsuit"}
    assert "Hold a whole tenant" in administrator.get(at("legalhold_changelist")).content.decode()
    administrator.post(at("hold_tenant"), data)
    assert LegalHold.objects.get().user_id is None
    again = administrator.post(at("hold_tenant"), data)
    assert (again.status_code, LegalHold.objects.count()) == (400, 1)
    assert "already" in again.content.decode()


def test_no_other_tenant_is_held(administrator: Client, make_member: MakeMember) -> None:
    other = make_member(name="Eve")
    page = administrator.get(at("hold_tenant")).content.decode()
    assert str(other.tenant_id) not in page
    answer = administrator.post(at("hold_tenant"), {"tenant": str(other.tenant_id), "reason": "a lawsuit"})
    assert answer.status_code == 404
    assert administrator.post(at("hold_member", other.pk), {"reason": "a lawsuit"}).status_code == 404
    assert not LegalHold.objects.exists()
