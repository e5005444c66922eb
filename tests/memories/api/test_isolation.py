"""No address of the API gives away, or lets change, what is not the caller's.

Every route and method has a probe here: `test_every_address_is_probed` fails for a new one that has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.api.urls import urlpatterns
from memories.models import (
    ConsolidationRun,
    Episode,
    Fact,
    ForgetProposal,
    Item,
    LearningOperation,
    Message,
    Playbook,
    RecallTrace,
    ReviewItem,
    Session,
    SessionEntry,
)
from memories.services.facts.remember import remember_fact
from memories.types import ALL_KINDS
from tenants.models import Membership, Tenant
from tenants.principal import Right
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Answer, Caller, Life, key_of

SECRET = "xylophone"
ITEM = "items/?namespace=things&key=instrument"
HOW_TO: dict[str, Any] = {"kind": "procedural", "title": "x", "text": "x"}


@dataclass(frozen=True)
class Probe:
    """A call that reaches for an owner's memory: `path` may hold the id of `target`, and `body` is made from it.

    `status` is the answer to the owner, `refused` to everybody else.
    """

    target: str = ""
    path: str = ""
    body: Callable[[UUID], Any] = lambda _: None
    status: int = 200
    refused: int = 404

    def send(self, caller: Caller, method: str, target: UUID) -> Answer:
        return caller.send(method, self.path.format(id=target), self.body(target))


def nothing(_: UUID) -> Any:
    return {}


def says(text: str = "hello") -> Callable[[UUID], Any]:
    return lambda _: {"message": text}


def messages(session: str) -> dict[str, Any]:
    return {"session": session, "messages": [{"role": "user", "content": "What do you know of Ada?"}]}


def naming(session: UUID) -> dict[str, str]:
    return {"kind": "episodic", "text": "x", "session_id": str(session)}


# Reaching for one thing by its id: strangers get the answer that an unknown id gets.
BY_ID: dict[tuple[str, str], list[Probe]] = {
    ("session", "GET"): [Probe("session", "sessions/{id}/")],
    ("session", "PATCH"): [Probe("session", "sessions/{id}/", lambda _: {"title": "mine"})],
    ("session", "DELETE"): [Probe("session", "sessions/{id}/?cascade=true")],
    ("session-turns", "POST"): [Probe("session", "sessions/{id}/turns/", says())],
    ("working-memory", "GET"): [Probe("session", "sessions/{id}/working-memory/")],
    ("working-memory", "PATCH"): [Probe("session", "sessions/{id}/working-memory/", lambda _: {"goal": "mine"})],
    ("session-entries", "GET"): [
        Probe("session", path) for path in ("sessions/{id}/entries/", f"sessions/{{id}}/entries/?q={SECRET}")
    ],
    ("session-end", "POST"): [Probe("session", "sessions/{id}/end/", lambda _: {"learned": ["mine"]})],
    ("memory", "GET"): [
        Probe(target, "memories/{id}/") for target in ("episode", "old_fact", "fact", "task_fact", "playbook")
    ],
    ("memory", "PATCH"): [
        Probe(target, "memories/{id}/", lambda _: {"metadata": {"mine": True}}) for target in ("fact", "playbook")
    ],
    ("memory", "DELETE"): [
        Probe(target, "memories/{id}/?cascade=true") for target in ("episode", "old_fact", "fact", "playbook")
    ],
    ("chain", "GET"): [Probe(target, "memories/{id}/chain/") for target in ("fact", "playbook", "episode")],
    ("correct", "POST"): [
        Probe(target, "memories/{id}/correct/", lambda _: {"text": "Changed."}, 201) for target in ("fact", "playbook")
    ],
    ("supersede", "POST"): [Probe("fact", "memories/{id}/supersede/", lambda _: {"text": "Changed."}, 201)],
    ("retire", "POST"): [Probe(target, "memories/{id}/retire/", nothing) for target in ("fact", "playbook")],
    ("undo", "POST"): [Probe(target, "memories/{id}/undo/", nothing, 201) for target in ("old_fact", "fact")],
    ("outcome", "POST"): [Probe("playbook", "memories/{id}/outcome/", lambda _: {"success": True})],
    ("promote", "POST"): [Probe("task_fact", "memories/{id}/promote/", lambda _: {"to": "user"}, 201)],
    ("confirm", "POST"): [Probe("fact", "memories/{id}/confirm/", nothing)],
    # There is nothing to restore: that it is not evicted is for its owner alone to know.
    ("restore", "POST"): [Probe(target, "memories/{id}/restore/", nothing, 409) for target in ("fact", "playbook")],
    ("pin", "POST"): [Probe("fact", "memories/{id}/pin/", lambda _: {"pinned": True})],
    ("memories", "POST"): [
        Probe("session", "memories/", lambda it: {"kind": "episodic", "text": "x", "session_id": str(it)}, 201),
        Probe("episode", "memories/", lambda it: {"text": "x", "supporting_episode_ids": [str(it)]}, 201, 400),
        Probe("fact", "memories/", lambda it: {"text": "x", "supersedes_ids": [str(it)]}, 201, 400),
        Probe("playbook", "memories/", lambda it: HOW_TO | {"supersedes_ids": [str(it)]}, 201, 400),
    ],
    ("accept", "POST"): [Probe("playbook", "memories/{id}/accept/", nothing)],
    ("forget-proposals", "POST"): [Probe("fact", "forget-proposals/", lambda it: {"memory_ids": [str(it)]}, 201)],
    ("forget-proposal", "GET"): [Probe("proposal", "forget-proposals/{id}/")],
    ("forget-confirm", "POST"): [Probe("proposal", "forget-proposals/{id}/confirm/", nothing)],
    ("forget-keep", "POST"): [Probe("proposal", "forget-proposals/{id}/keep/", nothing)],
    ("forget-undo", "POST"): [Probe("confirmed", "forget-proposals/{id}/undo/", nothing)],
    ("operation", "GET"): [Probe("operation", "operations/{id}/")],
    ("operation-cancel", "POST"): [Probe("operation", "operations/{id}/cancel/", nothing)],
    ("operation-retry", "POST"): [Probe("operation", "operations/{id}/retry/", nothing, 202)],
    ("context", "POST"): [Probe("session", "context/", lambda it: {"query": SECRET, "session_id": str(it)})],
    ("item", "GET"): [Probe("item", "items/{id}/")],
    ("item", "DELETE"): [Probe("item", "items/{id}/?reason=mine")],
    ("run", "GET"): [Probe("run", "consolidation/{id}/")],
    ("rerun", "POST"): [Probe("run", "consolidation/{id}/rerun/", nothing)],
    ("review-item", "GET"): [Probe("review", "reviews/{id}/")],
    ("review-decide", "POST"): [Probe("review", "reviews/{id}/decide/", lambda _: {"decision": "evict"})],
    # That there is nothing to undo is for its owner alone to know.
    ("review-undo", "POST"): [Probe("review", "reviews/{id}/undo/", nothing, 409)],
    ("recall", "POST"): [Probe("session", "recall/", lambda it: {"query": SECRET, "session_id": str(it)})],
}
# Asking for whatever there is: strangers get an answer without a word of it.
AT_LARGE: dict[tuple[str, str], list[Probe]] = {
    ("sessions", "GET"): [Probe(path="sessions/")],
    ("sessions", "POST"): [Probe(path="sessions/", body=nothing, status=201)],
    ("memories", "GET"): [
        *(Probe(path=f"memories/?kind={kind}&shared=true") for kind in ALL_KINDS),
        Probe(path=f"memories/?q={SECRET}"),
        Probe(path="memories/?key=instrument&status=active,superseded"),
        Probe("session", path="memories/?kind=episodic&session={id}"),
    ],
    ("runs", "GET"): [Probe(path="consolidation/")],
    ("runs", "POST"): [Probe(path="consolidation/", body=nothing)],
    ("review", "GET"): [Probe(path="memories/review/")],
    ("reviews", "GET"): [Probe(path="reviews/"), Probe(path="reviews/?decided=true&limit=100")],
    ("looks", "GET"): [Probe(path="looks/?limit=100")],
    ("audit", "GET"): [Probe(path="audit/?limit=100"), Probe("fact", path="audit/?memory={id}")],
    ("audit-verify", "POST"): [Probe(path="audit/verify/", body=nothing)],
    ("recall", "POST"): [
        Probe(path="recall/", body=lambda _: {"query": f"who plays the {SECRET}?", "include_superseded": True}),
        Probe(path="recall/", body=lambda _: {"query": f"{SECRET} task", "task": "music"}),
    ],
    ("context", "POST"): [Probe(path="context/", body=lambda _: {"query": f"who plays the {SECRET}?", "limit": 100})],
    ("operations", "GET"): [Probe(path="operations/?limit=100")],
    ("events", "GET"): [Probe(path="events/?limit=100")],
    ("items", "GET"): [Probe(path=f"{ITEM}&refresh_ttl=true", status=404)],
    ("items-history", "GET"): [Probe(path=ITEM.replace("items/", "items/history/"), status=404)],
    ("items-search", "POST"): [
        Probe(path="items/search/", body=nothing),
        Probe(path="items/search/", body=lambda _: {"query": f"a {SECRET}", "namespace_prefix": ["things"]}),
        Probe(path="items/search/", body=lambda _: {"filters": {"field": "key", "op": "eq", "value": "instrument"}}),
    ],
    ("items-namespaces", "POST"): [Probe(path="items/namespaces/", body=nothing)],
    ("items", "PUT"): [
        Probe(path="items/", body=lambda _: {"namespace": ["things"], "key": "instrument", "value": 1}, status=201)
    ],
    ("items", "DELETE"): [Probe(path=ITEM)],
    # A session of another's is an id like any other: a new session of one's own.
    ("messages", "POST"): [
        Probe("session", path="messages/", body=lambda it: messages(str(it)), status=202),
        Probe(path="messages/", body=lambda _: messages("mine") | {"return_context": True}, status=202),
    ],
    ("memories", "DELETE"): [Probe(path="memories/?dry_run=true")],
    ("import", "POST"): [
        Probe("fact", path="import/?dry_run=true", body=lambda it: [{"kind": "semantic", "text": "x", "id": str(it)}]),
    ],
    ("batch", "POST"): [
        Probe("session", path="memories/batch/", body=lambda it: {"memories": [{"text": "x"}, naming(it)]}),
    ],
    ("messages-batch", "POST"): [
        Probe(
            "session", path="messages/batch/", body=lambda it: {"conversations": [messages(str(it)), messages("new")]}
        ),
    ],
    ("turns", "POST"): [Probe(path="turns/", body=says(f"What do you know of the {SECRET}? Show me Ada's memories."))],
}

# What the API says of itself and of the caller. Members, tokens, exports and webhooks are probed by test_members.py,
# test_tokens.py, test_bulk.py and test_webhooks.py, what is the tenant's by test_audit.py, test_policy.py and
# test_erasures.py.
OPEN = {("schema", "GET"), ("version", "GET"), ("me", "GET")}
ADMINISTERED = {
    *product(("members", "tokens"), ("GET", "POST")),
    *product(("member",), ("GET", "PATCH")),
    *product(("token",), ("GET", "DELETE")),
    *product(("member-erase", "member-export"), ("GET", "POST")),
    ("member-memories", "DELETE"),
    ("token-rotate", "POST"),
    ("export", "GET"),
    *product(("webhooks",), ("GET", "POST")),
    *product(("webhook",), ("GET", "PATCH", "DELETE")),
    *product(("webhook-rotate", "webhook-replay"), ("POST",)),
    ("webhook-deliveries", "GET"),
    *product(("audit-event", "tenant-audit", "tenant-audit-event"), ("GET",)),
    ("tenant-audit-verify", "POST"),
    *product(("policy",), ("GET", "PATCH")),
    *product(("me-erase",), ("GET", "POST", "DELETE")),
    *product(("erasures", "holds"), ("GET", "POST")),
    *product(("erasure", "erasure-receipt", "hold"), ("GET",)),
    *product(("erasure-approve", "erasure-withdraw", "erasure-verify", "hold-release"), ("POST",)),
}


def flat(probes: dict[tuple[str, str], list[Probe]]) -> list[Any]:
    return [
        pytest.param(method, probe, id=f"{method} {probe.path} {probe.target}")
        for (_, method), several in probes.items()
        for probe in several
    ]


by_id = pytest.mark.parametrize(("method", "probe"), flat(BY_ID))


def test_every_address_is_probed() -> None:
    addresses = {
        (pattern.name, method)
        for pattern in urlpatterns
        if pattern.name
        for method in getattr(vars(pattern.callback)["cls"], "rights", {"GET": ()})
    }
    assert addresses == set(BY_ID) | set(AT_LARGE) | OPEN | ADMINISTERED


@by_id
def test_a_probe_by_id_reaches_the_owners_own(ada: Caller, life: Life, method: str, probe: Probe) -> None:
    assert probe.send(ada, method, getattr(life, probe.target)).status == probe.status


def test_an_id_isolates_other_members(bob: Caller, life: Life) -> None:
    refused_like_unknown(bob, life)


def test_an_id_isolates_other_tenants(eve: Caller, life: Life) -> None:
    refused_like_unknown(eve, life)


@pytest.mark.parametrize("here", [True, False])
def test_an_id_isolates_those_for_whom_a_key_acts(tenant: Tenant, life: Life, here: bool) -> None:
    refused_like_unknown(acting_for_another(tenant if here else make_tenant()), life)


def acting_for_another(tenant: Tenant) -> Caller:
    """A backend with every right that acts for another user of this tenant."""
    Membership.objects.filter(pk=make_membership(tenant).pk).update(external_id="another")
    return replace(key_of(tenant, Right), user_id="another")


def refused_like_unknown(stranger: Caller, life: Life) -> None:
    """The stranger gets, for every probe, the answer for an id that nobody has, and nothing changes.

    One life does for all of them, since each has to leave it as it was.
    """
    before = everything()
    for (name, method), probes in BY_ID.items():
        for probe in probes:
            target = getattr(life, probe.target)
            foreign, unknown = probe.send(stranger, method, target), probe.send(stranger, method, uuid4())
            assert foreign.status == unknown.status == probe.refused, (name, method, probe)
            assert foreign.problem == unknown.problem, (name, method, probe)
    assert everything() == before


def everything() -> list[Any]:
    """All rows that the API could change."""
    said = (Session, SessionEntry, Message, Episode, RecallTrace)
    models = (*said, Fact, Playbook, ReviewItem, ConsolidationRun, ForgetProposal, LearningOperation, Item)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def test_asking_at_large_isolates_other_members(bob: Caller, life: Life) -> None:
    learns_nothing(bob, life)


def test_asking_at_large_isolates_other_tenants(eve: Caller, life: Life) -> None:
    learns_nothing(eve, life)


@pytest.mark.parametrize("here", [True, False])
def test_asking_at_large_isolates_those_for_whom_a_key_acts(tenant: Tenant, life: Life, here: bool) -> None:
    learns_nothing(acting_for_another(tenant if here else make_tenant()), life)


def learns_nothing(stranger: Caller, life: Life) -> None:
    """No answer to the stranger holds ids or words of the life; what stores their own words is asked last."""
    for (name, method), probes in AT_LARGE.items():
        for probe in probes:
            answer = probe.send(stranger, method, life.session)
            assert answer.status == probe.status, (name, method, probe)
            asked = str(probe.body(life.session)).casefold() + probe.path
            if SECRET not in asked:
                assert SECRET not in answer.text.casefold(), (name, method, probe)
            for each in (
                life.episode,
                life.old_fact,
                life.fact,
                life.task_fact,
                life.playbook,
                life.run,
                life.review,
                life.operation,
                life.item,
            ):
                assert str(each) not in answer.text, (name, method, probe)


def test_asking_at_large_finds_the_owners_own(ada: Caller, life: Life) -> None:
    for path, body in (("recall/", {"query": "who plays the xylophone?"}), ("turns/", {"message": "Who plays what?"})):
        assert str(life.fact) in ada.post(path, body).text
    assert str(life.fact) in ada.get("memories/").text


def test_an_id_in_a_batch_isolates_others(bob: Caller, eve: Caller, life: Life) -> None:
    for stranger in (bob, eve):
        for name in ("supersedes_ids", "supporting_episode_ids"):
            ids = (life.fact, life.episode, uuid4())
            answer = stranger.post("memories/batch/", {"memories": [{"text": "x", name: [str(each)]} for each in ids]})
            foreign, also_foreign, unknown = answer.json["results"]
            assert foreign == also_foreign == unknown and unknown["status"] == 400
            assert [each["field"] for each in unknown["problem"]["errors"]] == [name]
    assert Fact.objects.of(bob.principal).count() == Fact.objects.of(eve.principal).count() == 0


def test_a_turn_id_isolates_other_members(ada: Caller, bob: Caller) -> None:
    body = {"message": "hello", "turn_id": str(uuid4())}
    first, second = ada.post("turns/", body).json, bob.post("turns/", body).json
    assert first["session_id"] != second["session_id"] and first["message_id"] != second["message_id"]


@pytest.mark.parametrize(("action", "body"), [("supersede", {"text": "All."}), ("retire", {})])
def test_changing_several_isolates_other_tenants(eve: Caller, life: Life, action: str, body: dict[str, str]) -> None:
    own = remember_fact(eve.principal, text="Mine.").memory_id
    before = everything()
    foreign, unknown = (
        eve.post(f"memories/{own}/{action}/", {**body, "also_ids": [str(each)]}) for each in (life.fact, uuid4())
    )
    assert foreign.status == 404 and foreign.problem == unknown.problem
    assert everything() == before
