"""MCP over HTTP: every revision by the official types, the tools with their bounds, who may call, what is refused."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from jsonschema import Draft202012Validator
from pytest_django import Settings

from memories.api.mcp.tools import TOOLS
from memories.models import Fact, ForgetProposal, Playbook, ReviewItem
from memories.presenting.reasons import REASONS
from memories.selectors.history.stories import event_reason
from memories.selectors.memories import history_of
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.playbooks import remember_playbook
from memories.types import Kind
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.models import ApiToken, Membership, Tenant
from tenants.principal import KEY_RIGHTS, Principal, Right
from tests.factories import make_membership
from tests.memories.api.caller import Caller, Life, caller_of, key_of
from tests.memories.api.mcp_caller import LATEST, OLDEST, REVISIONS, McpCaller

pytestmark = pytest.mark.django_db

MOVED = "I moved to Leith last week, so I no longer live in Porto."
READING = {"recall", "context", "list", "history"}


@pytest.fixture
def mcp(ada: Caller) -> McpCaller:
    """Ada's agent, in the current revision."""
    return McpCaller(ada)


@pytest.fixture
def home(principal: Principal) -> str:
    """Where Ada lives."""
    return str(remember_fact(principal, text="Lives in Porto.", key="home_city", category="home").memory_id)


def current(principal: Principal) -> set[str]:
    return set(Fact.objects.of(principal).current().values_list("text", flat=True))


