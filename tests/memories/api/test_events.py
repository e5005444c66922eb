"""The feed of events: what happened to whom, in an order that misses nothing, and for nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.models import ErasureRequest, FeedEntry, LearningOperation, RequestState
from memories.selectors import feed as feeds
from memories.services import feed
from memories.services.consolidation.running import consolidate
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.services.feed import add_new_events
from memories.services.items import erase_expired
from memories.services.policies import set_policy
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from tenants.end_users import provision_end_user
from tenants.models import Membership, Tenant
from tenants.principal import SYSTEM, KeyHolder, Right
from tests.factories import make_tenant
from tests.memories.api.caller import Caller, caller_of, key_of


def events(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = caller.get(f"events/?limit=100{query}")
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json["results"]
    return found


def types(caller: Caller, query: str = "") -> list[str]:
    return [each["type"] for each in events(caller, query)]


def said(caller: Caller, text: str, **more: Any) -> str:
    answer = caller.post("memories/", {"text": text, **more})
    assert answer.status == 201, answer.text
    return str(answer.json["memory_id"])


def test_a_memory_is_followed_from_its_beginning_to_its_erasure(key: Caller, ann: Membership) -> None:
    old = said(key, "Lives in Hull.", key="home_city", user_id="ann")
    new = said(key, "Lives in York.", key="home_city", user_id="ann")
    key.post(f"memories/{new}/retire/", {"user_id": "ann"})
    key.delete(f"memories/{old}/?cascade=true&user_id=ann")
    mine = [(each["type"], each["data"]["id"]) for each in events(key, "&user_id=ann")]
    kinds = [kind for kind, memory in mine if memory == old]
    assert (kinds[0], "memory.superseded" in kinds, kinds[-1]) == ("memory.created", True, "memory.erased")
    assert ("memory.created", new) in mine and ("memory.retired", new) in mine


def test_an_event_holds_ids_and_no_text(key: Caller, ann: Membership) -> None:
    memory = said(key, "Plays the xylophone.", key="instrument", app="shop", user_id="ann")
    (event,) = events(key, "&types=memory.created")
    assert event["data"] == {
        "kind": "semantic",
        "id": memory,
        "user_id": "ann",
        "member_id": str(ann.pk),
        "app": "shop",
        "actor": "key",
    }
    assert "xylophone" not in key.get("events/").text.lower()


def test_an_item_is_followed_from_its_first_put_to_its_erasure(key: Caller, ann: Membership) -> None:
    at = {"namespace": ["trips"], "key": "seat", "user_id": "ann", "app": "shop"}
    item, _ = (key.send("PUT", "items/", {**at, "value": value}).json["id"] for value in ("aisle", "window"))
    key.delete("items/?namespace=trips&key=seat&user_id=ann")
    key.send("PUT", "items/", {**at, "value": "any"})
    mine = [each for each in events(key) if each["type"].startswith("item.")]
    assert [each["type"] for each in mine] == ["item.created", "item.replaced", "item.deleted", "item.restored"]
    assert {(each["data"]["kind"], each["data"]["id"], each["data"]["app"]) for each in mine} == {
        ("item", item, "shop")
    }
    assert key.delete(f"items/{item}/?user_id=ann").json == {"erased": True}
    assert types(key, "&types=item.erased,item.expired") == ["item.erased"]
    assert "seat" not in key.get("events/").text


def test_an_item_whose_time_is_over_is_told_when_it_is_erased(key: Caller, ann: Membership) -> None:
    body = {"namespace": ["trips"], "key": "seat", "value": 1, "ttl_minutes": 1, "user_id": "ann"}
    item = key.send("PUT", "items/", body).json["id"]
    erase_expired(timezone.now() + timedelta(minutes=2))
    assert [each["data"]["id"] for each in events(key, "&types=item.expired")] == [item]


def test_a_page_follows_another_and_the_last_cursor_finds_what_comes_later(key: Caller, ann: Membership) -> None:
    memories = [said(key, f"Fact {number}.", user_id="ann") for number in range(3)]
    first = key.get("events/?types=memory.created&limit=2").json
    assert first["has_more"]
    rest = key.get(f"events/?types=memory.created&limit=2&cursor={first['next_cursor']}").json
    assert [each["data"]["id"] for each in (*first["results"], *rest["results"])] == memories
    assert not rest["has_more"]
    assert key.get(f"events/?types=memory.created&cursor={rest['next_cursor']}").json["results"] == []
    later = said(key, "Later.", user_id="ann")
    found = key.get(f"events/?types=memory.created&cursor={rest['next_cursor']}").json["results"]
    assert [each["data"]["id"] for each in found] == [later]


def test_an_event_of_an_earlier_time_that_commits_late_comes_after_the_cursor(
    key: Caller, tenant: Tenant, ann: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the transaction of a slow writer does, or one on a machine whose clock is behind."""
    provision_end_user(tenant.id, "bob")
    memory = said(key, "Of Ann.", user_id="ann")
    first = key.get("events/?types=memory.created").json
    assert [each["data"]["id"] for each in first["results"]] == [memory]
    now = timezone.now()
    with monkeypatch.context() as behind:
        behind.setattr(timezone, "now", lambda: now - timedelta(minutes=5))
        late = said(key, "Of Bob.", user_id="bob")
    then = key.get(f"events/?types=memory.created&cursor={first['next_cursor']}").json["results"]
    assert [each["data"]["id"] for each in then] == [late]
    assert then[0]["timestamp"] < first["results"][0]["timestamp"]


