"""Items: a put comes back equal and overwrites, a deletion leaves a history, an erasure and an expiry leave nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from memories.errors import Blocked, Conflict, InvalidInput, NotFound
from memories.models import IdempotencyKey, Item, MemoryPolicy
from memories.selectors.history.chains import verify_chains
from memories.selectors.items import find_item, get_item, history_of, list_namespaces, search_items
from memories.services.erasure.forget_all import forget_all
from memories.services.erasure.requests import place_hold
from memories.services.items import delete, erase, erase_expired, put, renew
from memories.services.retention.collection import collect_daily
from tenants.models import AuditPayload, Tenant
from tenants.principal import Actor, ActorKind, Principal
from tests.factories import MakeMember

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

EXAMPLES = int(os.environ.get("JSON_EXAMPLES", "150"))
HERE = ("users", "ada")
SECRET = "AKIAIOSFODNN7EXAMPLE"


def values(principal: Principal, key: str = "k") -> list[Any]:
    """The values of an item's history, latest first; the payload's side that a deletion lacks is None."""
    events = history_of(principal, namespace=HERE, key=key)
    return [(event.payload.data["after"] or {}).get("item", {}).get("value") for event in events]


def test_a_put_overwrites_and_its_history_stays(principal: Principal) -> None:
    first, created = put(principal, namespace=HERE, key="k", value={"seats": 2})
    again, replaced = put(principal, namespace=HERE, key="k", value=["aisle"])
    assert (created, replaced, again.pk, again.version) == (True, False, first.pk, 2)
    assert get_item(principal, namespace=HERE, key="k").content == ["aisle"]
    assert values(principal) == [["aisle"], {"seats": 2}]
    latest = history_of(principal, namespace=HERE, key="k")[0]
    assert latest.action == "item.replaced" and latest.payload.data["before"]["item"]["value"] == {"seats": 2}


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_any_json_comes_back_equal(principal: Principal, value: Any) -> None:
    try:
        put(principal, namespace=HERE, key="any", value=value)
    except Blocked:
        return
    stored = get_item(principal, namespace=HERE, key="any").content
    assert stored == value and repr(stored) == repr(value)
    assert values(principal, "any")[0] == value


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"namespace": ()}, "namespace"),
        ({"namespace": "users"}, "namespace"),
        ({"namespace": ("users", "")}, "namespace.1"),
        ({"namespace": ("users", " ")}, "namespace.1"),
        ({"namespace": ("a\x1fb",)}, "namespace.0"),
        ({"namespace": ("a" * 129,)}, "namespace.0"),
        ({"namespace": ("a",) * 17}, "namespace"),
        ({"key": ""}, "key"),
        ({"key": "k" * 513}, "key"),
        ({"key": "a\x00"}, "key"),
        ({"value": float("inf")}, "value"),
        ({"value": "\ud800"}, "value"),
        ({"value": "x" * 65_536}, "value"),
        ({"value": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}, "value"),
        ({"index": []}, "index"),
        ({"index": ["a..b"]}, "index.0"),
        ({"ttl_minutes": 0.0}, "ttl_minutes"),
        ({"ttl_minutes": float("nan")}, "ttl_minutes"),
    ],
)
def test_what_cannot_be_stored_is_refused_whole(principal: Principal, wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        put(principal, **{"namespace": HERE, "key": "k", "value": 1, **wrong})
    assert error.value.field == field
    assert not Item.objects.of(principal).exists()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"value": {"aws": {"id": SECRET}}}, "value.aws.id"),
        ({"key": SECRET}, "key"),
        ({"namespace": ("keys", SECRET)}, "namespace.1"),
        ({"index": [SECRET]}, "index.0"),
    ],
)
def test_a_secret_is_refused(principal: Principal, given: dict[str, Any], field: str) -> None:
    with pytest.raises(Blocked) as refused:
        put(principal, **{"namespace": HERE, "key": "k", "value": 1, **given})
    assert [spot.field for spot in refused.value.spots] == [field]
    assert not any(SECRET in document for document in AuditPayload.objects.values_list("document", flat=True))


def test_what_the_policy_masks_is_refused_instead_of_changed(principal: Principal) -> None:
    value = {"mail": "ada@example.org"}
    item, _ = put(principal, namespace=HERE, key="k", value=value)
    assert item.sensitivity == {"email": "allow"}
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, handling={"email": "mask"})
    with pytest.raises(Blocked):
        put(principal, namespace=HERE, key="k", value=value)
    assert get_item(principal, namespace=HERE, key="k").content == value


@pytest.mark.parametrize(
    ("given", "entry"),
    [
        ({"value": ["a xylophone"]}, "xylophone"),
        ({"value": {"Xylophones": True}}, "xylophone"),
        ({"value": {"note": "Sees the doctors"}}, "health"),
        ({"namespace": ("notes", "health")}, "health"),
        ({"key": "health"}, "health"),
        ({"index": ["health"]}, "health"),
    ],
)
def test_what_the_policy_keeps_out_is_refused_by_its_name(
    principal: Principal, given: dict[str, Any], entry: str
) -> None:
    MemoryPolicy.objects.create(
        tenant_id=principal.tenant_id, never_words="xylophone", never_topics="health: doctor, back pain"
    )
    with pytest.raises(InvalidInput, match=f"“{entry}”, which the member or their organisation keeps out"):
        put(principal, **{"namespace": HERE, "key": "k", "value": 1, **given})
    assert not Item.objects.of(principal).exists()


def test_a_deletion_keeps_the_history_and_a_later_put_goes_on(principal: Principal) -> None:
    put(principal, namespace=HERE, key="k", value=1)
    assert delete(principal, namespace=HERE, key="k")
    assert not delete(principal, namespace=HERE, key="k")
    with pytest.raises(NotFound):
        get_item(principal, namespace=HERE, key="k")
    assert list_namespaces(principal) == [] and not search_items(principal).items
    assert values(principal) == [None, 1]
    item, created = put(principal, namespace=HERE, key="k", value=3)
    assert (created, item.version) == (True, 3)
    actions = [event.action for event in history_of(principal, namespace=HERE, key="k")]
    assert actions == ["item.restored", "item.deleted", "item.created"]


@pytest.mark.parametrize("change", [lambda p, **at: put(p, value=2, **at), delete])
def test_a_change_of_another_version_is_refused(principal: Principal, change: Callable[..., Any]) -> None:
    put(principal, namespace=HERE, key="k", value=1, if_version=0)
    for version in (0, 2):
        with pytest.raises(Conflict):
            change(principal, namespace=HERE, key="k", if_version=version)
    assert change(principal, namespace=HERE, key="k", if_version=1)


def test_an_erasure_takes_the_history(principal: Principal) -> None:
    put(principal, namespace=HERE, key="k", value="to be gone")
    item, _ = put(principal, namespace=HERE, key="k", value="gone as well")
    delete(principal, namespace=HERE, key="k")
    IdempotencyKey.objects.create(
        tenant_id=principal.tenant_id, user_id=principal.user_id, digest="d", fingerprint="f", answer="gone as well"
    )
    erase(principal, item_id=item.pk, reason="asked for")
    assert not any("gone" in document for document in AuditPayload.objects.values_list("document", flat=True))
    assert not IdempotencyKey.objects.of(principal).exclude(answer="").exists()
    for again in (lambda: history_of(principal, namespace=HERE, key="k"), lambda: erase(principal, item_id=item.pk)):
        with pytest.raises(NotFound):
            again()


def test_what_has_expired_is_gone_at_once_and_erased_with_its_history(principal: Principal) -> None:
    item, _ = put(principal, namespace=HERE, key="k", value="for a while", ttl_minutes=1)
    put(principal, namespace=HERE, key="other", value="to stay")
    expire(item)
    with pytest.raises(NotFound):
        find_item(principal, item.pk)
    with pytest.raises(NotFound):
        get_item(principal, namespace=HERE, key="k")
    assert [found.item.key for found in search_items(principal).items] == ["other"]
    assert [found.item.key for found in search_items(principal, query="for a while").items] == ["other"]
    collect_daily()
    assert [row.key for row in Item.objects.of(principal)] == ["other"]
    assert not any("for a while" in document for document in AuditPayload.objects.values_list("document", flat=True))


def expire(item: Item) -> None:
    """Move the expiry of an item into the past."""
    rows = Item.objects.unscoped("a test winds the clock").filter(pk=item.pk)
    rows.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_a_put_over_an_expired_item_is_a_new_one(principal: Principal) -> None:
    old, _ = put(principal, namespace=HERE, key="k", value="old", ttl_minutes=1)
    expire(old)
    new, created = put(principal, namespace=HERE, key="k", value="new", if_version=0)
    assert created and new.pk != old.pk and values(principal) == ["new"]


def test_a_renewal_puts_off_the_expiry_and_tells_nobody(principal: Principal) -> None:
    item, _ = put(principal, namespace=HERE, key="k", value=1, ttl_minutes=5)
    Item.objects.unscoped("a test winds the clock").update(expires_at=timezone.now() + timedelta(seconds=9))
    renew(principal, [item])
    again = find_item(principal, item.pk)
    assert again.expires_at is not None and again.expires_at > timezone.now() + timedelta(minutes=4)
    assert (again.version, len(values(principal))) == (1, 1)


def test_a_hold_keeps_what_has_expired_and_refuses_an_erasure(
    principal: Principal, tenant: Tenant, make_member: MakeMember
) -> None:
    item, _ = put(principal, namespace=HERE, key="k", value="evidence", ttl_minutes=1)
    admin = Actor(ActorKind.STAFF, make_member(tenant, "admin").user_id)
    place_hold(admin, tenant_id=tenant.pk, reason="a lawsuit")
    with pytest.raises(Conflict):
        erase(principal, item_id=item.pk)
    expire(item)
    assert erase_expired() == 0
    assert Item.objects.of(principal).get().content == "evidence"


def test_apps_share_an_item_unless_they_are_kept_apart(principal: Principal) -> None:
    planner, other = (replace(principal, app=app) for app in ("planner", "other"))
    put(planner, namespace=HERE, key="k", value=1)
    assert get_item(other, namespace=HERE, key="k").content == 1
    confined = replace(other, apart=True)
    with pytest.raises(NotFound):
        get_item(confined, namespace=HERE, key="k")
    put(confined, namespace=HERE, key="k", value=2)
    assert get_item(replace(planner, apart=True), namespace=HERE, key="k").content == 1
    for query in ("", "1 or 2"):
        assert [found.item.content for found in search_items(confined, query=query).items] == [2]
    assert {found.item.app for found in search_items(principal).items} == {"planner", "other"}


def test_all_of_a_member_takes_the_items(principal: Principal) -> None:
    put(principal, namespace=HERE, key="k", value="gone")
    put(principal, namespace=HERE, key="deleted", value="gone")
    delete(principal, namespace=HERE, key="deleted")
    assert forget_all(principal, seconds=60).complete
    assert not Item.objects.of(principal).exists()
    assert not any("gone" in document for document in AuditPayload.objects.values_list("document", flat=True))


def test_a_changed_value_and_a_lost_item_are_found_by_the_proof(principal: Principal) -> None:
    item, _ = put(principal, namespace=HERE, key="k", value=1)
    put(principal, namespace=HERE, key="k", value=2)
    rows = Item.objects.unscoped("somebody changes the database").filter(pk=item.pk)
    assert verify_chains().ok
    rows.update(value="1")
    assert [fault.memory_id for fault in verify_chains().faults] == [item.pk]
    rows.update(value="2")


def test_items_isolate_their_owner(principal: Principal, stranger: Principal) -> None:
    item, _ = put(principal, namespace=HERE, key="k", value="a xylophone")
    for read in (
        lambda: get_item(stranger, namespace=HERE, key="k"),
        lambda: find_item(stranger, item.pk),
        lambda: history_of(stranger, namespace=HERE, key="k"),
        lambda: erase(stranger, item_id=item.pk),
    ):
        with pytest.raises(NotFound):
            read()
    assert not delete(stranger, namespace=HERE, key="k")
    renew(stranger, [item])
    for query in ("", "a xylophone"):
        assert not search_items(stranger, query=query).items
    assert list_namespaces(stranger) == []
    put(stranger, namespace=HERE, key="k", value="mine")
    assert get_item(principal, namespace=HERE, key="k").content == "a xylophone"


@pytest.mark.django_db(transaction=True)
def test_two_puts_at_once_leave_one_value_and_both_in_the_history(principal: Principal) -> None:
    def work(number: int) -> int:
        try:
            return put(principal, namespace=HERE, key="k", value=number)[0].version
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(work, range(8)))
    assert sorted(versions) == list(range(1, 9))
    assert Item.objects.of(principal).get().content == versions.index(8)
    assert sorted(values(principal)) == list(range(8))
