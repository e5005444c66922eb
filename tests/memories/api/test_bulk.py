"""Batches, erasing all, export and import by API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from memories.constants import MAX_IMPORT_BYTES
from memories.models import Episode, Fact, Item
from memories.services.facts.remember import remember_fact
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.end_users import provision_end_user
from tenants.models import Membership, Tenant
from tenants.principal import KEY_RIGHTS, Right
from tests.memories.api.caller import Answer, Caller, Life, caller_of, key_of

EXPORTS = Path(__file__).parents[1] / "importing" / "exports"
CARD = "4111 1111 1111 " + "1111"
MEM0 = [{"id": "1", "memory": "Likes trains.", "user_id": "a"}, {"id": "2", "memory": "Likes boats.", "user_id": "a"}]
NOTHING: dict[str, Any] = {}
KEY = {"Idempotency-Key": "once"}


@pytest.fixture
def limited(settings: Settings) -> dict[str, int]:
    own = settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS)
    return own


def batch(caller: Caller, *memories: Any, **headers: str) -> Answer:
    return caller.post("memories/batch/", {"memories": [*memories]}, **headers)


def statuses(answer: Answer) -> list[int]:
    return [each["status"] for each in answer.json["results"]]


def test_a_thousand_entries_each_have_a_result(ada: Caller) -> None:
    bad: list[Any] = [{"text": ""}, {"text": f"Pays with {CARD}."}, {"kind": "catalog", "title": "T", "text": "X"}, 7]
    bad += [{"text": "x", "supersedes_ids": ["0f5e0b61-6e4b-4c58-9b3f-8a4f4f6d1c01"]}, {"text": "x", "colour": "red"}]
    entries: list[Any] = [{"text": f"Owns the {n}th book of shelf {n % 31}."} for n in range(1_000)]
    entries[100:700:100] = bad
    answer = batch(ada, *entries)
    assert (answer.status, answer.json["stored"], answer.json["refused"]) == (200, 994, 6)
    assert [statuses(answer)[100 * n] for n in range(1, 7)] == [400, 422, 403, 400, 400, 400]
    refused = answer.json["results"][100]
    assert refused["problem"]["errors"][0]["field"] == "text"
    assert refused["id"] is None and CARD not in answer.text
    stored = {str(fact.pk): fact.text for fact in Fact.objects.of(ada.principal)}
    told = {each["id"]: entries[n]["text"] for n, each in enumerate(answer.json["results"]) if each["id"]}
    assert told == stored


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"memories": []}, "memories"),
        ({"memories": [{"text": "x"}] * 1_001}, "memories"),
        ({"memories": "x"}, "memories"),
        (NOTHING, "memories"),
    ],
)
def test_a_batch_without_entries_or_with_too_many_stores_nothing(ada: Caller, body: Any, field: str) -> None:
    answer = ada.post("memories/batch/", body)
    assert (answer.status, list(answer.faults)) == (400, [field])
    assert not Fact.objects.of(ada.principal).exists()


def test_a_batch_counts_its_entries_and_is_refused_whole(ada: Caller, limited: dict[str, int]) -> None:
    limited["token_entries"] = 3
    assert batch(ada, {"text": "One."}, {"text": "Two."}).status == 200
    refused = batch(ada, {"text": "Three."}, {"text": "Four."})
    assert (refused.status, refused.problem["violated-policies"]) == (429, ["token-entries"])
    assert int(refused.response.headers["Retry-After"]) == pytest.approx(1_200, abs=5)
    never = batch(ada, *({"text": f"Number {n}."} for n in range(4)))
    assert "at most 3 are taken at once, so divide them" in never.problem["detail"]
    assert Fact.objects.of(ada.principal).count() == 2
    assert batch(ada, {"text": "Three."}).status == 200


def test_a_repeated_batch_is_stored_once(ada: Caller) -> None:
    first, again = (batch(ada, {"text": "One."}, {"text": ""}, **KEY) for _ in range(2))
    assert first.json == again.json
    assert again.response.headers["Idempotency-Replayed"] == "true"
    assert Fact.objects.of(ada.principal).count() == 1


def test_a_key_stores_a_batch_for_the_user_that_it_names(tenant: Tenant) -> None:
    ann, bea = (provision_end_user(tenant.id, name)[0] for name in ("ann", "bea"))
    answer = key_of(tenant).post("memories/batch/", {"user_id": "ann", "memories": [{"text": "Likes trains."}]})
    assert answer.status == 200
    owners = Fact.objects.unscoped("a test reads").values_list("user_id", flat=True)
    assert list(owners) == [ann.user_id] != [bea.user_id]


def test_everything_goes_only_after_a_count(ada: Caller, bob: Caller, life: Life) -> None:
    remember_fact(bob.principal, text="Mine.")
    assert (ada.delete("memories/").status, ada.delete("memories/?confirm=12").status) == (400, 400)
    count = ada.delete("memories/?dry_run=true").json
    assert count["memories"] == sum(count["kinds"].values()) > 0
    assert bob.delete(f"memories/?confirm={count['confirm']}").status == 400
    done = ada.delete(f"memories/?confirm={count['confirm']}").json
    assert (done["memories"], done["complete"], done["confirm"]) == (count["memories"], True, None)
    assert not Fact.objects.of(ada.principal).exists() and Fact.objects.of(bob.principal).exists()


def test_a_filter_erases_what_it_matches(ada: Caller) -> None:
    batch(ada, {"text": "Old.", "metadata": {"trip": 1}}, {"text": "New.", "metadata": {"trip": 2}})
    filters = json.dumps({"field": "metadata.trip", "op": "eq", "value": 1})
    count = ada.delete(f"memories/?dry_run=true&filters={filters}").json
    assert count["kinds"] == {"episodic": 0, "semantic": 1, "procedural": 0, "item": 0}
    assert ada.delete(f"memories/?confirm={count['confirm']}").status == 400
    assert ada.delete(f"memories/?filters={filters}&confirm={count['confirm']}").json["memories"] == 1
    assert [fact.text for fact in Fact.objects.of(ada.principal)] == ["New."]


def test_erasing_all_needs_the_scope_to_decide(membership: Membership, tenant: Tenant) -> None:
    provision_end_user(tenant.id, "ann")
    for caller in (caller_of(membership, {Right.READ, Right.WRITE}), key_of(tenant, KEY_RIGHTS)):
        assert caller.send("DELETE", "memories/?dry_run=true", **{"X-Memoryhub-User": "ann"}).status in (403, 404)


def test_an_export_comes_back_by_import(ada: Caller, bob: Caller, life: Life) -> None:
    exported = ada.get("export/")
    assert exported.response.headers["Content-Type"] == "application/x-ndjson"
    file = exported.text  # a stream, read once
    lines = [json.loads(line) for line in file.splitlines()]
    assert len(lines) == Fact.objects.of(ada.principal).count() + 3
    told = bob.post("import/?dry_run=true", lines).json  # as a list, too
    done = bob.send("POST", "import/", file.encode()).json
    assert done["format"] == "memoryhub"
    assert told["added"]["semantic"] == done["added"]["semantic"] == Fact.objects.of(ada.principal).count()
    assert told["added"]["item"] == done["added"]["item"] == Item.objects.of(bob.principal).count() == 1
    assert Fact.objects.of(bob.principal).filter(text="Plays the xylophone.").exists()


def test_an_export_is_the_members_own(bob: Caller, eve: Caller, tenant: Tenant, life: Life) -> None:
    assert bob.get("export/").text == eve.get("export/").text == ""
    provision_end_user(tenant.id, "ann")
    refused = key_of(tenant, Right).send("GET", "export/", **{"X-Memoryhub-User": "ann"})
    assert (refused.status, "/members/" in refused.problem["detail"]) == (403, True)


def test_an_import_says_what_would_come_and_then_brings_it(ada: Caller) -> None:
    told = ada.post("import/?dry_run=true", MEM0)
    assert (told.status, told.json["format"], told.json["added"]) == (200, "mem0", {"semantic": 2})
    assert {each["text"] for each in told.json["examples"]} == {"Likes trains.", "Likes boats."}
    assert not Fact.objects.of(ada.principal).exists()
    first, again = (ada.post("import/", MEM0).json for _ in range(2))
    assert (first["added"], again["added"], again["known"]) == ({"semantic": 2}, {}, 2)


def test_imported_conversations_are_learned_from_by_an_operation(ada: Caller) -> None:
    answer = ada.send("POST", "import/", (EXPORTS / "zep.json").read_bytes())
    assert (answer.status, answer.json["messages"], answer.json["refused_count"]) == (202, 2, 1)
    operation = ada.get(f"operations/{answer.json['operation']['id']}/").json
    assert operation["episode_ids"] == [str(Episode.objects.of(ada.principal).get().pk)]
    assert ada.send("POST", "import/?learn=off", (EXPORTS / "letta.af").read_bytes()).json["operation"] is None


@pytest.mark.parametrize(
    ("path", "body", "fault"),
    [
        pytest.param("import/", b"", "file", id="nothing"),
        pytest.param("import/", b"[" * 200_000, "file", id="deep"),
        pytest.param("import/", b'{"results": [NaN]}', "file", id="NaN"),
        pytest.param("import/", b'{"kind": "semantic", "text": "x"}\n{"kind": "cake"}', "line 2", id="a late line"),
        pytest.param(
            "import/",
            b'{"kind": "semantic", "text": "x", "metadata": ' + b'{"a": ' * 300 + b"1" + b"}" * 301,
            "line 1",
            id="deep metadata",
        ),
        pytest.param(
            "import/",
            b'{"agents": [{"name": "a\\u0000b", "messages": [{"role": "user", "content": "I row.",'
            b' "created_at": "2025-03-03T09:00:00Z"}]}]}',
            "agents.0.messages.0",
            id="NUL in a title",
        ),
        pytest.param("import/?format=cake", b"{}", "format", id="no such format"),
        pytest.param("import/", b'{"x": 1}', "format", id="an unknown file"),
        pytest.param(
            "import/",
            b'[{"memory": "a", "user_id": "1"}, {"memory": "b", "user_id": "2"}]',
            "source_user",
            id="two users",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_whole(ada: Caller, path: str, body: bytes, fault: str) -> None:
    answer = ada.send("POST", path, body)
    assert (answer.status, list(answer.faults)) == (400, [fault])
    assert not Fact.objects.of(ada.principal).exists()


def test_a_file_that_is_too_large_is_refused(ada: Caller) -> None:
    assert ada.send("POST", "import/", b" " * (MAX_IMPORT_BYTES + 1)).status == 413


def test_an_import_counts_its_entries(ada: Caller, limited: dict[str, int]) -> None:
    limited["token_entries"] = 1
    assert ada.post("import/", MEM0).status == 429
    assert not Fact.objects.of(ada.principal).exists()


def test_a_repeated_import_with_a_key_is_answered_again(ada: Caller) -> None:
    first, again = (ada.post("import/", MEM0, **KEY) for _ in range(2))
    assert first.json == again.json and again.response.headers["Idempotency-Replayed"] == "true"
    assert ada.post("import/", MEM0[:1], **KEY).status == 422
