"""A variant of a recall lacks one stage or signal, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import numpy as np
import pytest

from memories.evaluation.ablation import VARIANTS, variants
from memories.recall import adjust
from memories.recall.adjust import SIGNALS
from memories.recall.pipeline import Run, run
from memories.recall.pool import CandidateRow
from memories.recall.request import checked
from memories.search.outbox import drain
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal

pytestmark = pytest.mark.django_db
SAID = ["The hub blinks red", "Hold both buttons", "Then wait for green", "Lunch?", "Soup"]


@pytest.fixture
def ran(principal: Principal) -> Run:
    """A recall that finds everything by meaning, and the first turn and the fact by words."""
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=[EpisodeDraft(text) for text in SAID])
    remember_fact(principal, text="Her hub stands in the hall")
    drain()
    return run(principal, checked(principal, "hub blinks"))


def test_every_signal_and_adjustment_of_the_recipe_has_a_variant(ran: Run) -> None:
    assert set(SIGNALS) == ran.scores.added.keys()
    assert {f"adjustment {name}" for name in ran.scores.adjustments} < VARIANTS.keys()
    assert [name for name, _, _ in variants(ran)] == list(VARIANTS)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_sum_lacks_the_signal(ran: Run, signal: str) -> None:
    pool, scores = VARIANTS[f"signal {signal}"](ran)
    assert pool is ran.pool
    np.testing.assert_allclose(scores.fused, ran.scores.fused - ran.scores.added[signal], atol=1e-5)
    np.testing.assert_allclose(scores.final, adjust.apply(scores.fused, ran.scores.factor), atol=1e-5)


def test_without_adjustments_the_sum_is_final(ran: Run) -> None:
    _, scores = VARIANTS["adjustments, all"](ran)
    np.testing.assert_array_equal(scores.final, ran.scores.fused)


def test_a_sub_query_takes_the_neighbours_of_its_hits_along(ran: Run) -> None:
    by_words, scores = VARIANTS["sub-query by meaning"](ran)
    assert sorted(texts(ran, by_words.rows)) == sorted([*SAID[:3], "Her hub stands in the hall"])
    assert len(scores.final) == len(by_words) == 4
    assert len(ran.pool) == len(SAID) + 1


def test_without_neighbours_only_hits_are_left(ran: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ran.found, "dense", {})
    hits, _ = VARIANTS["neighbours of hits"](ran)
    assert sorted(texts(ran, hits.rows)) == ["Her hub stands in the hall", SAID[0]]


def texts(ran: Run, rows: Iterable[CandidateRow]) -> list[str]:
    return [ran.answer.rows[UUID(row.id)].searchable_text for row in rows]
