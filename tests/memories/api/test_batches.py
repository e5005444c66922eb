"""Batches that act for several users of a backend key, and batches of messages."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from memories.models import Episode, Fact, Message
from memories.services.admission import spend_model_tokens
from memories.services.policies import set_policy
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import SYSTEM
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Answer, Caller, caller_of, key_of

KEY = {"Idempotency-Key": "once"}
# The address of a batch, the name of its list, and an entry with the words.
SHAPES: list[tuple[str, str, Any]] = [
    ("memories/batch/", "memories", lambda text: {"text": text}),
    ("messages/batch/", "conversations", lambda text: {"messages": [{"role": "user", "content": text}]}),
]


@pytest.fixture
def key(tenant: Tenant) -> Caller:
    return key_of(tenant)


@pytest.fixture
def users(tenant: Tenant) -> dict[str, Membership]:
    return {name: provision_end_user(tenant.id, name)[0] for name in ("ann", "bea")}


@pytest.fixture(params=SHAPES, ids=["memories", "messages"])
def shape(request: pytest.FixtureRequest) -> tuple[str, str, Any]:
    found: tuple[str, str, Any] = request.param
    return found


def send(caller: Caller, shape: tuple[str, str, Any], *entries: Any, **headers: str) -> Answer:
    """Send texts, each for its user if it comes with one."""
    path, name, entry = shape
    pairs = [(each, None) if isinstance(each, str) else each for each in entries]
    body = [entry(text) | ({} if user is None else {"user_id": user}) for text, user in pairs]
    return caller.post(path, {name: body}, **headers)


def statuses(answer: Answer) -> list[int]:
    assert answer.status == 200, answer.text
    return [each["status"] for each in answer.json["results"]]


def stored() -> set[tuple[str, str]]:
    """What was stored, with the names of whose it is."""
    names = dict(Membership.objects.values_list("user_id", "external_id"))
    rows = [*Fact.objects.unscoped("a test reads"), *Episode.objects.unscoped("a test reads")]
    return {(names[row.user_id], row.text) for row in rows if row.user_id}


def test_each_entry_of_a_key_acts_for_its_user(key: Caller, users: dict[str, Membership], shape: Any) -> None:
    answer = send(key, shape, ("Likes tea.", "ann"), ("Likes ale.", "bea"), ("Likes rye.", "ann"))
    assert (answer.json["stored"], answer.json["refused"]) == (3, 0)
    assert stored() == {("ann", "Likes tea."), ("bea", "Likes ale."), ("ann", "Likes rye.")}
    told = AuditEvent.objects.filter(actor_kind="key", action__endswith=".created").values_list("owner_id", flat=True)
    assert {*told} == {each.user_id for each in users.values()}


def test_an_entry_for_nobody_is_refused_alone(key: Caller, users: dict[str, Membership], shape: Any) -> None:
    entries = [("Likes tea.", "ann"), "Whose?", ("Odd.", "a/b"), ("Unknown.", "zoe"), ("Likes ale.", "bea")]
    answer = send(key, shape, *entries)
    assert [status < 400 for status in statuses(answer)] == [True, False, False, False, True]
    assert statuses(answer)[1:4] == [400, 400, 404]
    assert stored() == {("ann", "Likes tea."), ("bea", "Likes ale.")}


def test_a_key_that_names_nobody_at_all_is_refused_whole(key: Caller, shape: Any) -> None:
    answer = send(key, shape, "Whose?", "And this?")
    assert (answer.status, list(answer.faults)) == (400, ["user_id"])


def test_a_token_and_a_key_that_names_a_user_name_no_other(
    key: Caller, ada: Caller, users: dict[str, Membership], shape: Any
) -> None:
    acting = Caller(key.token, key.principal, user_id="ann")
    for caller in (ada, caller_of(users["ann"]), acting):
        answer = send(caller, shape, ("Mine.", "bea"), ("Mine, too.", "ann"), "Fine.")
        assert statuses(answer)[:2] == [403, 403] and statuses(answer)[2] < 400
    assert not {text for _, text in stored()} & {"Mine.", "Mine, too."}
    assert ("bea", "Fine.") not in stored() and ("ann", "Fine.") in stored()


def test_a_key_reaches_nobody_of_another_tenant_nor_staff(
    key: Caller, tenant: Tenant, users: dict[str, Membership], shape: Any
) -> None:
    elsewhere = make_tenant()
    provision_end_user(elsewhere.id, "ann")
    provision_end_user(elsewhere.id, "cal")
    Membership.objects.filter(pk=make_membership(tenant, role="admin").pk).update(external_id="boss")
    Membership.objects.filter(pk=users["bea"].pk).update(is_active=False)
    answer = send(key, shape, ("Of Ann.", "ann"), *((f"Of {name}.", name) for name in ("cal", "boss", "bea", "nobody")))
    assert statuses(answer)[1:] == [404] * 4
    problems = [each["problem"] for each in answer.json["results"][1:]]
    assert all(problem == problems[0] for problem in problems)
    rows = [*Fact.objects.unscoped("a test reads"), *Episode.objects.unscoped("a test reads")]
    assert [(row.tenant_id, row.user_id) for row in rows] == [(tenant.id, users["ann"].user_id)]


def test_a_user_is_made_on_first_use_if_the_policy_says_so(key: Caller, tenant: Tenant, shape: Any) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=True)
    assert max(statuses(send(key, shape, ("Likes tea.", "new"), ("Likes ale.", "new")))) < 400
    assert stored() == {("new", "Likes tea."), ("new", "Likes ale.")}


def test_a_user_beyond_the_limit_stops_no_other(
    key: Caller, users: dict[str, Membership], shape: Any, settings: Settings
) -> None:
    settings.MEMORYHUB_LIMITS = {**DEFAULT_LIMITS, "member_entries": 2}
    answer = send(key, shape, *((f"Number {n}.", "ann") for n in range(3)), ("Likes ale.", "bea"))
    assert statuses(answer)[:3] == [429] * 3 and statuses(answer)[3] < 400
    assert stored() == {("bea", "Likes ale.")}


@pytest.mark.usefixtures("users")
def test_a_repeated_batch_of_a_key_is_stored_once(key: Caller, shape: Any) -> None:
    first, again = (send(key, shape, ("Likes tea.", "ann"), ("Odd.", "zoe"), **KEY) for _ in range(2))
    assert first.json == again.json and again.response.headers["Idempotency-Replayed"] == "true"
    assert Fact.objects.unscoped("a test reads").count() + Message.objects.unscoped("a test reads").count() == 1


def test_a_user_whose_model_tokens_are_used_up_is_refused_alone(
    key: Caller, users: dict[str, Membership], settings: Settings
) -> None:
    settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS) | {"member_model_tokens": 1_000}
    for _ in range(2):
        spend_model_tokens(caller_of(users["ann"]).principal, 1_000)
    answer = send(key, SHAPES[1], ("Likes tea.", "ann"), ("Likes milk.", "bea"))
    assert statuses(answer) == [429, 202]
    assert answer.json["results"][0]["problem"]["violated-policies"] == ["member-model-tokens"]


def test_the_messages_of_a_batch_are_stored_each_by_itself(ada: Caller) -> None:
    def says(text: str, **more: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text, "id": text}], "session": "s", **more}

    bad = [says(""), says("x", learn="now"), says("x", return_context=True), 7]
    answer = ada.post(
        "messages/batch/", {"conversations": [says("One."), *bad, says("Two.", learn="off"), says("One.")]}
    )
    assert statuses(answer) == [202, 400, 400, 400, 400, 201, 202]
    first, second, again = (answer.json["results"][place]["answer"] for place in (0, 5, 6))
    assert first["session_id"] == second["session_id"] and first["messages"][0]["turn"] == 1
    assert (second["messages"][0]["turn"], second["operation"]) == (2, None)
    assert not again["messages"][0]["created"] and again["operation"]["id"] == first["operation"]["id"]
    assert list(Message.objects.of(ada.principal).order_by("turn").values_list("text", flat=True)) == ["One.", "Two."]
