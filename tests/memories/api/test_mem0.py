"""The routes of mem0 answer as its clients read them, and reach no further than /api/v1."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from pytest_django import Settings

from memories.api.mem0.routes import urlpatterns
from memories.api.mem0.views import ElsewhereView
from memories.models import Episode, Fact, Message, Session
from memories.services.policies import set_policy
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.end_users import provision_end_user
from tenants.models import ApiToken, AuditEvent, Membership, Tenant
from tenants.principal import KEY_RIGHTS, SYSTEM, Right
from tenants.services import deactivate
from tests.factories import make_tenant
from tests.memories.api.caller import Answer, Caller, key_of

EVERYTHING = (*KEY_RIGHTS, Right.DECIDE)
USER = "X-Memoryhub-User"


@dataclass(frozen=True)
class Front:
    """A caller of mem0's routes, as its client calls them."""

    token: str
    caller: Caller

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        named = {"Authorization": f"Token {self.token}", **headers}
        return Answer(
            self.caller.client.generic(
                method, f"/api/mem0/{path}", content, content_type="application/json", headers=named
            )
        )

    def said(self, text: str, **more: Any) -> str:
        """The id of a fact that is stored as it is said."""
        body = {"messages": [{"role": "user", "content": text}], "infer": False, **more}
        answer = self.send("POST", "v3/memories/add/", body)
        assert answer.status == 200, answer.text
        return str(answer.json["results"][0]["id"])

    def found(self, **filters: Any) -> set[str]:
        """The texts of the memories that match."""
        answer = self.send("POST", "v3/memories/", {"filters": filters})
        assert answer.status == 200, answer.text
        return {each["memory"] for each in answer.json["results"]}


def front_of(caller: Caller) -> Front:
    return Front(caller.token, caller)


@pytest.fixture
def front(tenant: Tenant, keys_made: None) -> Front:
    """A backend of the tenant, which acts for the users ann and ben."""
    for name in ("ann", "ben"):
        provision_end_user(tenant.id, name)
    return front_of(key_of(tenant, EVERYTHING))


@pytest.fixture
def elsewhere(db: None, keys_made: None) -> Front:
    """The backend of another tenant, with users of the same names."""
    other = make_tenant()
    for name in ("ann", "ben"):
        provision_end_user(other.id, name)
    return front_of(key_of(other, EVERYTHING))


def test_a_fact_is_added_read_found_changed_and_erased(front: Front) -> None:
    pk = front.said("Lives in Bristol.", user_id="ann", agent_id="planner", run_id="r1", metadata={"from": "form"})
    shown = front.send("GET", f"v1/memories/{pk}/").json
    assert (shown["id"], shown["memory"], shown["user_id"]) == (pk, "Lives in Bristol.", "ann")
    assert (shown["agent_id"], shown["run_id"], shown["metadata"]) == ("planner", "r1", {"from": "form"})
    found = front.send("POST", "v3/memories/search/", {"query": "Where?", "filters": {"user_id": "ann"}}).json
    assert [each["id"] for each in found["results"]] == [pk] and 0 < found["results"][0]["score"] <= 1
    changed = front.send("PUT", f"v1/memories/{pk}/", {"text": "Lives in York.", "metadata": {"from": "call"}}).json
    assert (changed["memory"], changed["metadata"], changed["run_id"]) == ("Lives in York.", {"from": "call"}, "r1")
    assert front.send("GET", f"v1/memories/{pk}/").json["id"] == changed["id"], "the old id leads to what it became"
    history = front.send("GET", f"v1/memories/{pk}/history/").json
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in history] == [
        ("ADD", None, "Lives in Bristol."),
        ("UPDATE", "Lives in Bristol.", "Lives in York."),
    ]
    assert front.send("DELETE", f"v1/memories/{pk}/?delete_linked=true").status == 200
    assert front.send("GET", f"v1/memories/{pk}/").status == 404 and not Fact.objects.unscoped("test").exists()


