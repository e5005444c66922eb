"""A member's search key in the admin: seen and changed by whoever administers the tenant, and by the platform."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tenants.models import AuditEvent, Membership, SearchCredential
from tenants.principal import Principal
from tests.tenants.search_keys.probing import credential, key_of, status_of

MEMBERS = reverse("admin:tenants_membership_changelist")


def page(member: Membership) -> str:
    return reverse("admin:tenants_membership_change", args=[member.id])


def act(browser: Client, action: str, *members: Membership) -> Any:
    selected = [str(member.id) for member in members]
    return browser.post(MEMBERS, {"action": action, "_selected_action": selected}, follow=True)


def test_a_tenants_admin_sees_the_state_and_never_the_secret(browser: Client, membership: Membership) -> None:
    row = credential(membership)
    shown = browser.get(page(membership)).content.decode()
    assert row.key_id in shown and "Active" in shown
    both = shown + browser.get(MEMBERS).content.decode()
    assert key_of(membership) not in both and row.secret not in both


def test_members_are_listed_by_the_state_of_their_key(
    browser: Client, staff: Membership, membership: Membership, other_member: Principal
) -> None:
    SearchCredential.objects.filter(membership=membership).update(expires_at=timezone.now())
    SearchCredential.objects.filter(membership_id=other_member.membership_id).delete()

    def listed(state: str) -> list[Membership]:
        return list(browser.get(MEMBERS, {"search_key": state}).context["cl"].queryset)

    assert listed("active") == [staff]
    assert listed("expired") == [membership]
    assert [member.id for member in listed("missing")] == [other_member.membership_id]
    assert listed("revoked") == []


def test_the_list_isolates_other_tenants_whatever_the_filter(browser: Client, foreign: Membership) -> None:
    for state in ("active", "missing", "nonsense"):
        assert foreign not in browser.get(MEMBERS, {"search_key": state}).context["cl"].queryset


def test_a_tenants_admin_replaces_takes_and_gives_keys_of_their_members(
    browser: Client, staff: Membership, membership: Membership, foreign: Membership
) -> None:
    first, theirs = key_of(membership), key_of(foreign)
    assert "1 key made." in act(browser, "rotate_keys", membership, foreign).content.decode()
    assert key_of(membership) != first
    assert "1 key revoked." in act(browser, "revoke_keys", membership, foreign).content.decode()
    assert "1 key made." in act(browser, "mint_keys", membership, foreign).content.decode()
    assert status_of(key_of(membership)) == 200
    assert key_of(foreign) == theirs
    trail = AuditEvent.objects.filter(action__startswith="search_key.").order_by("sequence")
    assert [event.action for event in trail] == ["search_key.rotated", "search_key.revoked", "search_key.minted"]
    actors = set(trail.values_list("tenant_id", "actor_kind", "actor_id"))
    assert actors == {(membership.tenant_id, "staff", staff.user_id)}
