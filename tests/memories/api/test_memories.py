"""Memories by REST: created, listed, read, corrected, replaced, retired, pinned, forgotten."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries

from memories.models import Episode, Fact
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from tests.memories.api.caller import Caller, Life

EVERY = {"sensitivity", "metadata", "app", "kind", "id", "text", "status", "scope", "task", "created_at", "updated_at"}


def test_a_fact_is_created_and_read(ada: Caller, life: Life) -> None:
    body = {
        "text": "Lives in Leeds.",
        "key": "home_city",
        "category": "home",
        "source": "imported",
        "valid_from": "2026-03-01T09:30:00+01:00",
        "supporting_episode_ids": [str(life.episode)],
        "pinned": True,
    }
    created = ada.post("memories/", body)
    assert (created.status, created.json["result"], created.json["superseded_ids"]) == (201, "created", [])
    memory = ada.get(f"memories/{created.json['memory_id']}/").json
    assert memory == created.json["memory"]
    assert memory["valid_from"] == "2026-03-01T08:30:00Z" and memory["confidence"] == 0.9
    body.pop("valid_from")
    assert {name: memory[name] for name in body} == body


def test_an_equal_fact_merges(ada: Caller) -> None:
    first = ada.post("memories/", {"text": "Lives in Leeds."})
    second = ada.post("memories/", {"text": "lives in leeds"})
    assert (second.status, second.json["result"]) == (200, "merged")
    assert second.json["memory_id"] == first.json["memory_id"]


def test_an_episode_is_the_owners_words_unless_told_otherwise(ada: Caller) -> None:
    session = str(start_session(ada.principal).pk)
    body = {"kind": "episodic", "session_id": session, "text": "It rained.", "happened_at": "2026-03-01T09:30:00Z"}
    memory = ada.post("memories/", body).json["memory"]
    assert (memory["speaker"], memory["happened_at"], memory["sequence"]) == ("Ada", "2026-03-01T09:30:00Z", 1)
    assert ada.post("memories/", body | {"name": "Grace"}).json["memory"]["speaker"] == "Grace"


def test_the_catalog_is_written_by_administrators(ada: Caller, eve: Caller) -> None:
    body = {"kind": "catalog", "title": "Opening hours", "text": "Nine to five."}
    assert ada.post("memories/", body).status == 403
    created = eve.post("memories/", body)
    assert (created.status, created.json["memory"]["scope"]) == (201, "tenant")


def test_the_shape_of_each_kind(ada: Caller, life: Life) -> None:
    supersedable = {"category", "learned_at", "superseded_at", "superseded_by", "contradiction", "retracted"}
    supersedable |= {"archived_at", "evicted_at"}
    shapes: dict[UUID, set[str]] = {
        life.episode: {"session_id", "sequence", "speaker", "context", "happened_at"},
        life.fact: supersedable
        | {"key", "confidence", "source", "pinned", "valid_from", "valid_to", "use_count", "last_used_at"}
        | {"supporting_episode_ids", "last_verified_at", "review_after", "expires_at"},
        life.playbook: supersedable
        | {"title", "trigger", "steps", "success_count", "failure_count", "last_success_at", "last_failure_at"}
        | {"proposed"},
    }
    for memory_id, members in shapes.items():
        assert set(ada.get(f"memories/{memory_id}/").json) == EVERY | members


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"fact", "task_fact"}),
        ("status=superseded", {"old_fact"}),
        ("status=active,superseded&key=instrument", {"fact", "old_fact"}),
        ("q=plays+the", {"fact"}),
        ("kind=episodic", {"episode"}),
        ("kind=episodic&session={session}", {"episode"}),
        ("kind=procedural&q=tune", {"playbook"}),
        ("q=", {"fact", "task_fact"}),
    ],
)
def test_a_list_is_narrowed(ada: Caller, life: Life, query: str, found: set[str]) -> None:
    listed = ada.get(f"memories/?{query.format(session=life.session)}").json["results"]
    assert {memory["id"] for memory in listed} == {str(getattr(life, name)) for name in found}


@pytest.mark.parametrize("kind", ["semantic", "episodic", "procedural"])
def test_pages_hold_each_memory_once_while_others_come(ada: Caller, kind: str) -> None:
    session = str(start_session(ada.principal).pk)
    more: dict[str, dict[str, Any]] = {
        "semantic": {"text": "Fact {}."},
        "episodic": {"text": "Words {}.", "session_id": session, "happened_at": "2026-03-01T09:30:00Z"},
        "procedural": {"title": "How to {}", "text": "So."},
    }

    def add(number: int) -> str:
        body = {name: value.format(number) if "{}" in value else value for name, value in more[kind].items()}
        memory_id: str = ada.post("memories/", {"kind": kind, **body}).json["memory_id"]
        return memory_id

    there = {add(number) for number in range(10, 17)}
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = ada.get(f"memories/?kind={kind}&limit=3&cursor={cursor}").json
        seen += [memory["id"] for memory in page["results"]]
        cursor = page["next_cursor"]
        add(99 + len(seen))
    assert there <= set(seen) and len(seen) == len(set(seen))


def test_a_cursor_is_good_for_lists_of_its_kind_only(ada: Caller, life: Life) -> None:
    ada.post("memories/", {"text": "One more."})
    cursor = ada.get("memories/?limit=1").json["next_cursor"]
    assert ada.get(f"memories/?limit=1&cursor={cursor}").status == 200
    for path in ("memories/?kind=episodic&", "sessions/?"):
        assert list(ada.get(f"{path}cursor={cursor}").faults) == ["cursor"]
    assert list(ada.get(f"memories/?cursor={cursor[:-3]}abc").faults) == ["cursor"]


def test_a_list_costs_three_queries(ada: Caller, life: Life, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ada.get("memories/")  # notes the use of the token, once a minute
    with django_assert_num_queries(3):  # the token, the facts, the words behind them
        ada.get("memories/")
    for number in range(20):
        remember_fact(ada.principal, text=f"Fact {number}.", supporting_episode_ids=[life.episode])
    with django_assert_num_queries(3):
        assert len(ada.get("memories/").json["results"]) == 22


def test_a_correction_takes_the_place_of_what_never_was_true(ada: Caller, life: Life) -> None:
    answer = ada.post(f"memories/{life.fact}/correct/", {"text": "Plays the marimba.", "reason": "misheard"})
    assert (answer.status, answer.json["superseded_ids"]) == (201, [str(life.fact)])
    assert (answer.json["memory"]["key"], answer.json["memory"]["text"]) == ("instrument", "Plays the marimba.")
    old = ada.get(f"memories/{life.fact}/").json
    assert (old["status"], old["contradiction"], old["retracted"]) == ("superseded", "harsh", True)


def test_several_facts_are_replaced_by_one(ada: Caller, life: Life) -> None:
    other = ada.post("memories/", {"text": "Plays the drums."}).json["memory_id"]
    body = {"text": "Plays percussion.", "also_ids": [other], "key": ""}
    answer = ada.post(f"memories/{life.fact}/supersede/", body).json
    assert set(answer["superseded_ids"]) == {str(life.fact), other}
    assert answer["memory"]["key"] == ""
    assert ada.get(f"memories/{other}/").json["contradiction"] == "natural"


def test_several_are_retired_as_never_true(ada: Caller, life: Life) -> None:
    other = ada.post("memories/", {"text": "Plays the drums."}).json["memory_id"]
    body = {"also_ids": [other], "contradiction": "harsh", "valid_to": "2026-03-01T09:30:00Z", "reason": "misheard"}
    assert ada.post(f"memories/{life.fact}/retire/", body).json["superseded_ids"] == [str(life.fact), other]
    assert ada.get(f"memories/{other}/").json["retracted"] is True


def test_a_replacement_is_undone_and_that_again(ada: Caller, life: Life) -> None:
    undone = ada.post(f"memories/{life.fact}/undo/", {"reason": "misheard"})
    assert (undone.status, undone.json["memory"]["text"]) == (201, "Plays no xylophone.")
    assert undone.json["superseded_ids"] == [str(life.fact)]
    assert ada.post(f"memories/{life.fact}/undo/").status == 409
    again = ada.post(f"memories/{undone.json['memory_id']}/undo/").json
    assert again["memory"]["text"] == "Plays the xylophone."


def test_a_memory_is_promoted_once(ada: Caller, life: Life) -> None:
    first = ada.post(f"memories/{life.task_fact}/promote/", {"to": "user", "reason": "not only for music"})
    again = ada.post(f"memories/{life.task_fact}/promote/", {"to": "user"})
    assert (first.status, first.json["memory"]["scope"], again.status) == (201, "user", 200)
    assert again.json["memory_id"] == first.json["memory_id"] != str(life.task_fact)


def test_a_kind_that_cannot_be_changed_so_is_a_conflict(ada: Caller, life: Life) -> None:
    assert ada.post(f"memories/{life.episode}/supersede/", {"text": "x"}).status == 409
    assert ada.post(f"memories/{life.playbook}/pin/", {"pinned": True}).status == 409
    assert ada.post(f"memories/{life.episode}/retire/").status == 409


def test_the_chain_of_a_fact_is_told_from_the_oldest(ada: Caller, life: Life) -> None:
    newest = ada.post(f"memories/{life.fact}/correct/", {"text": "Plays the marimba."}).json["memory_id"]
    links = ada.get(f"memories/{newest}/chain/").json["links"]
    assert [link["id"] for link in links] == [str(life.old_fact), str(life.fact), newest]
    for asked in (life.old_fact, life.fact):
        assert ada.get(f"memories/{asked}/chain/").json["links"] == links
    assert [link["contradiction"] for link in links] == ["natural", "harsh", None]
    assert links[0]["until"] == links[1]["since"]


def test_forgetting_erases_and_says_what(ada: Caller, life: Life) -> None:
    answer = ada.delete(f"memories/{life.episode}/?cascade=true")
    assert {each["id"] for each in answer.json["erased"]} == {str(life.episode), str(life.fact)}
    assert not Episode.objects.exists() and not Fact.objects.filter(pk=life.fact).exists()
    assert ada.get(f"memories/{life.episode}/").status == ada.delete(f"memories/{life.episode}/").status == 404


def test_forgetting_a_fact_takes_its_words_along_if_asked(ada: Caller, life: Life) -> None:
    ada.delete(f"memories/{life.fact}/?sources=true")
    assert not Episode.objects.exists()


def test_a_list_as_of_a_time_holds_what_was_believed_then(ada: Caller, life: Life) -> None:
    old, new = (ada.get(f"memories/{each}/").json for each in (life.old_fact, life.fact))
    shown = ada.get(f"memories/?as_of={old['learned_at']}").json["results"]
    assert [each["id"] for each in shown] == [str(life.old_fact)]
    shown = ada.get(f"memories/?key=instrument&as_of={new['learned_at']}").json["results"]
    assert [each["id"] for each in shown] == [str(life.fact)]
    assert ada.get("memories/?as_of=2000-01-01T00:00:00Z").json == {"results": [], "next_cursor": None}
    for name, value in (("status", "active"), ("filters", quote('{"field": "app", "op": "eq", "value": "x"}'))):
        assert ada.get(f"memories/?as_of=2000-01-01T00:00:00Z&{name}={value}").faults.keys() == {name}