def test_what_was_ended_elsewhere_is_a_deletion_in_the_history(front: Front) -> None:
    pk = front.said("Rows on Mondays.", user_id="ann")
    assert front.caller.post(f"memories/{pk}/retire/", {"user_id": "ann"}).status == 200
    assert [each["event"] for each in front.send("GET", f"v1/memories/{pk}/history/").json] == ["ADD", "DELETE"]
    assert front.send("GET", f"v1/memories/{pk}/").status == 404


def test_messages_are_learned_from_with_their_metadata_run_and_agent(front: Front) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "I live in Porto."}]
    body = {"messages": messages, "user_id": "ann", "app_id": "desk", "run_id": "r2", "metadata": {"plan": "pro"}}
    queued = front.send("POST", "v3/memories/add/", body).json
    assert queued["status"] == "PENDING"
    assert front.send("GET", f"v1/event/{queued['event_id']}/").json["status"] == "PENDING"
    later = {"messages": [*messages, {"role": "assistant", "content": "Noted."}, {"role": "user", "content": "I row."}]}
    done = front.send("POST", "v3/memories/add/", body | later | {"async_mode": False}).json
    assert done["status"] == "SUCCEEDED", done
    (fact,) = (each for each in Fact.objects.unscoped("test") if "Porto" in each.text)
    assert (fact.app, fact.metadata) == ("desk", {"plan": "pro", "run_id": "r2"})
    said = Message.objects.unscoped("test").filter(session__external_id="r2").order_by("turn", "step")
    assert [each.text for each in said] == ["I live in Porto.", "Noted.", "I row."], "what is sent again is stored once"
    event = front.send("GET", f"v1/event/{queued['event_id']}/").json
    assert [(each["event"], each["memory"]) for each in event["results"]] == [("ADD", fact.text)]


def test_a_sentence_that_comes_back_later_is_stored_again(front: Front) -> None:
    for text in ("I live in Porto.", "I live in Porto.", "I live in Faro.", "I live in Porto."):
        body = {"messages": text, "user_id": "ann", "run_id": "r"}
        assert front.send("POST", "v3/memories/add/", body).status == 200
    assert [each.text for each in Episode.objects.unscoped("test").order_by("ordinal")] == [
        *("I live in Porto.", "I live in Faro.", "I live in Porto."),
    ]


def test_lists_come_in_pages_with_the_wanted_fields(front: Front) -> None:
    for number in range(3):
        front.said(f"Owns {['a boat', 'a barn', 'a bus'][number]}.", user_id="ann")
    page = front.send(
        "POST", "v3/memories/?page=2&page_size=2", {"filters": {"user_id": "ann"}, "fields": ["memory"]}
    ).json
    assert page["count"] == 3 and page["next"] is None and "page=1" in page["previous"]
    assert page["results"] == [{"id": page["results"][0]["id"], "memory": "Owns a boat."}]


def test_a_range_of_days_includes_its_last(front: Front) -> None:
    front.said("Owns a boat.", user_id="ann")
    today = f"{timezone.now():%Y-%m-%d}"
    for days, count in (({"start_date": today, "end_date": today}, 1), ({"end_date": "2001-01-01"}, 0)):
        answer = front.send("POST", "v3/memories/", {"filters": {"user_id": "ann"}, **days})
        assert answer.json["count"] == count, answer.text


