"""An organisation's first day: what is to be set up is listed, with its state and a link, until all is done."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory

from memories.services.policies import set_policy
from memories.staff.checklist import checklist_of
from tenants.admin.scoping import scope_of
from tenants.models import ApiToken, AuditEvent, Tenant, User
from tenants.principal import READS_HISTORY, Actor, ActorKind, Right, Role
from tenants.services import issue_token
from tests.factories import make_membership, make_tenant
from tests.memories.staff.looking import staff_of

pytestmark = pytest.mark.django_db
UPSTREAM = {"openai": {"url": "https://model.example/v1", "key": None, "model": "small"}}


def shown(user: User, query: str = "") -> dict[str, bool]:
    request = RequestFactory().get(f"/admin/{query}")
    request.user = user
    return {step.title: step.done for step in checklist_of(scope_of(request, READS_HISTORY))}


def test_each_step_is_done_in_its_turn(tenant: Tenant) -> None:
    boss = staff_of(tenant, Role.ADMIN)
    assert shown(boss) == {"People": False, "Model": False, "Policy": False, "Token": False}
    member = make_membership(tenant)
    assert shown(boss)["People"]
    actor = Actor(ActorKind.STAFF, boss.pk)
    set_policy(actor, tenant_id=tenant.pk, upstreams=UPSTREAM)
    assert (shown(boss)["Model"], shown(boss)["Policy"]) == (True, False)
    issue_token(member, name="agent", scopes=[Right.READ], issued_by=member.user)
    assert shown(boss)["Token"]
    set_policy(actor, tenant_id=tenant.pk, recall_items=5)
    assert shown(boss) == {}


def test_a_policy_that_is_saved_as_it_is_was_decided(client: Client, tenant: Tenant) -> None:
    boss = staff_of(tenant, Role.ADMIN)
    policy = set_policy(Actor(ActorKind.STAFF, boss.pk), tenant_id=tenant.pk, upstreams=UPSTREAM)
    client.force_login(boss)
    address = f"/admin/memories/memorypolicy/{policy.pk}/change/"
    form = client.get(address).context["adminform"].form
    sent = {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}
    assert client.post(address, sent).status_code == 302
    assert shown(boss)["Policy"] and AuditEvent.objects.filter(action="policy.confirmed").count() == 1


def test_only_administrators_and_operators_see_it(tenant: Tenant) -> None:
    assert shown(staff_of(tenant, Role.SUPPORT)) == shown(staff_of(tenant, Role.AUDITOR)) == {}
    operator = User.objects.create_superuser("operator", password="x")
    assert shown(operator) == {}
    assert shown(operator, f"?tenant={tenant.slug}")["First administrator"] is False
    staff_of(tenant, Role.ADMIN)
    assert shown(operator, f"?tenant={tenant.slug}")["First administrator"] is True


def test_what_another_tenant_did_is_not_counted(tenant: Tenant) -> None:
    boss, other = staff_of(tenant, Role.ADMIN), make_tenant()
    theirs = make_membership(other, role="admin")
    make_membership(other)
    issue_token(theirs, name="agent", scopes=[Right.READ], issued_by=theirs.user)
    set_policy(Actor(ActorKind.STAFF, theirs.user_id), tenant_id=other.pk, recall_items=5)
    assert set(shown(boss).values()) == {False} and ApiToken.objects.exists()


def test_the_page_links_each_step(client: Client, tenant: Tenant) -> None:
    client.force_login(staff_of(tenant, Role.ADMIN))
    page = client.get("/admin/").content.decode()
    assert "First steps" in page
    for address in (f"/admin/tenants/membership/import/?tenant={tenant.slug}", "/connect/model/", "apitoken/add/"):
        assert address in page