# Revisions


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_answer_has_the_form_of_its_revision(ada: Caller, life: Life, revision: str) -> None:
    mcp = McpCaller(ada, revision)
    tools = mcp.request("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == list(TOOLS)
    assert mcp.request("resources/list")["resources"][0]["uri"] == "memoryhub://pinned"
    assert mcp.request("prompts/list")["prompts"][0]["name"] == "about_me"
    assert mcp.request("resources/templates/list")["resourceTemplates"] == []
    assert mcp.request("resources/read", uri="memoryhub://pinned")["contents"][0]["mimeType"] == "application/json"
    assert mcp.request("prompts/get", name="about_me")["messages"]
    assert mcp.tool("recall", query="Who plays the xylophone?")["memories"]


@pytest.mark.parametrize("revision", REVISIONS[1:])
def test_a_client_with_a_handshake_gets_the_revision_that_it_asks_for(ada: Caller, revision: str) -> None:
    mcp = McpCaller(ada, OLDEST)  # before the handshake no header names a revision
    asked = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = mcp.request("initialize", **asked)
    assert answer["protocolVersion"] == revision and answer["serverInfo"]["name"] == "memoryhub"
    assert mcp.request("initialize", **asked | {"protocolVersion": "2024-11-05"})["protocolVersion"] == LATEST
    assert mcp.request("ping") == {}
    assert "Mcp-Session-Id" not in mcp.send(mcp.message("ping")).response.headers


def test_the_current_revision_is_discovered_and_has_no_handshake(mcp: McpCaller) -> None:
    found = mcp.request("server/discover")
    assert found["supportedVersions"] == [*REVISIONS] and "recall" in found["instructions"]
    assert found["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
    for method in ("initialize", "ping", "logging/setLevel", "nothing"):
        answer = mcp.send(mcp.message(method))
        assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_headers_must_repeat_the_body(mcp: McpCaller, home: str) -> None:
    call = mcp.message("tools/call", {"name": "history", "arguments": {"memory_id": home}})
    encoded = f"=?base64?{base64.b64encode(b'history').decode()}?="
    assert mcp.send(call, **{"Mcp-Name": encoded}).status == 200
    for header in ({"Mcp-Name": "forget"}, {"Mcp-Name": "=?base64?%?="}, {"Mcp-Method": "tools/list"}):
        refused = mcp.send(call, **header)
        assert (refused.status, refused.json["error"]["code"], refused.json["id"]) == (400, -32020, 7)
    other = mcp.send(call, **{"MCP-Protocol-Version": "2030-01-01"})
    assert (other.status, other.json["id"]) == (400, 7)
    assert other.json["error"]["data"]["supported"] == [*REVISIONS]
    for lacking in ("protocolVersion", "clientCapabilities"):
        bad = mcp.message("tools/list")
        del bad["params"]["_meta"][f"io.modelcontextprotocol/{lacking}"]
        assert mcp.send(bad).json["error"]["code"] == -32602


def test_a_batch_is_answered_in_the_revision_that_has_batches(ada: Caller) -> None:
    mcp = McpCaller(ada, OLDEST)
    ping, note = mcp.message("ping"), {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answers = mcp.send([ping | {"id": 1}, note, mcp.message("nothing") | {"id": "two"}]).json
    assert [(each["id"], "result" in each) for each in answers] == [(1, True), ("two", False)]
    assert (mcp.send([note, note]).status, mcp.send([note]).text) == (202, "")
    for wrong in ([], [ping] * 21, [mcp.message("initialize")], [ping, 7]):
        assert mcp.send(wrong).json["error"]["code"] == -32600
    assert McpCaller(ada, LATEST).send([ping]).status == 400


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700), (b'{"id": 1, "id": 2}', -32700), (b"7", -32600), (b'{"id": 3, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(ada: Caller, body: bytes, code: int) -> None:
    refused = McpCaller(ada, LATEST).send(body)
    assert (refused.status, refused.json["error"]["code"]) == (400, code)


def test_half_a_character_is_repeated_as_it_was_sent(ada: Caller) -> None:
    mcp = McpCaller(ada, LATEST)
    assert mcp.send(mcp.message("ping") | {"id": "\ud800"}).json["id"] == "\ud800"
    assert mcp.error("resources/read", uri="\ud800")["data"] == {"uri": "\ud800"}


def test_notifications_and_answers_to_nobody_are_taken(ada: Caller) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert [McpCaller(ada, revision).send(cancelled).status for revision in REVISIONS] == [202] * 4
    assert McpCaller(ada, LATEST).send({"jsonrpc": "2.0", "id": 1, "result": {}}).status == 202
    for method in ("GET", "DELETE"):
        headers = {"Authorization": f"Bearer {ada.token}", "Accept": "text/event-stream"}
        answer = ada.client.generic(method, "/mcp", headers=headers)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


# Tools


def test_tools_say_what_they_do(mcp: McpCaller) -> None:
    for tool in mcp.request("tools/list")["tools"]:
        hints = tool["annotations"]
        assert tool["title"] and len(tool["description"]) > 20
        assert hints["readOnlyHint"] is (tool["name"] in READING) and hints["openWorldHint"] is False
        assert hints.get("destructiveHint", False) is (tool["name"] == "forget")
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False


def test_what_the_user_states_is_stored_with_their_words(mcp: McpCaller, principal: Principal, home: str) -> None:
    told = mcp.tool("remember", text="Lives in Leith", key="home_city", said=MOVED)
    assert told["result"] == "superseded" and [old["id"] for old in told["replaced"]] == [home]
    new = Fact.objects.of(principal).get(pk=told["id"])
    assert new.source == "user_stated" and new.supporting_episodes.get().text == MOVED
    again = mcp.tool("remember", text="Moved last week", said=MOVED)
    assert Fact.objects.of(principal).get(pk=again["id"]).supporting_episodes.get() == new.supporting_episodes.get()


def test_what_an_agent_concludes_replaces_nothing_that_was_stated(
    mcp: McpCaller, principal: Principal, home: str
) -> None:
    told = mcp.tool("remember", text="Lives in Lagos", key="home_city", supersedes_ids=[home])
    assert Fact.objects.of(principal).get(pk=told["id"]).source == "agent_inferred"
    assert mcp.tool("retire", memory_ids=[home])["result"] == "queued_for_review"
    assert "Lives in Porto." in current(principal) and ReviewItem.objects.of(principal).exists()


def test_a_correction_and_an_end_stay_in_the_history(mcp: McpCaller, principal: Principal, home: str) -> None:
    right = mcp.tool("correct", memory_id=home, text="Lives in Braga", said="No, I live in Braga, not in Porto.")
    assert right["result"] == "superseded"
    chain = mcp.tool("history", memory_id=right["id"])["memories"]
    assert [(each["text"], each.get("never_true", False)) for each in chain] == [
        ("Lives in Porto.", True),
        ("Lives in Braga", False),
    ]
    ended = mcp.tool("retire", memory_ids=[right["id"]], said="I don't live in Braga any more.")
    assert ended["result"] == "no_longer_true" and not current(principal)


def test_the_history_says_that_an_agent_was_told(mcp: McpCaller, principal: Principal, home: str) -> None:
    told = mcp.tool("remember", text="Lives in Leith", key="home_city", said=MOVED)
    guessed = mcp.tool("remember", text="Likes hills")
    mcp.tool("retire", memory_ids=[told["id"]], said="I don't live in Leith any more.")
    events = history_of(principal, [UUID(told["id"]), UUID(guessed["id"])])
    reasons = {event_reason(event) for event in events} - {""}
    assert reasons == {"said to an agent", "concluded by an agent", "ended by an agent"} and reasons <= REASONS


def test_the_steps_of_a_how_to_are_corrected_and_its_outcomes_counted(mcp: McpCaller, principal: Principal) -> None:
    tea = str(remember_playbook(principal, title="Make tea", steps=["Boil water.", "Add milk."]).memory_id)
    assert mcp.tool("outcome", memory_id=tea, success=True)["memory"]["worked"] == "1 of 1 times"
    said = "To make tea: boil water, add leaves, and never add milk."
    better = mcp.tool("correct", memory_id=tea, text="Boil water.\nAdd leaves.", said=said)
    assert Playbook.objects.of(principal).get(pk=better["id"]).steps == ["Boil water.", "Add leaves."]
    fact = str(remember_fact(principal, text="Likes tea.").memory_id)
    assert "no how-to" in mcp.refusal("outcome", memory_id=fact, success=True)


def test_lists_are_read_page_by_page_and_long_texts_are_cut(mcp: McpCaller, principal: Principal) -> None:
    long = "Keeps a hive of " + "bees " * 400
    for text in ("Likes oats.", long.strip(), "Likes rye."):
        remember_fact(principal, text=text)
    first = mcp.tool("list", limit=2)
    assert [len(each["text"]) for each in first["memories"]] == [len("Likes rye."), 1_000]
    assert first["memories"][1]["cut"] is True
    rest = mcp.tool("list", limit=2, cursor=first["next_cursor"])
    assert [each["text"] for each in rest["memories"]] == ["Likes oats."] and rest["next_cursor"] == ""
    assert [each["text"] for each in mcp.tool("list", words="rye")["memories"]] == ["Likes rye."]


def test_context_is_a_block_for_a_prompt(mcp: McpCaller, home: str) -> None:
    found = mcp.tool("context", query="Where do I live?", token_budget=400)
    assert (
        "Lives in Porto." in found["text"] and found["tokens"] <= 400 and "never instructions" in found["instructions"]
    )


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("recall", {}, "query"), ("recall", {"query": "x", "limit": 99}, "limit"), ("list", {"kind": "all"}, "kind"),
        ("remember", {"text": "x", "owner": "bob"}, "owner"), ("remember", {}, "a fact needs a text"),
        ("forget", {"memory_ids": []}, "memory_ids"), ("history", {"memory_id": "7"}, "memory_id"),
        ("list", {"cursor": "made:up:x"}, "cursor"), ("list", {"words": "\x00"}, "words holds a NUL"),
        ("list", {"category": "\x00"}, "category holds a NUL"),
        ("context", {"query": "x", "token_budget": 10**9}, "token_budget"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_to_the_model(mcp: McpCaller, name: str, arguments: Any, said: str) -> None:
    assert said in mcp.refusal(name, **arguments)


def test_secrets_are_neither_stored_nor_repeated(mcp: McpCaller, principal: Principal) -> None:
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2
    refused = mcp.refusal("remember", text=f"The key is {secret}")
    assert secret not in refused and not current(principal)


def test_unknown_tools_prompts_resources_and_cursors_are_errors(mcp: McpCaller, ada: Caller) -> None:
    assert mcp.error("tools/call", name="erase", arguments={})["code"] == -32602
    assert mcp.error("tools/call", name="recall", arguments=[])["code"] == -32602
    assert mcp.error("prompts/get", name="other")["code"] == -32602
    assert mcp.error("tools/list", cursor="x")["code"] == -32602
    assert mcp.error("resources/read", uri="memoryhub://bob")["code"] == -32602
    assert McpCaller(ada, LATEST).error("resources/read", uri="memoryhub://bob")["code"] == -32002


def test_pinned_facts_are_a_resource_and_all_facts_a_prompt(mcp: McpCaller, principal: Principal, home: str) -> None:
    oats = remember_fact(principal, text="Is allergic to oats.").memory_id
    pin_fact(principal, fact_id=oats, pinned=True)
    text = mcp.request("resources/read", uri="memoryhub://pinned")["contents"][0]["text"]
    assert "allergic to oats" in text and "Porto" not in text
    (whole,) = mcp.request("prompts/get", name="about_me")["messages"]
    assert "Porto" in whole["content"]["text"] and whole["content"]["text"].count("oats") == 1
    (some,) = mcp.request("prompts/get", name="about_me", arguments={"topic": "home"})["messages"]
    assert "regarding home" in some["content"]["text"]


# Forgetting


def test_forgetting_waits_for_the_member(mcp: McpCaller, ada: Caller, principal: Principal, home: str) -> None:
    asked = mcp.tool("forget", memory_ids=[home])
    assert (asked["result"], asked["would_go"]) == ("proposed", ["Lives in Porto."])
    assert asked["confirm_at"] == f"http://testserver/chat/forgetting/{asked['proposal_id']}/"
    assert current(principal) == {"Lives in Porto."}
    assert ada.post(f"forget-proposals/{asked['proposal_id']}/confirm/").status == 200
    assert not current(principal)


@pytest.mark.parametrize(
    ("answer", "result", "left"),
    [
        ({"action": "accept", "content": {"forget": True}}, "forgotten", set()),
        ({"action": "accept", "content": {"forget": False}}, "kept", {"Lives in Porto."}),
        ({"action": "decline"}, "kept", {"Lives in Porto."}),
        ({"action": "cancel"}, "proposed", {"Lives in Porto."}),
    ],
)
def test_a_client_that_can_asks_the_member(
    mcp: McpCaller, principal: Principal, home: str, answer: Any, result: str, left: set[str]
) -> None:
    call = {"name": "forget", "arguments": {"memory_ids": [home]}}
    asked = mcp.eliciting().request("tools/call", **call)
    assert asked["resultType"] == "input_required" and current(principal) == {"Lives in Porto."}
    question = asked["inputRequests"]["forget"]["params"]
    assert "Lives in Porto." in question["message"]
    done = mcp.eliciting().request(
        "tools/call", **call, requestState=asked["requestState"], inputResponses={"forget": answer}
    )
    assert done["structuredContent"]["result"] == result and current(principal) == left
    assert ForgetProposal.objects.of(principal).count() == 1


def test_a_question_shows_each_text_on_a_line_and_how_many_it_leaves_out(
    mcp: McpCaller, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.api.mcp.forgetting.MAX_LISTED_RECORDS", 2)
    texts = ["Likes tea.\n- Likes milk.\u2028- Likes ale.", "Plays chess.", "Keeps bees.", "Owns a boat."]
    call = {"memory_ids": [str(remember_fact(principal, text=text).memory_id) for text in texts]}
    asked = mcp.eliciting().request("tools/call", name="forget", arguments=call)
    lines = asked["inputRequests"]["forget"]["params"]["message"].splitlines()
    assert len(lines) == 4 and lines[-1] == "2 more would go that are not listed here."
    assert "- Likes tea. - Likes milk. - Likes ale." in lines
    assert mcp.tool("forget", **call)["not_listed"] == 2


def test_an_answer_is_good_for_its_call_alone(
    mcp: McpCaller, principal: Principal, home: str, bob: Caller, membership: Membership
) -> None:
    other = str(remember_fact(principal, text="Plays chess.").memory_id)
    asked = mcp.eliciting().request("tools/call", name="forget", arguments={"memory_ids": [home]})
    yes = {"inputResponses": {"forget": {"action": "accept", "content": {"forget": True}}}}
    state = asked["requestState"]
    for who, ids, given in (
        (mcp, [other], state), (mcp, [home], f"{state}x"), (McpCaller(bob), [home], state),
        (McpCaller(caller_of(membership)), [home], state), (mcp, [home], {"proposal": 7}), (mcp, [home], "\ud800:a:b"),
    ):  # fmt: skip
        call = {"name": "forget", "arguments": {"memory_ids": ids}, "requestState": given}
        refused = who.eliciting().request("tools/call", **call, **yes)
        assert refused["isError"] and "not of this call" in refused["content"][0]["text"]
    again = mcp.eliciting().request(
        "tools/call", name="forget", arguments={"memory_ids": [home]}, requestState=state, inputResponses={}
    )
    assert again["resultType"] == "input_required"
    assert current(principal) == {"Lives in Porto.", "Plays chess."}


def test_a_token_that_may_not_decide_asks_nobody(membership: Membership, home: str) -> None:
    mcp = McpCaller(caller_of(membership, {Right.READ, Right.WRITE}), elicits=True)
    assert mcp.tool("forget", memory_ids=[home])["result"] == "proposed"


# Who calls


def test_a_token_shows_what_its_scopes_allow(membership: Membership, home: str) -> None:
    reads = McpCaller(caller_of(membership, {Right.READ}))
    assert {tool["name"] for tool in reads.request("tools/list")["tools"]} == READING
    assert "the scope `memory:write`, which the caller does not have" in reads.refusal("remember", text="Likes rye.")
    nothing = McpCaller(caller_of(membership, {Right.TOKENS}))
    assert nothing.request("tools/list")["tools"] == [] == nothing.request("resources/list")["resources"]
    assert nothing.send(nothing.message("resources/read", {"uri": "memoryhub://pinned"})).status == 403


def test_without_a_working_token_nothing_is_answered(ada: Caller, mcp: McpCaller, membership: Membership) -> None:
    without = ada.client.post("/mcp", mcp.message("tools/list"), content_type="application/json")
    assert "send `Authorization: Bearer …`" in without.json()["error"]["message"]
    challenge = without.headers["WWW-Authenticate"]
    assert without.status_code == 401 and challenge.startswith('Bearer realm="memoryhub", resource_metadata="http')
    document = ada.client.get(urlsplit(challenge.split('"')[3]).path).json()
    assert document["resource"].endswith("/mcp")
    ended = [caller_of(membership), caller_of(membership)]
    tokens = ApiToken.objects.filter(membership=membership).order_by("-created_at")
    tokens.filter(pk=tokens[0].pk).update(revoked_at=timezone.now())
    tokens.filter(pk=tokens[1].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    for token in (*(each.token for each in ended), ada.token[:-1], "mh_made-up"):
        refused = mcp.send(mcp.message("tools/list"), Authorization=f"Bearer {token}")
        assert refused.status == 401 and refused.json["error"]["code"] == 401
        assert refused.response.headers["WWW-Authenticate"] == f'{challenge}, error="invalid_token"'
    ada.client.force_login(membership.user)
    cookie = ada.client.post("/mcp", mcp.message("tools/list"), content_type="application/json")
    assert cookie.status_code == 401


def test_pages_of_other_sites_are_refused(mcp: McpCaller, settings: Settings) -> None:
    ping = mcp.message("tools/list")
    assert mcp.send(ping, Origin="http://testserver").status == 200
    for origin in ("https://evil.example", "null", "http://testserver.evil.example", "https://testserver", "http://["):
        assert mcp.send(ping, Origin=origin).status == 403
    settings.CSRF_TRUSTED_ORIGINS = ["https://desk.example"]
    assert mcp.send(ping, Origin="https://desk.example").status == 200


def test_a_backend_key_acts_for_the_user_in_the_header(tenant: Tenant, ada: Caller, membership: Membership) -> None:
    Membership.objects.filter(pk=membership.pk).update(external_id="ada")
    key = key_of(tenant, KEY_RIGHTS)
    mcp = McpCaller(Caller(key.token, key.principal, user_id="ada"))
    mcp.tool("remember", text="Lives in Leith", said=MOVED)
    assert [each["text"] for each in McpCaller(ada).tool("list")["memories"]] == ["Lives in Leith"]
    nobody = McpCaller(key)
    unnamed = nobody.send(nobody.message("tools/list"))
    assert unnamed.status == 400 and "whose memory, in the header X-Memoryhub-User" in unnamed.text
    in_address = key.client.post(
        "/mcp?user_id=ada", nobody.message("tools/list"), content_type="application/json",
        headers={"Authorization": f"Bearer {key.token}"},
    )  # fmt: skip
    assert in_address.status_code == 400 and "header" in in_address.json()["error"]["message"]


def test_a_backend_key_reaches_nobody_of_another_tenant(eve: Caller, tenant: Tenant, membership: Membership) -> None:
    Membership.objects.filter(pk=membership.pk).update(external_id="ada")
    other = make_membership(name="Mallory").tenant
    key = key_of(other, KEY_RIGHTS)
    mcp = McpCaller(Caller(key.token, key.principal, user_id="ada"))
    assert mcp.send(mcp.message("tools/list")).status == 404


@pytest.mark.parametrize("stranger", ["bob", "eve"])
def test_ids_of_others_are_answered_like_unknown_ones(
    request: pytest.FixtureRequest, life: Life, principal: Principal, stranger: str
) -> None:
    mcp = McpCaller(request.getfixturevalue(stranger))
    calls: list[tuple[str, Any]] = [
        ("history", lambda it: {"memory_id": it}),
        ("correct", lambda it: {"memory_id": it, "text": "Mine."}),
        ("outcome", lambda it: {"memory_id": it, "success": False}),
        ("forget", lambda it: {"memory_ids": [it]}),
        ("retire", lambda it: {"memory_ids": [it]}),
        ("remember", lambda it: {"text": "Mine", "supersedes_ids": [it]}),
        ("remember", lambda it: {"kind": "procedural", "title": "Mine", "text": "Mine", "supersedes_ids": [it]}),
    ]
    before = Fact.objects.of(principal).count(), ForgetProposal.objects.of(principal).count()
    for name, arguments in calls:
        for target in (life.fact, life.old_fact, life.playbook, life.episode):
            foreign, unknown = str(target), str(uuid4())
            answer = mcp.request("tools/call", name=name, arguments=arguments(foreign))
            expected = mcp.request("tools/call", name=name, arguments=arguments(unknown))
            assert answer["isError"] and answer["content"] == expected["content"]
    assert (Fact.objects.of(principal).count(), ForgetProposal.objects.of(principal).count()) == before


@pytest.mark.parametrize("stranger", ["bob", "eve"])
def test_lists_and_recalls_show_nothing_of_others(request: pytest.FixtureRequest, life: Life, stranger: str) -> None:
    mcp = McpCaller(request.getfixturevalue(stranger))
    shown = [
        *(mcp.tool("list", kind=kind) for kind in (Kind.SEMANTIC, Kind.PROCEDURAL, Kind.EPISODIC)),
        mcp.tool("recall", query="Who plays it?", include_superseded=True),
        mcp.tool("context", query="Who plays it?"),
        mcp.request("resources/read", uri="memoryhub://pinned"),
        mcp.request("prompts/get", name="about_me"),
    ]
    assert "xylophone" not in str(shown).lower()


# Limits


def test_calls_beyond_the_limits_are_refused(mcp: McpCaller, ada: Caller, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = {**DEFAULT_LIMITS, "token_writes": 3}
    assert "token-reads" in mcp.send(mcp.message("tools/list")).response.headers["RateLimit"]
    mcp.tool("remember", text="Likes rye.")
    write = McpCaller(ada, OLDEST).message("tools/call", {"name": "remember", "arguments": {"text": "Likes oats."}})
    refused = McpCaller(ada, OLDEST).send([write | {"id": number} for number in range(3)])
    assert refused.status == 429 and int(refused.response.headers["Retry-After"]) > 0
    assert refused.json["error"]["data"]["violated-policies"] == ["token-writes"]
    assert mcp.tool("list")["memories"][0]["text"] == "Likes rye."


def test_a_large_message_of_a_member_is_read(mcp: McpCaller) -> None:
    said = "I like rye. " + "é" * 20_000
    assert mcp.tool("remember", text="Likes rye", said=said)["result"] == "created"


def test_a_failure_says_nothing(mcp: McpCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("Lives in Porto.")

    monkeypatch.setattr("memories.api.mcp.view.call_tool", fail)
    answer = mcp.send(mcp.message("tools/call", {"name": "recall", "arguments": {"query": "x"}}))
    assert answer.status == 500 and answer.json["id"] == 7 and "Porto" not in answer.text


def test_it_is_there_with_and_without_a_slash_and_with_problems_before_the_view(mcp: McpCaller, ada: Caller) -> None:
    headers = {"Authorization": f"Bearer {ada.token}", "MCP-Protocol-Version": LATEST}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for address in ("/mcp", "/mcp/"):
        answer = ada.client.post(address, ping, content_type="application/json", headers=headers)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    text = ada.client.post("/mcp", b"hello", content_type="text/plain", headers=headers)
    assert text.status_code == 415 and text.json()["error"]["data"]["title"]
    foreign = ada.client.post("/mcp", ping, content_type="application/json", headers=headers | {"Host": "evil.example"})
    assert foreign.status_code == 400 and foreign.headers["Content-Type"] == "application/problem+json"
