"""The attacks on batches, imports, exports and erasing all: clean as the product is, and found without a guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memories.api.views.batches import EntriesView, EntryResult, Store
from memories.services.erasure import forget_all
from proof.report import Conclusion
from proof.run import prove
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_bulk_only(only: Callable[[str], None]) -> None:
    only("bulk:")


def test_bulk_calls_leak_nothing() -> None:
    report = prove(attempts=80, concurrency=2, seed=3)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 80


def test_a_token_that_is_for_anybody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget_all, "_whose", lambda *_: [])
    report = prove(attempts=40, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"bulk: the token of another's count"}


def _unnamed(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "user_id"}


def test_a_name_in_an_entry_that_is_passed_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def store_for_the_caller(view: EntriesView, entries: Sequence[Any], store: Store) -> dict[int, EntryResult]:
        return dict(store(view.principal, {number: _unnamed(each) for number, each in enumerate(entries)}))

    monkeypatch.setattr(EntriesView, "_own", store_for_the_caller)
    report = prove(attempts=40, concurrency=2, seed=3)
    assert {leak.attack for leak in report.leaks} == {"bulk: entries that act for others"}
