"""Chains that do not verify: counted once, named with tenant and person, and one step from where they are shown."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memories.services.chain_proofs import checked, prove_supersession
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Owner
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.models import ChainCheck, Checked, Membership, Tenant, User
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.factories import make_membership, make_tenant
from tests.memories.staff.test_history import chain, shown, staff
from tests.tenants.audit_events import execute

pytestmark = pytest.mark.django_db

PAGE = "/admin/memories/history/broken/"


@pytest.fixture
def auditor(tenant: Tenant, client: Client) -> Membership:
    """Hanna, signed in."""
    membership = staff(tenant, "auditor", "Hanna")
    client.force_login(membership.user)
    return membership


def fails(member: Membership, what: Checked) -> None:
    chain_of = owner_chain(member.tenant_id, member.user_id)
    ChainCheck.objects.create(chain=chain_of, what=what, ok=False, reason="somebody changed it")


@pytest.mark.usefixtures("auditor")
def test_a_broken_supersession_is_reached_from_the_dashboard(client: Client, principal: Principal) -> None:
    fact = remember_fact(principal, text="Rows on the Tyne").memory_id
    with audit_unguarded():
        execute("UPDATE memories_fact SET text = 'Sails on the Tyne'")
    assert not prove_supersession(Owner(principal.tenant_id, principal.user_id)).ok
    (need,) = client.get("/admin/").context["needs"]
    assert need.words == "1 chain failed verification"
    page = shown(client, need.url)
    assert "<bdi>Ada</bdi>" in page
    assert "Sails" not in page
    (broken,) = client.get(need.url).context["chains"]
    addresses = dict(broken["links"])
    assert addresses["The history that it names"] == chain(fact, kind=Kind.SEMANTIC)
    assert chain(fact) in shown(client, addresses["All histories"])


@pytest.mark.usefixtures("auditor")
def test_a_check_that_could_not_be_made_is_one_sentence(client: Client, membership: Membership) -> None:
    def fail() -> ChainCheck:
        raise ValueError

    checked(owner_chain(membership.tenant_id, membership.user_id), Checked.SUPERSESSION, fail)
    page = shown(client, PAGE)
    assert "The check could not be made (ValueError" in page and ").." not in page


@pytest.mark.usefixtures("auditor")
def test_both_proofs_of_one_member_are_one_chain(client: Client, membership: Membership) -> None:
    for what in Checked:
        fails(membership, what)
    assert [need.words for need in client.get("/admin/").context["needs"]] == ["1 chain failed verification"]
    (broken,) = client.get(PAGE).context["chains"]
    assert [badge.what for badge in broken["badges"]] == [Checked.AUDIT, Checked.SUPERSESSION]
    assert [words for words, _ in broken["links"]] == ["Its audit log", "All histories"]
    assert all(client.get(address).status_code == 200 for _, address in broken["links"])


def test_those_of_each_of_my_tenants_are_reachable(auditor: Membership, client: Client, membership: Membership) -> None:
    other = make_membership(make_tenant("Wren"), name="Ida")
    Membership.objects.create(tenant=other.tenant, user=auditor.user, role="auditor")
    fails(membership, Checked.AUDIT)
    fails(other, Checked.AUDIT)
    assert client.get("/admin/").context["needs"][0].url == PAGE
    found = {each["whose"]: each for each in client.get(PAGE).context["chains"]}
    assert {name: each["tenant"] for name, each in found.items()} == {"Ada": membership.tenant.name, "Ida": "Wren"}
    (alone,) = client.get(PAGE, {"tenant": other.tenant.slug}).context["chains"]
    assert alone["whose"] == "Ida"
    need = client.get("/admin/", {"tenant": other.tenant.slug}).context["needs"][0]
    assert parse_qs(urlsplit(need.url).query) == {"tenant": [other.tenant.slug]}
    for each in found.values():
        ((_, address),) = each["links"]
        assert client.get(address).context["badge"].state == "good"  # it verifies when it is shown
    assert client.get(PAGE).context["chains"] == []


@pytest.mark.usefixtures("auditor")
def test_a_foreign_tenant_is_as_an_unknown_one(client: Client, other_tenant_member: Principal) -> None:
    fails(Membership.objects.get(pk=other_tenant_member.membership_id), Checked.SUPERSESSION)
    assert client.get(PAGE).context["chains"] == []
    for tenant in (str(other_tenant_member.tenant_id), str(UUID(int=1))):
        assert client.get(PAGE, {"tenant": tenant}).status_code == 404


def test_the_platform_sees_its_own_chains_and_the_tenants(client: Client, membership: Membership) -> None:
    client.force_login(User.objects.create_superuser("root", password="correct horse battery staple"))
    gone = tenant_chain(UUID(int=7))
    for name in (PLATFORM_CHAIN, tenant_chain(membership.tenant_id), gone, "owner:made:up"):
        ChainCheck.objects.create(chain=name, what=Checked.AUDIT, ok=False)
    found = client.get(PAGE).context["chains"]
    assert len(found) == 4
    for each in found:
        assert all(client.get(address).status_code == 200 for _, address in each["links"])


@pytest.mark.usefixtures("auditor")
def test_it_asks_no_more_for_many(
    client: Client, tenant: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        fails(make_membership(tenant, name=f"Member {number}"), Checked.AUDIT)
    with django_assert_max_num_queries(14):
        assert len(client.get(PAGE).context["chains"]) == 12
