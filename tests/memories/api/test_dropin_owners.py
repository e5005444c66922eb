"""Drop-ins: whose memory it is, where words are sent and with which key, and the limits."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from memories.services.facts.remember import remember_fact
from memories.services.policies import set_policy
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.end_users import provision_end_user
from tenants.models import AuditPayload, Membership, Tenant
from tenants.principal import SYSTEM, Right
from tests.factories import make_membership
from tests.memories.api.caller import Caller, caller_of, key_of
from tests.memories.api.dropin import ASKED, HOME, PATHS, Json, asks, said, send
from tests.model_api import KEY, ModelApi

# Whose it is


def test_a_key_names_the_member_in_the_fields_of_each_api(tenant: Tenant, api: ModelApi) -> None:
    key = key_of(tenant)
    ann = caller_of(provision_end_user(tenant.id, "ann")[0])
    fields: list[tuple[str, Json]] = [
        ("chat/completions", {"user": "ann"}),
        ("chat/completions", {"safety_identifier": "ann"}),
        ("responses", {"safety_identifier": "ann", "user": "ann"}),
        ("messages", {"metadata": {"user_id": "ann"}}),
    ]
    for number, (path, more) in enumerate(fields):
        body = asks(path, f"I own {number + 2} boats.", **more)
        assert send(key, path, body).status == 200 and api.last.body == {**api.last.body, **more}
        assert len(said(ann)) == number + 1
    body = asks("chat/completions", "I own a bicycle.", user="a hash", safety_identifier="another")
    assert send(key, "chat/completions", body, **{"X-Memoryhub-User": "ann"}).status == 200
    assert said(ann)[-1] == "I own a bicycle."


def test_a_key_that_names_nobody_two_or_an_unknown_user_is_refused(tenant: Tenant, api: ModelApi) -> None:
    key = key_of(tenant)
    provision_end_user(tenant.id, "ann")
    path = "chat/completions"
    for wire, place in ((path, "user or safety_identifier, or the"), ("messages", "metadata.user_id, or the header")):
        nobody = send(key, wire, asks(wire, HOME))
        assert nobody.status == 400 and f"whose memory, in {place}" in nobody.error["message"]
    assert send(key, path, asks(path, HOME, user="ann", safety_identifier="bob")).status == 400
    assert send(key, path, asks(path, HOME, user="../ann")).error["param"] == "user"
    assert send(key, path, asks(path, HOME, user=["ann"])).status == 400
    assert send(key, path, asks(path, HOME, user="bob")).status == 404
    assert send(key, "messages", asks("messages", HOME, metadata={"user_id": "bob"})).error["type"] == "not_found_error"
    assert not api.received


def test_drop_ins_isolate_other_members_and_tenants(ada: Caller, bob: Caller, eve: Caller, api: ModelApi) -> None:
    remember_fact(ada.principal, text="Lives in Bristol.")
    session = {"X-Memoryhub-Session": "shared-name"}
    send(ada, "chat/completions", asks("chat/completions", HOME), **session)
    for other in (bob, eve):
        for path in PATHS:
            body = asks(path, ASKED, user="ada", **({"metadata": {"user_id": "ada"}} if path == "messages" else {}))
            reply = send(other, path, body, **session)
            assert reply.status == 200 and "Bristol" not in api.last.text
            assert "X-Memoryhub-Recalled" not in reply.headers
        assert set(said(other)) == {ASKED}
    assert said(ada) == [HOME]


def test_a_key_of_another_tenant_reaches_nobody_here(tenant: Tenant, eve: Caller, api: ModelApi) -> None:
    provision_end_user(tenant.id, "ann")
    foreign = key_of(Tenant.objects.get(pk=eve.principal.tenant_id))
    reply = send(foreign, "chat/completions", asks("chat/completions", HOME, user="ann"))
    assert reply.status == 404 and not api.received


def test_a_members_token_is_that_member_whatever_the_request_names(ada: Caller, bob: Caller, api: ModelApi) -> None:
    Membership.objects.filter(pk=bob.principal.membership_id).update(external_id="bob")
    send(ada, "chat/completions", asks("chat/completions", HOME, user="bob"))
    assert said(ada) == [HOME] and not said(bob)
    named = send(ada, "chat/completions", asks("chat/completions", HOME), **{"X-Memoryhub-User": "bob"})
    assert named.status == 404


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("responses", {"previous_response_id": "resp_of_another"}),
        ("responses", {"conversation": "conv_of_another"}),
        ("responses", {"background": True}),
        (
            "responses",
            {"input": [{"type": "item_reference", "id": "msg_of_another"}, {"role": "user", "content": "?"}]},
        ),
        ("responses", {"input": [{"type": "image_generation_call", "id": "ig_of_another"}]}),
        ("responses", {"tools": [{"type": "code_interpreter", "container": "cntr_of_another"}]}),
        ("responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_of_another"}]}]}),
        ("messages", {"container": "container_of_another"}),
        ("chat/completions", {"messages": [{"role": "assistant", "audio": {"id": "audio_of_another"}}]}),
        ("responses", {"input": [{"id": "msg_of_another"}]}),
        ("responses", {"input": ["?", {"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}),
        ("responses", {"input": [{"type": "code_interpreter_call", "container_id": "cntr_of_another"}]}),
        ("responses", {"name": "x", "input": [{"role": "user", "content": [{"file_id": "file_1"}]}]}),
        ("responses", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_of_another"]}]}),
        ("responses", {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["f"]}}]}),
        ("responses", {"prompt": {"id": "p", "variables": {"name": "x", "input": {"file_id": "file_of_another"}}}}),
        ("messages", {"container": {"id": "container_of_another"}}),
        ("messages", {"system": [{"type": "document", "source": {"type": "file", "file_id": "file_of_another"}}]}),
        ("messages/count_tokens", {"system": [{"source": {"type": "file", "file_id": "file_of_another"}}]}),
    ],
)
def test_what_the_model_keeps_under_a_shared_key_is_out_of_reach(
    ada: Caller, api: ModelApi, path: str, more: Json
) -> None:
    reply = send(ada, path, asks(path, ASKED) | more)
    assert reply.status == 400 and "a key of your own" in reply.error["message"] and not api.received


def test_what_looks_like_a_reference_within_the_callers_own_tools_passes(ada: Caller, api: ModelApi) -> None:
    schema = {"type": "object", "properties": {"file_id": {"type": "string"}, "container": {"type": "string"}}}
    body = asks("responses", ASKED, metadata={"conversation": "7", "file_id": "ours"}) | {
        "tools": [
            {"type": "function", "name": "open", "parameters": schema},
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ],
        "text": {"format": {"type": "json_schema", "name": "file", "schema": schema}},
    }
    assert send(ada, "responses", body).status == 200 and api.last.body == body
    used = {"type": "tool_use", "id": "toolu_1", "name": "open", "input": {"file_id": "ours"}}
    body = asks("messages", ASKED, "") | {"tools": [{"name": "open", "input_schema": schema}]}
    body["messages"][1]["content"] = [used]
    assert send(ada, "messages", body).status == 200


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer mh_wrong"}, {"X-Api-Key": "x"}])
@pytest.mark.parametrize("path", PATHS)
def test_without_a_token_that_works_nothing_is_passed_on(api: ModelApi, db: None, path: str, headers: Json) -> None:
    response = Client().post(f"/v1/{path}", asks(path, HOME), content_type="application/json", headers=headers)
    assert response.status_code == 401 and response.json()["error"]["type"] == "authentication_error"
    assert not api.received


def test_a_session_of_a_browser_is_no_way_in(membership: Membership, api: ModelApi) -> None:
    client = Client()
    client.force_login(membership.user)
    response = client.post("/v1/messages", asks("messages", HOME), content_type="application/json")
    assert response.status_code == 401


def test_a_token_may_come_as_anthropics_key(ada: Caller, api: ModelApi) -> None:
    reply = send(ada, "messages", asks("messages", HOME), **{"Authorization": "", "X-Api-Key": ada.token})
    assert reply.status == 200 and said(ada) == [HOME]


# Upstreams of a tenant


def _of_tenant(ada: Caller, model_api: ModelApi, key: str | None = KEY, **more: Any) -> None:
    upstreams = {
        "openai": {"url": f"{model_api.url}/v1", **({} if key is None else {"key": key})},
    }
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, upstreams=upstreams, **more)


@pytest.fixture
def private(settings: Settings, model_api: ModelApi) -> ModelApi:
    """The model's API as an address in a private network that tenants may name."""
    model_api.received.clear()
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    return model_api


