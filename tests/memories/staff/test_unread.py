"""Values that no column can have, written by SQL: pages name the row, and so does a verification."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from memories.models import Fact
from tenants.models import AuditEvent, ChainCheck, Membership, Tenant
from tenants.principal import Principal
from tests.memories.five import Five, live_five
from tests.memories.selectors.test_chain_columns import placed, put
from tests.memories.staff.test_history import LIST, chain, shown, staff

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take no such value"),
]

GARBAGE = "garbage that nobody may see"
# Some of these Django fails on, some it reads as nothing.
COLUMNS = ["learned_at", "superseded_at", "superseded_by_id", "restores", "sensitivity"]
# These read as if nothing were there, or are not read by the page: the proof alone tells of them.
QUIET = ["superseded_at", "superseded_by_id", "sensitivity"]


@pytest.fixture(autouse=True)
def auditor(tenant: Tenant, client: Client) -> Membership:
    """Hanna, signed in."""
    membership = staff(tenant, "auditor", "Hanna")
    client.force_login(membership.user)
    return membership


@pytest.fixture
def five(principal: Principal) -> Iterator[Five]:
    """A chain; what was put into its links is taken away before the database checks them."""
    yield live_five(principal)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_fact SET superseded_by_id = NULL WHERE length(superseded_by_id) <> 32")


def spoil(memory_id: UUID, column: str) -> None:
    put(Fact, placed(Fact, memory_id), column, GARBAGE)


def spoiled(memory_id: UUID) -> Iterator[str]:
    """One column after the other, each put right before the next."""
    place = placed(Fact, memory_id)
    for column in COLUMNS:
        before = put(Fact, place, column, GARBAGE)
        yield column
        put(Fact, place, column, before)


def test_a_chain_with_such_a_state_names_it(five: Five, client: Client) -> None:
    for column in spoiled(five.flat):
        page = shown(client, chain(five.back))
        assert GARBAGE not in page
        assert column in QUIET or f"A fact ({five.flat}) cannot be read." in page


def test_one_view_is_audited_once(five: Five, client: Client, principal: Principal) -> None:
    spoil(five.flat, "learned_at")
    for address in (chain(five.back), f"{LIST}?member={principal.user_id}&all=1"):
        before = AuditEvent.objects.filter(action="memory.read").count()
        assert "cannot be read" in shown(client, address)
        assert AuditEvent.objects.filter(action="memory.read").count() == before + 1


def test_a_state_that_cannot_be_read_says_so_and_is_proven(five: Five, client: Client) -> None:
    for column in spoiled(five.both):
        page = shown(client, chain(five.both))
        assert GARBAGE not in page
        assert column in QUIET or "This state cannot be shown" in page
        client.post(chain(five.both, verify=True), {"what": "supersession"})
        check = ChainCheck.objects.filter(what="supersession").latest("pk")
        assert (check.ok, str(five.both) in check.reason, GARBAGE in check.reason) == (False, True, False)


def test_the_list_names_it(five: Five, client: Client, principal: Principal) -> None:
    for column in spoiled(five.wrong):
        page = shown(client, LIST, member=str(principal.user_id), all="1")
        assert GARBAGE not in page
        assert column in QUIET or f"A fact ({five.wrong}) cannot be read." in page


def test_the_inspector_says_what_is_in_its_way(
    five: Five, client: Client, tenant: Tenant, membership: Membership
) -> None:
    client.force_login(staff(tenant, "support").user)
    address = reverse("staff:inspector", args=[membership.pk])
    assert "cannot be read" not in shown(client, address)
    spoil(five.both, "restores")
    page = shown(client, address)
    assert f"A fact ({five.both}) cannot be read." in page
    assert GARBAGE not in page


def test_another_error_stays_an_error(five: Five, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a mistake in the program")

    monkeypatch.setattr("memories.staff.history_list.page_of_histories", broken)
    with pytest.raises(ValueError, match="a mistake"):
        client.get(LIST)


def test_staff_of_another_tenant_learn_nothing_of_it(
    five: Five, client: Client, other_tenant_member: Principal
) -> None:
    spoil(five.both, "learned_at")
    stranger = staff(Tenant.objects.get(pk=other_tenant_member.tenant_id), "admin")
    client.force_login(stranger.user)
    assert client.get(chain(five.both)).status_code == 404
    assert client.post(chain(five.both, verify=True)).status_code == 404
    assert str(five.both) not in shown(client, LIST)
