"""The searches of a recall: whose, by what, and weighed by nothing that others store."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from memories.search.elasticsearch.queries import ARCHIVE, By, SubQuery, brevity, rarity, sub_queries
from memories.types import ALL_KINDS, CandidateRequest, Kind
from tests.memories.search.library import somebody

ADA = somebody()


def asked(**changes: Any) -> list[SubQuery]:
    """The sub-queries of a question by words and meaning."""
    plain: dict[str, Any] = {"kinds": ALL_KINDS, "terms": ("harbour",), "vector": lambda: np.ones(384)}
    return sub_queries(ADA, CandidateRequest(**plain | {"per_sub_query": 80} | changes))


def filters(sub_query: SubQuery) -> str:
    """What a sub_query is limited to, as text."""
    body = sub_query.body
    part = body["knn"] if sub_query.by is By.MEANING else body["query"]["function_score"]["query"]["bool"]
    return json.dumps(part["filter"])


def test_each_leg_names_the_tenant_and_who_may_see() -> None:
    for sub_query in asked(include_superseded=True):
        assert '"visibility"' in filters(sub_query) and str(ADA.tenant_id) in filters(sub_query)


def test_the_catalog_is_never_searched_as_ones_own() -> None:
    assert all(str(ADA.user_id) not in filters(sub_query) for sub_query in asked(kinds=(Kind.CATALOG,)))


def test_episodes_are_searched_as_ones_own_alone() -> None:
    assert all(str(ADA.user_id) in filters(sub_query) for sub_query in asked(kinds=(Kind.EPISODIC,)))


def test_a_rarer_word_weighs_more() -> None:
    assert rarity("the") < rarity("work") < rarity("dog") < rarity("harbour") < rarity("brompton")


def test_a_match_in_a_shorter_text_counts_more() -> None:
    assert brevity("Lives in Bristol") > 1.0 > brevity(" ".join(["word"] * 40))


def test_the_archive_is_searched_only_for_superseded_memories_of_kinds_that_it_holds() -> None:
    assert all(sub_query.index_name == sub_query.kind for sub_query in asked())
    deeper = [sub_query for sub_query in asked(include_superseded=True) if sub_query.index_name == ARCHIVE]
    kinds = [sub_query.kind for sub_query in deeper]
    assert {kind: kinds.count(kind) for kind in kinds} == {Kind.SEMANTIC: 4, Kind.PROCEDURAL: 4}
    assert all(sub_query.header["index"].endswith("-archive") for sub_query in deeper)
    assert all(f'{{"term": {{"kind": "{sub_query.kind}"}}}}' in filters(sub_query) for sub_query in deeper)
    catalog = asked(include_superseded=True, kinds=(Kind.CATALOG,))
    assert ARCHIVE not in {sub_query.index_name for sub_query in catalog}