def test_a_tenant_has_an_endpoint_and_a_key_of_its_own(
    ada: Caller, eve: Caller, private: ModelApi, settings: Settings
) -> None:
    _of_tenant(ada, private)
    assert send(ada, "chat/completions", asks("chat/completions", HOME)).status == 200
    assert send(eve, "chat/completions", asks("chat/completions", HOME)).error["code"] == "no-upstream"
    settings.MEMORYHUB_WEBHOOK_NETWORKS = ()
    reply = send(ada, "chat/completions", asks("chat/completions", HOME))
    assert reply.status == 502 and len(private.received) == 1


def test_a_cookie_of_an_endpoint_goes_to_nobody(ada: Caller, eve: Caller, private: ModelApi) -> None:
    private.cookie = "of=ada"
    for each in (ada, eve):
        _of_tenant(each, private)
        assert send(each, "chat/completions", asks("chat/completions", HOME)).status == 200
    private.cookie = ""
    assert len(private.received) == 2 and "cookie" not in private.last.headers


def test_a_name_that_leads_inside_is_not_reached(ada: Caller, private: ModelApi, settings: Settings) -> None:
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("10.0.0.0/8"),)
    upstreams = {"openai": {"url": private.url.replace("127.0.0.1", "localhost")}}
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, upstreams=upstreams)
    assert send(ada, "chat/completions", asks("chat/completions", HOME)).status == 502 and not private.received