PORTO, BEES, FARO = "Goes to Porto.", "Keeps bees.", "Goes to Faro."


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {PORTO, BEES, FARO}),
        ({"agent_id": "trips"}, {PORTO, FARO}),
        ({"app_id": "*"}, {PORTO, FARO}),
        ({"agent_id": {"ne": "trips"}}, {BEES}),
        ({"run_id": "r1"}, {PORTO}),
        ({"run_id": {"in": ["r1", "r2"]}}, {PORTO, FARO}),
        ({"metadata": {"nights": 3}}, {PORTO}),
        ({"metadata": {"nights": {"gte": 3}}}, {PORTO, FARO}),
        ({"OR": [{"run_id": "r1"}, {"NOT": [{"agent_id": "*"}]}]}, {PORTO, BEES}),
        ({"NOT": {"run_id": "r1"}}, {BEES, FARO}),
        ({"AND": [{"agent_id": "trips"}, {"NOT": [{"run_id": "r1"}]}]}, {FARO}),
        ({"created_at": {"gte": "2020-01-01", "lt": "2021-01-01"}}, set()),
        ({"created_at": {"gte": "2020-01-01T00:00:00"}}, {PORTO, BEES, FARO}),
        ({"categories": {"in": ["travel"]}}, set()),
    ],
)
def test_filters_mean_what_they_mean_there(front: Front, filters: dict[str, Any], found: set[str]) -> None:
    front.said(PORTO, user_id="ann", agent_id="trips", run_id="r1", metadata={"nights": 3})
    front.said(FARO, user_id="ann", agent_id="trips", run_id="r2", metadata={"nights": 5})
    front.said(BEES, user_id="ann")
    assert front.found(user_id="ann", **filters) == found
    asked = {"query": "Goes to keep", "filters": {"AND": [{"user_id": "ann"}, filters]}}
    answer = front.send("POST", "v3/memories/search/", asked)
    assert {each["memory"] for each in answer.json["results"]} == found


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ([], "filters"),
        ({"bogus": "z"}, "filters.bogus"),
        ({"keywords": {"contains": "bees"}}, "filters.keywords"),
        ({"memory_ids": ["x"]}, "filters.memory_ids"),
        ({"OR": [{"user_id": "ben"}, {"user_id": "ann"}]}, "filters.OR.0.user_id"),
        ({"NOT": {"user_id": "ben"}}, "filters.NOT.0.user_id"),
        ({"AND": [{"user_id": "ben"}]}, "user_id"),
        ({"AND": ["ann"]}, "filters.AND.0"),
        ({"OR": []}, "filters.OR"),
        ({"NOT": {}}, "filters.NOT"),
        ({"agent_id": {}}, "filters.agent_id"),
        ({"metadata": {}}, "filters.metadata"),
        ({"run_id": {"like": "r"}}, "filters.run_id.like.op"),
        ({"metadata": {"a": {"in": 7}}}, "filters.metadata.a.in.value"),
        ({"created_at": {"gt": "soon"}}, "filters.created_at.gt"),
        ({"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{}]}]}]}]}]}]}]}]}, None),
        ({"OR": [{"run_id": str(number)} for number in range(65)]}, "filters.OR.64.run_id.eq"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_its_place(front: Front, filters: Any, field: str | None) -> None:
    named = filters if isinstance(filters, list) else {"user_id": "ann"} | filters
    asked: dict[str, Any] = {"filters": named} | ({"user_id": "ann"} if isinstance(filters, list) else {})
    for path in ("v3/memories/", "v3/memories/search/"):
        answer = front.send("POST", path, asked | ({"query": "x"} if "search" in path else {}))
        assert answer.status == 400, answer.text
        assert field is None or field in [each["field"] for each in answer.json["errors"]], answer.text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": {"type": "image_url"}}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"messages": [{"role": "assistant", "content": "Hm."}], "infer": False}, "messages"),
        ({"messages": "x", "infer": "no"}, "infer"),
        ({"messages": "x", "agent_id": "a", "app_id": "b"}, "app_id"),
        ({"messages": "x", "custom_categories": [{"a": "b"}]}, "custom_categories"),
        ({"messages": "x", "enable_graph": True}, "enable_graph"),
        ({"messages": "x", "expiration_date": "2099-01-01"}, "expiration_date"),
        ({"messages": "x", "metadata": {"a": None, "b": {"c.d": 1}}}, "metadata"),
        ({"messages": "x", "filters": {"OR": []}}, "OR"),
        ({"messages": "x", "colour": "red"}, "colour"),
    ],
)
def test_what_has_no_counterpart_is_refused_and_nothing_is_stored(front: Front, body: Any, field: str) -> None:
    answer = front.send("POST", "v3/memories/add/", {"user_id": "ann", **body})
    assert answer.status == 400 and field in {each["field"] for each in answer.json["errors"]}, answer.text
    assert (
        answer.json["detail"] == answer.json["error"] and answer.response.headers["Content-Type"] == "application/json"
    )
    assert not Session.objects.unscoped("test").exists() and not Fact.objects.unscoped("test").exists()


def test_options_that_change_nothing_here_are_taken(front: Front) -> None:
    options = {"version": "v2", "output_format": "v1.1", "org_id": "o", "project_id": "p", "enable_graph": False}
    assert front.said("Keeps bees.", user_id="ann", **options)
    asked = {"query": "bees", "filters": {"user_id": "ann"}, "rerank": True, "keyword_search": True, "metadata": None}
    assert front.send("POST", "v3/memories/search/", asked | options).status == 200


def test_routes_without_a_counterpart_say_what_to_use(front: Front) -> None:
    for method, path, words in (
        ("POST", "v1/exports/", "/api/v1/export/"),
        ("POST", "v1/feedback/", "update or delete"),
        ("GET", "v2/entities/user/ann/profile/", "profile"),
        ("DELETE", "v2/entities/agent/planner/", "user by user"),
        ("POST", "api/v1/webhooks/projects/1/", "/api/v1/webhooks/"),
        ("POST", "v2/memories/search/", "docs/mem0.md"),
    ):
        answer = front.send(method, path)
        assert answer.status == 501 and words in answer.json["detail"], answer.text


def test_a_key_names_one_user(front: Front) -> None:
    pk = front.said("Keeps bees.", user_id="ann")
    for method, path, body in (
        ("POST", "v3/memories/add/", {"messages": "x"}),
        ("POST", "v3/memories/", {"filters": {"agent_id": "a"}}),
        ("POST", "v3/memories/", {"filters": {"user_id": "*"}}),
        ("POST", "v3/memories/", {"filters": {"AND": [{"user_id": "ann"}, {"user_id": "ben"}]}}),
        ("POST", "v3/memories/", {"filters": {"user_id": {"in": ["ann", "ben"]}}}),
        ("POST", "v3/memories/search/?user_id=ben", {"query": "x", "user_id": "ann"}),
        ("DELETE", "v1/memories/", None),
        ("DELETE", "v1/memories/?user_id=*", None),
        ("DELETE", "v1/memories/?filters={'user_id': 'ann'}", None),
        ("DELETE", 'v1/memories/?filters={"user_id": "ann", "user_id": "ben"}', None),
        ("DELETE", f"v1/memories/?user_id=ann&filters={'[' * 4000}", None),
        ("POST", "v3/memories/", {"filters": json.loads('{"AND":[' * 400 + "{}" + "]}" * 400), "user_id": "ann"}),
        ("DELETE", "v2/entities/user/ann/?user_id=ben", None),
    ):
        answer = front.send(method, path, body)
        assert answer.status == 400, (path, answer.text)
    assert front.send("GET", f"v1/memories/{pk}/", **{USER: "ben"}).status == 404
    assert front.send("GET", f"v1/memories/{pk}/").status == 200


def test_a_members_token_reaches_its_own_memory_alone(front: Front, ada: Caller) -> None:
    own, pk = front_of(ada), front.said("Keeps bees.", user_id="ann")
    mine = own.said("Keeps hens.")
    assert own.found() == {"Keeps hens."} and own.send("GET", f"v1/memories/{mine}/").status == 200
    assert own.send("GET", f"v1/memories/{pk}/").status == 404
    assert own.send("POST", "v3/memories/", {"filters": {"user_id": "ann"}}).status == 404
    assert own.send("DELETE", "v1/memories/").status == 400, "erasing everything has to be said"
    assert front.send("GET", f"v1/memories/{mine}/").status == 404, (
        "no key acts for whom the tenant's system cannot name"
    )


# A call for each route and method with an id of somebody else's.
BY_ID: dict[tuple[str, str], Any] = {
    ("memory", "GET"): None,
    ("memory", "PUT"): {"text": "Mine."},
    ("memory", "DELETE"): None,
    ("history", "GET"): None,
    ("event", "GET"): None,
    ("batch", "PUT"): lambda pk: {"memories": [{"memory_id": pk, "text": "Mine."}]},
    ("batch", "DELETE"): lambda pk: {"memories": [{"memory_id": pk}]},
}
PATHS = {
    "memory": "v1/memories/{}/",
    "history": "v1/memories/{}/history/",
    "event": "v1/event/{}/",
    "batch": "v1/batch/",
}
# Lists, and what names its user: they show the user's own.
OF_USERS = {
    ("add", "POST"): ("v3/memories/add/", {"messages": "What is known of the bees?", "async_mode": False}),
    ("list", "POST"): ("v3/memories/", {}),
    ("search", "POST"): ("v3/memories/search/", {"query": "bees"}),
    ("memories", "DELETE"): ("v1/memories/", None),
    ("entity", "DELETE"): ("v2/entities/user/ben/", None),
    ("entity-1", "DELETE"): ("v1/entities/user/ben/", None),
    ("entities", "GET"): ("v1/entities/", None),
    ("ping", "GET"): ("v1/ping/", None),
}


def test_every_route_is_probed() -> None:
    views = {pattern.name: vars(pattern.callback)["cls"] for pattern in urlpatterns}
    views = {name: view for name, view in views.items() if view is not ElsewhereView}
    assert {(name, method) for name, view in views.items() for method in view.rights} == set(BY_ID) | set(OF_USERS)


@pytest.mark.parametrize(("route", "method"), list(BY_ID))
def test_ids_of_others_are_answered_like_unknown_ids(
    front: Front, elsewhere: Front, ada: Caller, eve: Caller, route: str, method: str
) -> None:
    added = front.send("POST", "v3/memories/add/", {"messages": "I keep bees.", "user_id": "ann"}).json
    pk = added["event_id"] if route == "event" else front.said("Keeps bees.", user_id="ann")
    body, same = BY_ID[route, method], {"X-Request-ID": "the-same-request"}

    def reach(who: Front, target: str, **headers: str) -> tuple[int, str]:
        given = body(target) if callable(body) else body
        answer = who.send(method, PATHS[route].format(target), given, **same, **headers)
        return answer.status, answer.text

    for who, headers in (
        (front, {USER: "ben"}),
        (elsewhere, {}),
        (elsewhere, {USER: "ann"}),
        (front_of(ada), {}),
        (front_of(eve), {}),
    ):
        assert reach(who, pk, **headers) == reach(who, str(uuid4()), **headers)
        assert reach(who, pk, **headers)[0] == 404
    assert Fact.objects.unscoped("test").filter(text="Keeps bees.").exists() == (route != "event")
    assert reach(front, pk)[0] == 200, "its own backend reaches it"


@pytest.mark.parametrize(("route", "method"), list(OF_USERS))
def test_lists_show_and_change_nobody_elses(
    front: Front, elsewhere: Front, ada: Caller, route: str, method: str
) -> None:
    front.said("Keeps bees.", user_id="ann")
    path, body = OF_USERS[route, method]
    if route in ("list", "search"):
        assert "Keeps bees" in front.send(method, path, body, **{USER: "ann"}).text
    for who, headers in ((front, {USER: "ben"}), (elsewhere, {USER: "ben"}), (front_of(ada), {})):
        answer = who.send(method, path, body, **headers)
        assert answer.status in (200, 400, 404) and "Keeps bees" not in answer.text and '"ann"' not in answer.text
    assert Fact.objects.unscoped("test").filter(text="Keeps bees.").exists()


def test_staff_and_deactivated_members_are_as_unknown(front: Front, tenant: Tenant, ada: Caller) -> None:
    pk = front.said("Keeps bees.", user_id="ann")
    deactivate(Membership.objects.get(external_id="ann", tenant=tenant), actor=SYSTEM)
    Membership.objects.filter(pk=ada.principal.membership_id).update(role="admin", external_id="boss")
    of_staff = front_of(ada).said("Signs the cheques.")
    for each in (pk, of_staff):
        assert front.send("GET", f"v1/memories/{each}/").status == 404


def test_a_batch_is_of_one_user_and_changes_all_or_nothing(front: Front) -> None:
    bees, hens = front.said("Keeps bees.", user_id="ann"), front.said("Keeps hens.", user_id="ann")
    bens = front.said("Keeps pigs.", user_id="ben")
    update = {"memories": [{"memory_id": bees, "text": "Keeps wasps."}, {"memory_id": hens, "text": ""}]}
    assert front.send("PUT", "v1/batch/", update).status == 400
    mixed = {"memories": [{"memory_id": bees}, {"memory_id": bens}]}
    assert front.send("DELETE", "v1/batch/", mixed).status == 400
    assert (
        front.send("DELETE", "v1/batch/", {"memories": [{"memory_id": bees}, {"memory_id": str(uuid4())}]}).status
        == 404
    )
    assert front.found(user_id="ann") == {"Keeps bees.", "Keeps hens."}
    update["memories"][1]["text"] = "Keeps geese."
    assert front.send("PUT", "v1/batch/", update).json["message"] == "Successfully updated 2 memories"
    assert front.found(user_id="ann") == {"Keeps wasps.", "Keeps geese."}
    assert front.send("DELETE", "v1/batch/", {"memories": [{"memory_id": bees}, {"memory_id": hens}]}).status == 200
    assert front.found(user_id="ann") == set()
    unreadable: list[Any] = [{}, {"memories": []}, {"memories": [7]}, {"memories": [{"memory_id": "x"}]}, []]
    for body in unreadable:
        assert front.send("PUT", "v1/batch/", body).status == 400


def test_all_of_a_user_goes_or_what_an_agent_keeps(front: Front) -> None:
    front.said("Goes to Porto.", user_id="ann", agent_id="trips")
    front.said("Keeps bees.", user_id="ann")
    front.said("Keeps pigs.", user_id="ben")
    front.send("POST", "v3/memories/add/", {"messages": "I like it here.", "user_id": "ann"})
    assert front.send("DELETE", "v1/memories/?user_id=ann&agent_id=trips").status == 200
    assert front.found(user_id="ann") == {"Keeps bees."} and Session.objects.unscoped("test").exists()
    assert {each["name"] for each in front.send("GET", "v1/entities/").json["results"]} == {"ann", "ben"}
    assert front.send("DELETE", "v2/entities/user/ann/").status == 200
    assert not Session.objects.unscoped("test").exists() and front.found(user_id="ben") == {"Keeps pigs."}
    assert [each["name"] for each in front.send("GET", "v1/entities/").json["results"]] == ["ben"]


def test_an_empty_narrowing_erases_nothing_and_a_user_alone_is_none(front: Front) -> None:
    front.said("Keeps bees.", user_id="ann")
    empties: list[Any] = [{"agent_id": None}, {"metadata": {}}, {"filters": {}}, {"filters": {"AND": [{}]}}]
    for empty in empties:
        answer = front.send("DELETE", "v1/memories/", {"user_id": "ann", **empty})
        assert answer.status == 400 and "leave it out" in answer.json["detail"]
    assert front.send("DELETE", "v1/memories/", {"user_id": "ann", "metadata": False}).status == 400
    assert front.found(user_id="ann") == {"Keeps bees."}
    alone = {"filters": {"AND": [{"user_id": "ann"}]}}
    assert front.send("DELETE", "v1/memories/?org_id=", alone).status == 200 and front.found(user_id="ann") == set()


def test_filters_that_are_sent_twice_erase_nothing(front: Front) -> None:
    front.said("Keeps bees.", user_id="ann", agent_id="trips")
    filters = quote(json.dumps({"user_id": "ann"}))
    body = {"filters": {"AND": [{"user_id": "ann"}, {"agent_id": "desk"}]}}
    answer = front.send("DELETE", f"v1/memories/?filters={filters}", body)
    assert answer.status == 400 and "send them once" in answer.json["detail"]
    assert front.found(user_id="ann") == {"Keeps bees."}


def test_what_a_fact_replaced_goes_with_it_if_that_is_asked_in_the_body_too(front: Front) -> None:
    pk = front.said("Lives in Bristol.", user_id="ann")
    front.send("PUT", f"v1/memories/{pk}/", {"text": "Lives in York."})
    assert front.send("DELETE", f"v1/memories/{pk}/", {"delete_linked": True}).status == 200
    assert not Fact.objects.unscoped("test").exists()


def test_rights_are_those_of_the_api(front: Front, tenant: Tenant) -> None:
    pk = front.said("Keeps bees.", user_id="ann")
    plain = front_of(key_of(tenant))
    for path in (f"v1/memories/{pk}/", "v1/memories/?user_id=ann", "v2/entities/user/ann/"):
        answer = plain.send("DELETE", path)
        assert answer.status == 403 and "memory:decide" in answer.json["detail"]
    reader = front_of(key_of(tenant, [Right.READ]))
    assert reader.found(user_id="ann") == {"Keeps bees."}
    assert reader.send("PUT", f"v1/memories/{pk}/", {"text": "Keeps wasps."}).status == 403
    assert reader.send("GET", "v1/entities/").status == 403
    assert front.send("GET", "v1/ping/").json["status"] == "ok"
    for header in ("Token mhb_nothing", "Basic abc", "Token"):
        assert front.send("GET", "v1/ping/", Authorization=header).status == 401
    unnamed = front.send("POST", "v3/memories/search/", {"query": "bees"})
    assert "user_id, of the call or of its filters, or the header" in unnamed.text
    assert "send `Authorization: Token …`" in front.send("GET", "v1/ping/", Authorization="Basic abc").json["detail"]


def test_what_is_done_is_in_the_audit_log_as_the_keys(front: Front) -> None:
    pk = front.said("Keeps bees.", user_id="ann")
    event = AuditEvent.objects.get(action="fact.created", target_id=UUID(pk))
    key = ApiToken.objects.get()
    assert (event.actor_kind, event.actor_id) == ("key", key.pk)
    assert event.owner_id == Membership.objects.get(external_id="ann", tenant=key.tenant).user_id


def test_an_agent_that_is_kept_apart_sees_and_changes_its_own(front: Front, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, apps_apart=True)
    pk = front.said("Keeps bees.", user_id="ann", agent_id="garden")
    other = {USER: "ann", "X-Memoryhub-App": "kitchen"}
    assert front.send("GET", f"v1/memories/{pk}/", **other).status == 404
    assert front.send("DELETE", f"v1/memories/{pk}/", **other).status == 404
    assert front.send("POST", "v3/memories/", {"filters": {"agent_id": "garden"}}, **other).json["results"] == []
    assert front.send("GET", f"v1/memories/{pk}/", **other | {"X-Memoryhub-App": "garden"}).status == 200


def test_limits_are_those_of_the_api(front: Front, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS) | {"token_writes": 1}
    front.said("Keeps bees.", user_id="ann")
    answer = front.send("POST", "v3/memories/add/", {"messages": "x", "user_id": "ann"})
    assert answer.status == 429 and answer.response.headers["Retry-After"] and "again in" in answer.json["detail"]
    assert front.said("Keeps pigs.", user_id="ben"), "another user has a share of their own"


def test_what_is_stored_as_it_is_said_counts_as_entries(front: Front, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS) | {"token_entries": 1}
    said = [{"role": "user", "content": text} for text in ("Keeps bees.", "Keeps pigs.")]
    answer = front.send("POST", "v3/memories/add/", {"messages": said, "user_id": "ann", "infer": False})
    assert (answer.status, answer.json["violated-policies"]) == (429, ["token-entries"])
    assert front.found(user_id="ann") == set()


def test_an_idempotency_key_holds_here_as_well(front: Front) -> None:
    body = {"messages": "Keeps bees.", "user_id": "ann", "infer": False}
    one, two = (front.send("POST", "v3/memories/add/", body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert one.json == two.json and two.response.headers["Idempotency-Replayed"] == "true"
