"""Tenants, users and members come, change and go, and each time an event says so."""

from __future__ import annotations

import pytest

from tenants import services
from tenants.audit.verification import verify_all
from tenants.errors import InvalidValue
from tenants.models import AuditEvent, AuditPayload, Membership, Tenant, User
from tenants.principal import Role
from tenants.usernames import erased_username
from tests.factories import make_membership, make_tenant


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("created_at", "sequence").values_list("action", flat=True))


def test_a_tenant_with_a_member_leaves_its_trail(db: None) -> None:
    tenant = services.create_tenant(name="Acme", slug="acme")
    user = services.create_user(username="ada", display_name="Ada", password="correct horse battery")
    member = services.add_member(tenant=tenant, user=user, external_id="crm-7")
    assert (member.role, member.external_id, user.check_password("correct horse battery")) == ("member", "crm-7", True)
    trail = {(event.chain, event.action) for event in AuditEvent.objects.all()}
    made = {("platform", "tenant.created"), ("platform", "user.created")}
    assert trail == made | {(f"tenant:{tenant.id}", "member.added")}
    assert all(report.ok for report in verify_all())


def test_no_event_holds_a_password(db: None) -> None:
    user = services.create_user(username="ada", password="correct horse battery")
    document = AuditPayload.objects.get().document
    assert "correct horse" not in document and user.password not in document


def test_a_role_other_than_member_opens_the_admin_and_its_event_says_both(membership: Membership) -> None:
    services.change_role(membership, role=Role.SUPPORT)
    assert User.objects.get(id=membership.user_id).is_staff
    assert Membership.objects.get(id=membership.id).role == "support"
    assert actions() == ["member.role_changed", "user.changed"]
    data = AuditPayload.objects.get(event__action="member.role_changed").data
    assert (data["before"], data["after"]) == ({"role": "member"}, {"role": "support"})


def test_the_admin_closes_with_the_last_role_of_staff(membership: Membership) -> None:
    def is_staff() -> bool:
        return User.objects.get(id=membership.user_id).is_staff

    elsewhere = services.add_member(tenant=make_tenant(), user=membership.user, role=Role.AUDITOR)
    services.change_role(membership, role=Role.SUPPORT)
    services.change_role(membership, role=Role.MEMBER)
    assert is_staff(), "they audit elsewhere"
    services.deactivate(elsewhere)
    assert not is_staff()
    services.activate(elsewhere)
    assert is_staff()
    services.change_role(elsewhere, role=Role.MEMBER)
    assert not is_staff() and actions()[-2:] == ["member.role_changed", "user.changed"]


def test_a_superuser_keeps_the_admin_without_a_role(membership: Membership) -> None:
    User.objects.filter(pk=membership.user_id).update(is_staff=True, is_superuser=True)
    services.change_role(membership, role=Role.SUPPORT)
    services.change_role(membership, role=Role.MEMBER)
    assert User.objects.get(id=membership.user_id).is_staff


def test_switching_off_and_on_is_recorded_once_each(membership: Membership) -> None:
    for _ in range(2):
        services.deactivate(membership)
    for _ in range(2):
        services.activate(membership)
    switched = [action for action in actions() if action.startswith("member.")]
    assert switched == ["member.deactivated", "member.activated"]
    assert Membership.objects.get(id=membership.id).is_active


def test_a_users_changes_are_recorded_by_field(membership: Membership) -> None:
    user = membership.user
    user.display_name, user.email = "Ada L.", "ada@example.org"
    services.update_user(user)
    data = AuditPayload.objects.get(event__action="user.changed").data
    assert data["before"] == {"display_name": "Ada", "email": ""}
    assert data["after"] == {"display_name": "Ada L.", "email": "ada@example.org"}


def test_an_erased_user_comes_back_in_no_way(membership: Membership) -> None:
    opened_before = User.objects.get(pk=membership.user_id)
    opened_before.display_name = "Ada L."
    User.objects.filter(pk=membership.user_id).update(
        username=erased_username(membership.user_id), display_name="", is_active=False
    )
    erased = User.objects.get(pk=membership.user_id)
    for come_back in (
        lambda: services.update_user(opened_before),
        lambda: services.activate(erased),
        lambda: services.add_member(tenant=services.create_tenant(name="Other", slug="other"), user=opened_before),
        lambda: services.change_role(membership, role=Role.ADMIN),
    ):
        with pytest.raises(InvalidValue, match="erased"):
            come_back()
    erased.refresh_from_db()
    assert erased.is_erased and erased.display_name == "" and not erased.is_active and not erased.is_staff
    assert Membership.objects.get(pk=membership.pk).role == "member"


@pytest.mark.parametrize(
    ("name", "slug", "field"),
    [
        pytest.param("", "acme", "name", id="no name"),
        pytest.param("Acme", "not a slug", "slug", id="malformed slug"),
        pytest.param("Acme", "taken", "slug", id="taken slug"),
        pytest.param("A\0", "acme", "name", id="NUL"),
        pytest.param("A" * 101, "acme", "name", id="long name"),
    ],
)
def test_a_bad_tenant_is_refused_by_field(db: None, name: str, slug: str, field: str) -> None:
    Tenant.objects.create(name="Taken", slug="taken")
    with pytest.raises(InvalidValue) as refusal:
        services.create_tenant(name=name, slug=slug)
    assert refusal.value.field == field
    assert actions() == []


def test_an_external_id_names_one_member_of_a_tenant(membership: Membership) -> None:
    user, other = services.create_user(username="a-1"), services.create_user(username="a-2")
    services.add_member(tenant=membership.tenant, user=user, external_id="crm-7")
    with pytest.raises(InvalidValue):
        services.add_member(tenant=membership.tenant, user=other, external_id="crm-7")
    services.add_member(tenant=make_membership().tenant, user=other, external_id="crm-7")