def test_a_key_of_a_model_is_never_shown_nor_sent_to_another_address(
    admin: Caller, private: ModelApi, settings: Settings
) -> None:
    shown = admin.patch("tenant/policy/", {"upstreams": {"openai": {"url": f"{private.url}/v1", "key": KEY}}})
    assert shown.status == 200
    assert shown.json["upstreams"] == {"openai": {"url": f"{private.url}/v1", "has_key": True, "model": ""}}
    admin.patch("tenant/policy/", {"upstreams": {"openai": {"url": f"{private.url}/v1"}}, "caller_keys": True})
    assert send(admin, "chat/completions", asks("chat/completions", HOME)).status == 200
    payloads = AuditPayload.objects.filter(event__action="policy.changed").values_list("document", flat=True)
    logged = " ".join(map(str, payloads))
    assert KEY not in logged and '"has_key":true' in logged and '"127.0.0.1"' in logged
    moved = admin.patch("tenant/policy/", {"upstreams": {"openai": {"url": f"{private.url}/v1x"}}})
    assert moved.json["upstreams"]["openai"]["has_key"] is False


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/v1",
        "https://169.254.169.254/v1",
        "https://127.0.0.1/v1",
        "ftp://example.org",
        "https://u:p@x.org",
    ],
)
def test_an_address_inside_is_refused_when_it_is_set(admin: Caller, url: str) -> None:
    answer = admin.patch("tenant/policy/", {"upstreams": {"openai": {"url": url}}})
    assert answer.status == 400 and "upstreams" in next(iter(answer.faults))


def test_a_backend_key_does_not_say_where_words_are_sent(tenant: Tenant) -> None:
    key = key_of(tenant, [Right.READ, Right.ADMINISTER])
    for change in ({"upstreams": {"openai": {"url": "https://example.org/v1"}}}, {"caller_keys": True}):
        assert key.patch("tenant/policy/", change).status == 403