def test_a_long_backlog_is_read_piece_by_piece(
    key: Caller, tenant: Tenant, ann: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [said(key, f"Fact {number}.", user_id="ann") for number in range(5)]
    monkeypatch.setattr(feed, "_EVENTS", 2)
    found, cursor, more = [], "", True
    while more:
        page = key.get(f"events/?cursor={cursor}").json
        found += [each["data"]["id"] for each in page["results"] if each["type"] == "memory.created"]
        cursor, more = page["next_cursor"], page["has_more"]
    assert found == memories


def test_a_member_sees_their_own_events_alone(ada: Caller, bob: Caller, key: Caller, ann: Membership) -> None:
    memory = said(ada, "Mine.")
    said(bob, "Of Bob.")
    said(key, "Of Ann.", user_id="ann")
    assert [each["data"]["id"] for each in events(ada)] == [memory]
    cursor = key.get("events/").json["next_cursor"]
    assert ada.get(f"events/?cursor={cursor}").json["results"] == []


def test_only_administrators_and_keys_with_the_right_see_everyone(
    ada: Caller, admin: Caller, key: Caller, tenant: Tenant, ann: Membership
) -> None:
    said(key, "Of Ann.", user_id="ann")
    assert "memory.created" in types(admin, "&everyone=true") and types(admin) == []
    for refused in (ada, caller_of(ann)):
        assert refused.get("events/?everyone=true").status == 403
    assert key_of(tenant, [Right.READ]).get("events/").status == 403
    assert key_of(tenant, [Right.EVENTS]).get("events/").status == 403
    assert key.get("events/?user_id=ann&everyone=true").status == 403


def test_a_key_sees_no_events_of_staff_and_of_people_without_an_id(ada: Caller, admin: Caller, key: Caller) -> None:
    said(ada, "Mine.")
    said(admin, "Mine.")
    assert types(key) == []


def test_another_tenant_sees_nothing(key: Caller, ann: Membership) -> None:
    said(key, "Of Ann.", user_id="ann")
    cursor = key.get("events/?limit=1").json["next_cursor"]
    stranger = key_of(make_tenant(), Right)
    assert events(stranger) == events(stranger, f"&cursor={cursor}") == []


def test_apps_that_are_kept_apart_see_their_own_events(ada: Caller, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, apps_apart=True)
    shop, desk = (said(ada, f"For {app}.", app=app) for app in ("shop", "desk"))
    seen = ada.send("GET", "events/", **{"X-Memoryhub-App": "shop"}).text
    assert shop in seen and desk not in seen


def test_learning_that_ends_names_its_operations(ada: Caller) -> None:
    session = start_session(ada.principal)
    remember_episode(ada.principal, session_id=session.pk, text="I live in Hull.")
    operation = LearningOperation.objects.create(
        tenant_id=ada.principal.tenant_id, user_id=ada.principal.user_id, first_ordinal=1, last_ordinal=1
    )
    consolidate(ada.principal)
    (event,) = events(ada, "&types=learning.finished")
    assert event["data"]["operation_ids"] == [str(operation.pk)]


def test_the_feed_begins_at_a_time(ada: Caller) -> None:
    said(ada, "Before.")
    now = timezone.now()
    later = said(ada, "After.")
    since = now.isoformat().replace("+00:00", "Z")
    assert [each["data"]["id"] for each in events(ada, f"&since={since}")] == [later]
    assert events(ada, f"&since={(now + timedelta(days=1)).isoformat().replace('+00:00', 'Z')}") == []


@pytest.mark.parametrize("query", ["cursor=nonsense", "cursor=%C3%A4", "types=nothing", "since=yesterday", "limit=0"])
def test_a_question_that_has_no_answer_is_refused(ada: Caller, query: str) -> None:
    assert ada.get(f"events/?{query}").status == 400


def test_an_old_cursor_is_refused_rather_than_missing_events(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    cursor = ada.get("events/").json["next_cursor"]
    monkeypatch.setattr(feeds, "KEPT", timedelta(seconds=-1))
    assert "cursor" in ada.get(f"events/?cursor={cursor}").faults


def test_an_erased_member_leaves_no_events_but_that_they_were_erased(
    key: Caller, tenant: Tenant, ann: Membership
) -> None:
    said(key, "Of Ann.", user_id="ann")
    assert "memory.created" in types(key)
    holder = KeyHolder(tenant.id, tenant.id, frozenset(Right))
    request = ask_erasure(holder, membership_id=ann.pk, reason="Asked for.")
    ErasureRequest.objects.filter(pk=request.pk).update(begins_at=timezone.now())
    assert carry_out(request.pk)
    assert ErasureRequest.objects.get(pk=request.pk).state == RequestState.DONE
    assert not FeedEntry.objects.filter(membership=ann, event__owner_id=ann.user_id).exists()
    add_new_events(tenant.id)
    (erased,) = events(key)
    assert (erased["type"], erased["data"]["id"]) == ("member.erased", str(request.pk))
    assert (erased["data"]["user_id"], erased["data"]["member_id"]) == (None, str(ann.pk))


def test_the_first_look_after_an_erasure_shows_nothing_of_the_member(
    key: Caller, tenant: Tenant, ann: Membership
) -> None:
    said(key, "Of Ann.", user_id="ann")
    holder = KeyHolder(tenant.id, tenant.id, frozenset(Right))
    request = ask_erasure(holder, membership_id=ann.pk, reason="Asked for.")
    ErasureRequest.objects.filter(pk=request.pk).update(begins_at=timezone.now())
    assert carry_out(request.pk)
    assert types(key) == ["member.erased"]


def test_what_is_not_read_takes_no_row(ada: Caller) -> None:
    said(ada, "Mine.")
    assert not FeedEntry.objects.exists()
    assert len(events(ada)) == 1
    assert FeedEntry.objects.count() == 1
