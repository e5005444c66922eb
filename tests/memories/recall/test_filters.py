"""Random filters mean the same to the plain evaluation, to the database and to the search plane."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memories.attributes.evaluation import attributes_of, matches, token_range, tokens_of
from memories.attributes.filters import parse_filter
from memories.constants import EMBEDDING_DIMENSIONS
from memories.models import MEMORY_MODELS
from memories.search import search_plane
from memories.search.outbox import drain
from memories.selectors.items import search_items
from memories.selectors.memories import list_memories
from memories.services.apps import in_app
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import ALL_KINDS, CandidateRequest, Condition, Kind, Owner, Status
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FILTER_EXAMPLES", "300"))
MEMORIES = 20
KEYS = ("a", "b", "0", "é", "$x[0]", "# -1", "'%s")
TEXTS = ("a", "b", "a\x1fsb", "Ä", "\U0001f600", "10", "true", "a%_*?", "x" * 256, "x" * 257, "2026-01-01", "'\"\\")
NUMBERS = (0, -0.0, 1, 1.0, -1, 10, 0.1, 1e-7, -2.5, 3.141592653589793, 2**53, -(2**53), 1e15)
SCALARS: tuple[Any, ...] = (*TEXTS, *NUMBERS, True, False)
MOMENTS = tuple(datetime(2025, 3, 1, 12, tzinfo=UTC) + timedelta(microseconds=each) for each in (0, 1, 10**6, 10**11))
NAMES = ("home", "Home", "garden", "été")


def some_metadata(chance: random.Random, depth: int = 2) -> dict[str, Any]:
    """A random object over few keys and values, so that filters often hit."""
    found: dict[str, Any] = {}
    for key in chance.sample(KEYS, chance.randrange(4)):
        match chance.randrange(5 if depth else 3):
            case 0 | 1:
                found[key] = chance.choice(SCALARS)
            case 2:
                found[key] = chance.choice([None, []])
            case 3:
                found[key] = [chance.choice([*SCALARS, None, ["a"], {"a": "a"}]) for _ in range(chance.randrange(4))]
            case _:
                found[key] = some_metadata(chance, depth - 1)
    return found


@pytest.fixture
def rows(principal: Principal) -> dict[UUID, Any]:
    """Memories of three kinds and items with random attributes, delivered to the search plane."""
    chance = random.Random(30)
    sessions = [start_session(principal).id for _ in range(2)]
    for number in range(MEMORIES):
        caller = in_app(principal, chance.choice(NAMES)) if chance.random() < 0.5 else principal
        described: dict[str, Any] = {"metadata": some_metadata(chance)}
        remember_episode(
            caller,
            session_id=chance.choice(sessions),
            text=f"Event {number}",
            happened_at=chance.choice(MOMENTS),
            **described,
        )
        remember_playbook(
            caller, title=f"How {number}", text="Do it.", category=chance.choice(("", *NAMES)), **described
        )
        fact = remember_fact(
            caller,
            text=f"Fact {number}",
            key=chance.choice(("", *NAMES)),
            category=chance.choice(("", *NAMES)),
            **described,
        )
        if chance.random() < 0.2:
            retire(principal, kind=Kind.SEMANTIC, memory_id=fact.memory_id)
        value = some_metadata(chance) | {"text": f"Item {number}"}
        put(caller, namespace=("items",), key=chance.choice(NAMES) + str(number), value=value)
    drain()
    kinds = (Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL, Kind.ITEM)
    return {row.pk: row for kind in kinds for row in MEMORY_MODELS[kind].objects.of(principal)}


def conditions(rows: dict[UUID, Any]) -> st.SearchStrategy[Any]:
    """Conditions on any field, with values that occur and with others."""
    path = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3).map(lambda keys: ".".join(["metadata", *keys]))
    scalar = st.one_of(st.sampled_from([each for each in SCALARS if each != "x" * 257]), st.text("ab", max_size=2))
    scalar |= st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**53), max_value=2.0**53)
    ordered = scalar.filter(lambda each: not isinstance(each, bool))
    sessions = sorted({str(row.session_id) for row in rows.values() if row.kind is Kind.EPISODIC})
    times = sorted({each.isoformat() for each in (*MOMENTS, *(row.created_at for row in rows.values()))})
    named: list[tuple[list[str], Any]] = [
        (["category", "key", "app"], st.sampled_from([*NAMES, "elsewhere"])),
        (["kind"], st.sampled_from([*map(str, ALL_KINDS)])),
        (["status"], st.sampled_from([*map(str, Status)])),
        (["session"], st.sampled_from(sessions)),
        (["created_at", "happened_at"], st.sampled_from(times)),
    ]
    fields = [(st.sampled_from(names), values) for names, values in named]

    def of(op: str, field: st.SearchStrategy[Any], value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({"field": field, "op": st.just(op), "value": value})

    every = [(path, scalar), *fields]
    ranges = [(path, ordered), fields[-1]]
    return st.one_of(
        *(of(op, field, value) for op in ("eq", "ne") for field, value in every),
        *(of(op, field, st.lists(value, min_size=1, max_size=4)) for op in ("in", "nin") for field, value in every),
        *(of(op, field, value) for op in ("gt", "gte", "lt", "lte") for field, value in ranges),
        *(of("exists", field, st.booleans()) for field, _ in every),
        of("contains", path, scalar),
    )


def trees(rows: dict[UUID, Any]) -> st.SearchStrategy[Any]:
    """Filters as JSON."""
    return st.recursive(
        conditions(rows),
        lambda inner: st.one_of(
            st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"not": inner}),
        ),
        max_leaves=6,
    )


def test_every_filter_means_the_same_everywhere(principal: Principal, rows: dict[UUID, Any]) -> None:
    attributes = {pk: attributes_of(row) for pk, row in rows.items()}
    vector = np.full(EMBEDDING_DIMENSIONS, EMBEDDING_DIMENSIONS**-0.5, np.float32)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(trees(rows))
    def agree(tree: Any) -> None:
        filters = parse_filter(tree)
        expected = {pk for pk, each in attributes.items() if matches(filters, each)}
        listed = {
            pk
            for kind in (Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL)
            for pk in list_memories(principal, kind, status=list(Status), filters=filters).values_list("pk", flat=True)
        }
        listed |= {each.item.pk for each in search_items(principal, filters=filters, limit=100).items}
        assert listed == expected
        asked = CandidateRequest(
            kinds=tuple(Kind),
            terms=(),
            vector=lambda: vector,
            per_sub_query=100,
            include_superseded=True,
            filters=filters,
        )
        answer = search_plane().candidates(principal, asked)
        assert Owner(principal.tenant_id, principal.user_id) not in answer.incomplete
        assert {hit.id for hit in answer.hits} == expected

    agree()


@pytest.mark.parametrize("op", ["gt", "gte", "lt", "lte"])
@pytest.mark.parametrize("value", [each for each in SCALARS if not isinstance(each, bool) and each != "x" * 257])
def test_tokens_sort_like_their_values(op: str, value: Any) -> None:
    condition = parse_filter({"field": "metadata.a", "op": op, "value": value})
    assert isinstance(condition, Condition)
    lower, first, upper, last = token_range(condition)
    for other in SCALARS:
        held = {"metadata": {"a": other}}
        inside = any(
            (token >= first if lower == "gte" else token > first)
            and (token <= last if upper == "lte" else token < last)
            for token in tokens_of(held)
        )
        assert inside == matches(condition, held), other