def test_a_key_of_the_caller_needs_the_policy(ada: Caller, private: ModelApi) -> None:
    own = {"X-Memoryhub-Upstream-Key": KEY, "OpenAI-Project": "proj_1"}
    _of_tenant(ada, private, key="sk-of-the-tenant")
    refused = send(ada, "chat/completions", asks("chat/completions", HOME), **own)
    assert refused.status == 403 and not private.received
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, caller_keys=True)
    assert send(ada, "chat/completions", asks("chat/completions", HOME), **own).status == 200
    assert private.last.headers["openai-project"] == "proj_1" and "sk-of-the-tenant" not in str(private.last.headers)
    body = asks("responses", ASKED, previous_response_id="resp_1")
    assert send(ada, "responses", body, **own).status == 200
    limited = send(ada, "chat/completions", asks("chat/completions", HOME, model="limited"), **own)
    assert limited.headers["x-ratelimit-remaining-tokens"] == "5"
    wrong = send(ada, "chat/completions", asks("chat/completions", HOME), **{**own, "X-Memoryhub-Upstream-Key": "no"})
    assert wrong.status == 401


def test_a_key_of_the_caller_opens_nothing_where_no_key_is_needed(
    ada: Caller, private: ModelApi, settings: Settings
) -> None:
    own = {"X-Memoryhub-Upstream-Key": KEY, "Idempotency-Key": "of-another"}
    body = asks("responses", ASKED, previous_response_id="resp_of_another")
    _of_tenant(ada, private, key=None, caller_keys=True)
    assert send(ada, "responses", body, **own).status == 400 and not private.received
    assert send(ada, "responses", asks("responses", ASKED), **own).status == 200
    assert "idempotency-key" not in private.last.headers
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, upstreams={})
    settings.MEMORYHUB_SHARED_UPSTREAM, settings.OPENAI_BASE_URL = True, f"{private.url}/v1"
    for key, status in (("", 400), ("sk-of-the-operator", 200)):
        settings.OPENAI_API_KEY = key
        assert send(ada, "responses", body, **own).status == status


@pytest.fixture
def admin(tenant: Tenant) -> Caller:
    return caller_of(make_membership(tenant, role="admin", name="Root"))


# Limits


@pytest.fixture
def limited(settings: Settings) -> dict[str, int]:
    own = settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS)
    return own


def test_turns_and_sessions_are_limited_in_the_form_of_the_api(
    ada: Caller, api: ModelApi, limited: dict[str, int]
) -> None:
    limited["token_sessions"] = 1
    assert send(ada, "chat/completions", asks("chat/completions", HOME)).status == 200
    refused = send(ada, "chat/completions", asks("chat/completions", ASKED))
    assert (refused.status, refused.error["type"]) == (429, "rate_limit_error") and refused.headers["Retry-After"]
    limited["token_turns"] = 1
    assert send(ada, "messages", asks("messages", HOME)).error["type"] == "rate_limit_error"
    assert len(api.received) == 1


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_tokens_of_the_model_count_for_the_member(
    ada: Caller, api: ModelApi, limited: dict[str, int], path: str, *, streams: bool
) -> None:
    limited["member_model_tokens"] = 20  # an answer has 15, as the API says
    body = asks(path, HOME, stream=streams, stream_options={"include_usage": True})
    assert [send(ada, path, body).status for _ in range(3)] == [200, 200, 429]


def test_tokens_that_the_api_does_not_count_are_estimated(ada: Caller, api: ModelApi, limited: dict[str, int]) -> None:
    limited["member_model_tokens"] = 5
    body = asks("chat/completions", HOME, stream=True)
    assert [send(ada, "chat/completions", body).status for _ in range(3)] == [200, 200, 429]


def test_an_answer_that_breaks_off_costs_the_whole_request(ada: Caller, api: ModelApi, limited: dict[str, int]) -> None:
    limited["member_model_tokens"] = 500
    body = asks("messages", HOME, model="breaks", stream=True, tools=[{"description": "word " * 1_000}])
    for _ in range(2):
        with pytest.raises(ConnectionAbortedError):  # its beginning has counted 13 tokens
            send(ada, "messages", body)
    assert send(ada, "messages", body).status == 429
