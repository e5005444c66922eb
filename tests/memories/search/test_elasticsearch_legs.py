"""The searches of a recall: whose, by what, and weighed by nothing that others store."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from memories.search.elasticsearch.queries import ARCHIVE, By, SubQuery, brevity, rarity, sub_queries
from memories.types import ALL_KINDS, CandidateRequest, Kind
from tests.memories.search.library import somebody

ADA = somebody()


def asked(**changes: Any) -> list[SubQuery]:
    """The legs of a question by words and meaning."""
    plain: dict[str, Any] = {"kinds": ALL_KINDS, "terms": ("harbour",), "vector": lambda: np.ones(384), "per_leg": 80}
    return sub_queries(ADA, CandidateRequest(**{**plain, **changes}))


def filters(leg: SubQuery) -> str:
    """What a leg is limited to, as text."""
    body = leg.body["knn"] if leg.by is By.MEANING else leg.body["query"]["function_score"]["query"]["bool"]
    return json.dumps(body["filter"])


def test_own_and_shared_memories_are_searched_in_legs_of_their_own() -> None:
    kinds = [leg.kind for leg in asked()]
    assert {kind: kinds.count(kind) for kind in ALL_KINDS} == {
        Kind.EPISODIC: 2,
        Kind.SEMANTIC: 4,
        Kind.PROCEDURAL: 4,
        Kind.CATALOG: 2,
    }


def test_each_leg_names_the_tenant_and_who_may_see() -> None:
    for leg in asked():
        assert '"visibility"' in filters(leg)
        assert str(ADA.tenant_id) in filters(leg)


def test_the_catalog_is_never_searched_as_ones_own() -> None:
    assert all(str(ADA.user_id) not in filters(leg) for leg in asked(kinds=(Kind.CATALOG,)))


def test_episodes_are_searched_as_ones_own_alone() -> None:
    assert all(str(ADA.user_id) in filters(leg) for leg in asked(kinds=(Kind.EPISODIC,)))


def test_a_question_without_words_has_no_leg_of_words() -> None:
    assert {leg.by for leg in asked(terms=("", " "))} == {By.MEANING}


def test_a_question_without_anything_asks_nothing() -> None:
    assert asked(terms=(), vector=None) == []


def test_superseded_memories_are_looked_for_only_if_wanted() -> None:
    assert "superseded" not in filters(asked()[0])
    assert "superseded" in filters(asked(include_superseded=True)[0])


def test_a_rarer_word_weighs_more() -> None:
    assert rarity("the") < rarity("work") < rarity("dog") < rarity("harbour") < rarity("brompton")


@pytest.mark.parametrize("word", ["", "\x00", "zzzzqqqxx", "Ω", "2023"])
def test_any_word_has_a_weight(word: str) -> None:
    assert 0 < rarity(word) < 10


def test_a_match_in_a_shorter_text_counts_more() -> None:
    assert brevity("Lives in Bristol") > 1.0 > brevity(" ".join(["word"] * 40))


def test_the_archive_is_searched_only_for_superseded_memories_of_kinds_that_it_holds() -> None:
    assert all(leg.shelf == leg.kind for leg in asked())
    deeper = [leg for leg in asked(include_superseded=True) if leg.shelf == ARCHIVE]
    kinds = [leg.kind for leg in deeper]
    assert {kind: kinds.count(kind) for kind in kinds} == {Kind.SEMANTIC: 4, Kind.PROCEDURAL: 4}
    for leg in deeper:
        assert leg.header["index"].endswith("-archive")
        assert f'{{"term": {{"kind": "{leg.kind}"}}}}' in filters(leg)
        assert '"visibility"' in filters(leg) and str(ADA.tenant_id) in filters(leg)
    assert not [leg for leg in asked(include_superseded=True, kinds=(Kind.CATALOG,)) if leg.shelf == ARCHIVE]
