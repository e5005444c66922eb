"""A backend key acts for the members of its tenant, one at a time, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from memories.models import Fact
from memories.services.policies import set_policy
from tenants.end_users import provision_end_user
from tenants.models import ApiToken, AuditEvent, Membership, Tenant
from tenants.principal import KEY_RIGHTS, SYSTEM, Right
from tenants.services import deactivate, issue_key, revoke_token, rotate_token
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Answer, Caller, caller_of, key_of

FACT = {"text": "Lives in Leeds."}
USER = "X-Memoryhub-User"


@pytest.fixture
def key(tenant: Tenant, ann: Membership) -> Caller:
    return key_of(tenant)


def texts(answer: Answer) -> list[str]:
    assert answer.status == 200
    return [memory["text"] for memory in answer.json["results"]]


def test_a_key_acts_for_the_user_that_header_query_or_body_names(key: Caller) -> None:
    assert key.post("memories/", FACT | {"user_id": "ann"}).status == 201
    assert texts(key.get("memories/?user_id=ann")) == [FACT["text"]]
    assert texts(key.send("GET", "memories/", **{USER: "ann"})) == [FACT["text"]]


def test_what_a_key_does_names_the_key_and_the_member(key: Caller, ann: Membership) -> None:
    key.post("memories/", FACT | {"user_id": "ann"})
    event = AuditEvent.objects.get(action="fact.created")
    assert (event.actor_kind, event.actor_id, event.owner_id) == ("key", ApiToken.objects.get().id, ann.user_id)


def test_a_request_that_names_nobody_is_asked_whose_memory(key: Caller) -> None:
    for answer in (key.get("memories/"), key.post("memories/", FACT)):
        assert answer.status == 400 and "say whose memory" in answer.faults["user_id"]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        pytest.param("memories/?user_id=bob", None, {USER: "ann"}, id="query and header"),
        pytest.param("memories/?user_id=ann&user_id=bob", None, {}, id="query twice"),
        pytest.param("memories/", FACT | {"user_id": "bob"}, {USER: "ann"}, id="body and header"),
        pytest.param("memories/?user_id=ann", FACT | {"user_id": "bob"}, {}, id="body and query"),
        pytest.param("memories/", b'{"text": "x", "user_id": "ann", "user_id": "bob"}', {}, id="body twice"),
        pytest.param("memories/?user_id=ANN", FACT | {"user_id": "ann"}, {}, id="case"),
        pytest.param("memories/", FACT | {"user_id": ["ann"]}, {}, id="array"),
        pytest.param("memories/", FACT | {"user_id": None}, {USER: "ann"}, id="null"),
        pytest.param("memories/", FACT | {"user_id": 7}, {}, id="number"),
        pytest.param("memories/", FACT | {"user_id": ""}, {USER: "ann"}, id="empty"),
        pytest.param("memories/", FACT | {"user_id": "ann "}, {}, id="space"),
        pytest.param("memories/", FACT | {"user_id": "ann\u200b"}, {}, id="not seen"),
        pytest.param("memories/", FACT | {"user_id": "ann\0"}, {}, id="NUL"),
        pytest.param("memories/", FACT | {"user_id": "../ann"}, {}, id="path"),
        pytest.param("memories/", FACT | {"user_id": "a" * 201}, {}, id="long"),
        pytest.param("memories/", None, {USER: "ann, bob"}, id="header of two"),
        pytest.param("memories/", None, {USER: "änn"}, id="header of other letters"),
        pytest.param("memories/", None, {USER: ""}, id="empty header"),
    ],
)
def test_a_request_that_two_readers_could_read_differently_is_refused(
    key: Caller, tenant: Tenant, path: str, body: object, headers: dict[str, str]
) -> None:
    provision_end_user(tenant.id, "bob")
    answer = key.send("POST" if body else "GET", path, body, **headers)
    assert answer.status == 400 and answer.faults
    assert not Fact.objects.exists() and tenant.memberships.count() == 2


def test_ids_are_equal_only_if_every_character_is(key: Caller, tenant: Tenant) -> None:
    key.post("memories/", FACT | {"user_id": "ann"})
    for other in ("Ann", "ａｎｎ", "anñ", "ann.", "%61nn"):
        assert key.post("recall/", {"query": "Leeds", "user_id": other}).status == 404


def test_a_member_names_nobody_but_themselves(tenant: Tenant, ann: Membership, ada: Caller) -> None:
    own = caller_of(ann)
    assert own.get("memories/?user_id=ann").status == 200
    problems = [caller.get(f"memories/?user_id={user}").problem for caller in (own, ada) for user in ("bob", "nobody")]
    problems.append(ada.get("memories/?user_id=ann").problem)
    assert all(problem == problems[0] and problem["status"] == 404 for problem in problems)


def test_a_key_isolates_other_tenants(key: Caller, ann: Membership) -> None:
    elsewhere = provision_end_user(make_tenant().id, "ann")[0]
    fact = caller_of(elsewhere).post("memories/", {"text": "Of the other Ann."}).json["memory"]["id"]
    assert texts(key.get("memories/?user_id=ann")) == []
    unknown = key.get(f"memories/{elsewhere.id}/?user_id=ann").problem
    assert key.get(f"memories/{fact}/?user_id=ann").problem == unknown


def test_a_key_isolates_other_members(key: Caller, tenant: Tenant) -> None:
    provision_end_user(tenant.id, "bob")
    fact = key.post("memories/", FACT | {"user_id": "ann"}).json["memory"]["id"]
    assert key.get(f"memories/{fact}/?user_id=bob").status == 404
    assert texts(key.get("memories/?user_id=bob")) == []


def test_unknown_deactivated_and_staff_users_get_one_answer(key: Caller, tenant: Tenant) -> None:
    deactivate(provision_end_user(tenant.id, "gone")[0])
    for role in ("admin", "support", "auditor"):
        Membership.objects.filter(pk=make_membership(tenant, role=role).pk).update(external_id=role)
    users = ("nobody", "gone", "admin", "support", "auditor")
    problems = [key.get(f"memories/?user_id={user}").problem for user in users]
    assert all(problem == problems[0] and problem["status"] == 404 for problem in problems)
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    assert [key.get(f"memories/?user_id={user}").status for user in users] == [200, 404, 404, 404, 404]


def test_a_member_is_made_on_first_use_if_the_policy_says_so(key: Caller, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    assert key.post("memories/", FACT | {"user_id": "new"}).status == 201
    assert texts(key.get("memories/?user_id=new")) == [FACT["text"]]
    member = tenant.memberships.get(external_id="new")
    assert (member.role, member.user.speaker, member.user.has_usable_password()) == ("member", "new", False)
    assert AuditEvent.objects.filter(action="member.added", actor_kind="key").count() == 1


def test_a_key_without_the_scope_makes_nobody(tenant: Tenant, db: None) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    assert key_of(tenant, {Right.MEMBERS}).get("memories/?user_id=new").status == 403
    assert not tenant.memberships.exists()


def test_a_key_without_the_scope_is_told_where_scopes_are_named(key: Caller) -> None:
    answer = key.get("webhooks/")
    assert answer.status == 403 and "`events`" in answer.json["detail"]
    assert "`token create --scopes`" in answer.json["detail"]


def test_a_method_that_does_not_exist_makes_nobody(key: Caller, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    assert [key.send(method, "memories/?user_id=new").status for method in ("PUT", "PATCH")] == [405, 405]
    assert tenant.memberships.count() == 1


def ended_keys(tenant: Tenant) -> Iterable[Caller]:
    now = timezone.now()
    for row in ({"revoked_at": now}, {"expires_at": now}, {"last_used_at": now - timedelta(days=91)}):
        ended = key_of(tenant)
        ApiToken.objects.filter(prefix=ended.token[:10]).update(**row)
        yield ended
    yield key_of(tenant, networks=["10.0.0.0/8", "2001:db8::/32"])
    rotated = key_of(tenant)
    rotate_token(ApiToken.objects.get(prefix=rotated.token[:10]), grace=timedelta())
    yield rotated


def test_a_key_that_does_not_work_is_refused_alike(tenant: Tenant, ann: Membership) -> None:
    problems = [ended.get("memories/?user_id=ann").problem for ended in ended_keys(tenant)]
    assert all(problem == problems[0] and problem["status"] == 401 for problem in problems)


def test_a_key_of_a_deactivated_tenant_is_refused(key: Caller, tenant: Tenant) -> None:
    deactivate(tenant)
    assert key.get("memories/?user_id=ann").status == 401


def test_both_secrets_work_in_the_grace_of_a_rotation(key: Caller, tenant: Tenant) -> None:
    token = ApiToken.objects.get()
    new = Caller(rotate_token(token), key.principal)
    assert [each.get("memories/?user_id=ann").status for each in (key, new)] == [200, 200]
    ApiToken.objects.update(previous_until=timezone.now())
    assert [each.get("memories/?user_id=ann").status for each in (key, new)] == [401, 200]
    revoke_token(token)
    assert new.get("memories/?user_id=ann").status == 401


def test_a_key_works_only_in_its_networks(tenant: Tenant, ann: Membership, settings: Settings) -> None:
    inside = key_of(tenant, networks=["127.0.0.0/8"])
    assert inside.get("memories/?user_id=ann").status == 200
    forged = inside.send("GET", "memories/?user_id=ann", **{"X-Forwarded-For": "10.0.0.1"})
    assert forged.status == 200  # without a proxy nobody is believed
    settings.MEMORYHUB_TRUST_PROXY = True
    for address, status in (("10.0.0.1", 401), ("127.0.0.1, 10.0.0.1", 401), ("10.0.0.1, 127.0.0.9", 200), ("", 401)):
        assert inside.send("GET", "memories/?user_id=ann", **{"X-Forwarded-For": address}).status == status
    assert inside.send("GET", "memories/?user_id=ann", **{"X-Forwarded-For": "::ffff:127.0.0.1"}).status == 200


def test_a_key_decides_only_with_the_scope_for_it(tenant: Tenant, key: Caller) -> None:
    fact = key.post("memories/", FACT | {"user_id": "ann"}).json["memory"]["id"]
    assert key.delete(f"memories/{fact}/?user_id=ann").status == 403
    assert key_of(tenant, {*KEY_RIGHTS, Right.DECIDE}).delete(f"memories/{fact}/?user_id=ann").status == 200


def test_a_key_writes_nothing_that_the_tenant_shares(key: Caller) -> None:
    assert key.post("memories/", {"kind": "catalog", "title": "x", "text": "x", "user_id": "ann"}).status == 403


def test_a_key_uses_up_the_share_of_no_member(tenant: Tenant, key: Caller, ann: Membership) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, limits={"token_reads": 2, "member_reads": 3})
    provision_end_user(tenant.id, "bob")
    assert [key.get("memories/?user_id=ann").status for _ in range(3)] == [200, 200, 429]
    assert key.get("memories/?user_id=bob").status == 200
    assert caller_of(ann).get("memories/").status == 200


def test_an_app_that_is_no_name_is_refused_where_a_key_names_nobody(key: Caller) -> None:
    assert set(key.send("GET", "me", **{"X-Memoryhub-App": "x" * 65}).faults) == {"app"}


def test_a_turn_of_a_key_is_the_members(key: Caller, ann: Membership) -> None:
    answer = key.post("turns/", {"message": "I live in Leeds.", "user_id": "ann"})
    assert answer.status == 200
    assert caller_of(ann).get(f"sessions/{answer.json['session_id']}/").status == 200
    streamed = key.send("POST", "turns/", {"message": "Where do I live?", "user_id": "ann"}, Accept="text/event-stream")
    assert "turn_finished" in streamed.text


def test_a_member_sees_no_key_of_their_tenant(ada: Caller, tenant: Tenant) -> None:
    issue_key(tenant, name="backend")
    assert [token["name"] for token in ada.get("tokens/").json["results"]] == ["test"]
