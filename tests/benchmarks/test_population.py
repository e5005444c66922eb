"""The rows of the large benchmark: as many as asked for, each owner's own, as whole as the outbox would leave them."""

from __future__ import annotations

import pytest
from rich.progress import Progress

from benchmarks.population import SHARED_PER_TENANT, Population, make_members
from memories.embedding import encoder_name
from memories.models import MEMORY_MODELS, CatalogEntry, Episode, Fact
from memories.search.documents import documents, encode_missing
from memories.types import Kind

pytestmark = pytest.mark.django_db


def test_every_member_gets_memories_of_all_kinds_and_every_tenant_a_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.population.SAMPLE", 4)
    members = make_members(11)
    count = Population(seed=1).fill(members, 50, Progress(disable=True))
    assert count == 11 * 50 + 2 * SHARED_PER_TENANT == sum(model.objects.count() for model in MEMORY_MODELS.values())
    for member in members:
        assert Episode.objects.of(member).count() == 40
        assert Fact.objects.of(member).count() == 9
    assert CatalogEntry.objects.filter(user=None).count() == 2 * SHARED_PER_TENANT


def test_rows_have_vectors_and_word_pieces_and_need_no_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.population.SAMPLE", 4)
    Population(seed=1).fill(make_members(1), 50, Progress(disable=True))
    rows = list(Episode.objects.all())
    assert {row.embedding_model for row in rows} == {encoder_name()}
    assert encode_missing(rows) == 0
    assert {document.kind for document in documents(rows)} == {Kind.EPISODIC}
