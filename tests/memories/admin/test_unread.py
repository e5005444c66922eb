"""Values that no column can have, put there by SQL: pages say so and show the rest, and a proof names the row."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from memories.models import Fact
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.types import Kind
from tenants.models import AuditEvent, ChainCheck, Membership, Tenant
from tenants.principal import Principal
from tests.memories.admin.test_history import LIST, chain, shown, staff
from tests.memories.five import Five, live_five
from tests.memories.selectors.test_chain_columns import placed, put

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


def test_a_chain_shows_the_rest_and_says_what_is_left_out(five: Five, client: Client) -> None:
    for column in spoiled(five.flat):
        page = shown(client, chain(five.back))
        assert GARBAGE not in page
        if column not in QUIET:
            assert page.count('class="history-state') == 4
            assert f"A fact ({five.flat}) has what cannot be read as its {column.replace('_', ' ')}." in page


def test_one_view_is_told_once(five: Five, client: Client, principal: Principal) -> None:
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


def test_the_list_shows_the_rest(five: Five, client: Client, principal: Principal) -> None:
    first = remember_fact(principal, text="Sings alto").memory_id
    supersede(principal, old_ids=[first], text="Sings tenor")
    for _ in spoiled(five.wrong):
        for asked in ({}, {"member": str(principal.user_id), "all": "1"}):
            page = shown(client, LIST, **asked)
            assert chain(first) in page
            assert GARBAGE not in page


def test_a_row_without_a_readable_id_hides_nothing(five: Five, client: Client, principal: Principal) -> None:
    place = placed(Fact, remember_fact(principal, text="Sings alto").memory_id)
    before = put(Fact, place, "id", GARBAGE)
    page = shown(client, LIST, member=str(principal.user_id), all="1")
    put(Fact, place, "id", before)
    assert f"(row {place} of its table)" in page
    assert chain(five.both) in page


def test_an_erased_state_beside_one_that_cannot_be_read_is_a_tombstone(
    five: Five, client: Client, principal: Principal
) -> None:
    forget(principal, kind=Kind.SEMANTIC, memory_id=five.wrong)
    spoil(five.flat, "learned_at")
    page = shown(client, chain(five.wrong))
    assert "Erased" in page
    assert str(five.flat) in page


def test_the_inspector_says_what_is_in_its_way(
    five: Five, client: Client, tenant: Tenant, membership: Membership
) -> None:
    client.force_login(staff(tenant, "support").user)
    address = reverse("staff:inspector", args=[membership.pk])
    assert "cannot be read" not in shown(client, address)
    spoil(five.both, "restores")
    page = shown(client, address)
    assert f"A fact ({five.both}) has what cannot be read as its restores." in page
    assert GARBAGE not in page


def test_another_error_stays_an_error(five: Five, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a mistake in the program")

    monkeypatch.setattr("memories.admin.history_list.page_of_histories", broken)
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
