"""Who may call the API, and with which rights."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.test import Client

from memories.api.urls import urlpatterns
from memories.models import Fact
from tenants.models import ApiToken, AuditEvent, Membership, Tenant
from tenants.principal import Right
from tenants.services import deactivate
from tests.factories import PASSWORD, make_membership, make_tenant
from tests.memories.api.caller import ROOT, Caller, caller_of, key_of

MEMORIES = f"{ROOT}memories/"
FACT = {"text": "Lives in Leeds."}


def browser_of(membership: Membership, *, checks: bool = True) -> Client:
    browser = Client(enforce_csrf_checks=checks)
    assert browser.login(username=membership.user.username, password=PASSWORD)
    return browser


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"Authorization": "Bearer"}, id="no token"),
        pytest.param({"Authorization": "Bearer mh_unknown"}, id="unknown token"),
        pytest.param({"Authorization": "Bearer ünïcode"}, id="token that is no token"),
        pytest.param({"Authorization": "Basic YWRhOnB3"}, id="another scheme"),
        pytest.param({"Authorization": "Bearer mh_" + "x" * 5000}, id="long token"),
    ],
)
def test_whoever_is_unknown_is_asked_for_a_token(client: Client, db: None, headers: dict[str, str]) -> None:
    for answer in (client.get(MEMORIES, headers=headers), client.post(MEMORIES, FACT, headers=headers)):
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="memoryhub"'
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_what_a_token_writes_is_recorded_as_its_doing(ada: Caller) -> None:
    ada.post("memories/", FACT, **{"X-Request-ID": "request-0001"})
    event = AuditEvent.objects.get(action="fact.created")
    assert (event.actor_kind, event.actor_id, event.request_id) == ("token", ApiToken.objects.get().id, "request-0001")


def test_a_token_can_do_what_its_scopes_say(membership: Membership) -> None:
    reader = caller_of(membership, {Right.READ})
    assert (reader.get("memories/").status, reader.post("memories/", FACT).status) == (200, 403)


def test_each_operation_is_closed_without_any_one_of_its_rights(membership: Membership) -> None:
    lacking = {right: key_of(membership.tenant, set(Right) - {right}) for right in Right}
    views = [pattern for pattern in urlpatterns if hasattr(vars(pattern.callback)["cls"], "rights")]
    for view in views:
        path = re.sub(r"<\w+:\w+>", str(uuid4()), str(view.pattern))
        for method, rights in vars(view.callback)["cls"].rights.items():
            assert rights or view.name in ("schema", "version", "me")  # what every caller may ask
            for right in rights:
                answer = lacking[right].send(method, path, {})
                assert (answer.status, answer.problem["title"]) == (403, "Forbidden"), (method, path)


def test_a_signed_in_member_reads_with_their_session(membership: Membership) -> None:
    assert browser_of(membership).get(MEMORIES).status_code == 200


def test_a_session_changes_nothing_without_a_csrf_token(membership: Membership) -> None:
    answer = browser_of(membership).post(MEMORIES, FACT, content_type="application/json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (403, "application/problem+json")
    assert not Fact.objects.exists()


def test_a_session_with_a_csrf_token_acts_as_the_member_in_person(membership: Membership) -> None:
    browser = browser_of(membership, checks=False)
    assert browser.post(MEMORIES, FACT, content_type="application/json").status_code == 201
    assert AuditEvent.objects.get(action="fact.created").actor_kind == "member"


def test_a_user_of_no_tenant_is_refused(membership: Membership) -> None:
    browser = browser_of(membership)
    deactivate(membership)
    answer = browser.get(MEMORIES)
    assert (answer.status_code, answer.json()["detail"]) == (403, "You are in no active tenant.")


def test_a_session_sees_the_tenant_that_it_is_in(membership: Membership) -> None:
    other = Membership.objects.create(tenant=make_tenant(), user=membership.user)
    browser = browser_of(membership, checks=False)
    browser.post("/tenant/switch/", {"tenant": str(membership.tenant_id)})
    browser.post(MEMORIES, FACT, content_type="application/json")
    browser.post("/tenant/switch/", {"tenant": str(other.tenant_id)})
    assert browser.get(MEMORIES).json()["results"] == []


def test_a_bad_token_is_not_excused_by_a_session(membership: Membership) -> None:
    browser = browser_of(membership)
    assert browser.get(MEMORIES, headers={"Authorization": "Bearer mh_unknown"}).status_code == 401


def test_a_token_is_judged_alone_even_beside_a_session(membership: Membership, tenant: Tenant) -> None:
    bob = caller_of(make_membership(tenant))
    bob.post("memories/", {"text": "Bob's."})
    answer = browser_of(membership).get(MEMORIES, headers={"Authorization": f"Bearer {bob.token}"})
    assert [memory["text"] for memory in answer.json()["results"]] == ["Bob's."]
