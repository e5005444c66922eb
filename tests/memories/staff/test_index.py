"""Index: what waits of one member, what fails, and whether index and database agree."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.errors import SearchUnavailable
from memories.models import Fact, OutboxEntry
from memories.search import search_plane
from memories.search.outbox import drain
from memories.services.erasure.forget import forget
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.services.reviewing import say
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import own_queries, words

pytestmark = pytest.mark.django_db


def test_what_waits_is_listed_with_its_attempts(support: Client, at: At, principal: Principal) -> None:
    row = say(principal, "Lives in Porto")
    OutboxEntry.objects.update(
        attempts=3, last_error="SearchUnavailable", created_at=timezone.now() - timedelta(minutes=20)
    )
    page = support.get(at("index"))
    shown = words(page)
    assert str(row.pk) in shown and "SearchUnavailable" in shown and "20 min ago" in shown
    assert "Failed attempts 1" in shown and "later than usual" in shown
    assert "Porto" not in shown


def test_what_was_removed_leads_nowhere(support: Client, at: At, principal: Principal) -> None:
    row = say(principal, "Lives in Porto")
    drain()
    forget(principal, kind=Kind.SEMANTIC, memory_id=row.pk)
    page = support.get(at("index")).content.decode()
    assert str(row.pk) in page and at("record", row.pk) not in page


def test_others_entries_are_not_there(support: Client, at: At, other_member: Principal, principal: Principal) -> None:
    row = say(other_member, "Lives in Faro")
    assert str(row.pk) not in words(support.get(at("index")))
    assert "No pending changes" in words(support.get(at("index")))


def test_the_comparison_says_that_all_is_well_or_names_what_differs(
    support: Client, at: At, principal: Principal
) -> None:
    row = say(principal, "Lives in Porto")
    drain()
    assert "The 1 memory is the same in the index" in words(support.post(at("index_check")))
    Fact.objects.filter(pk=row.pk).update(version=9)
    shown = words(support.post(at("index_check")))
    assert "1 of 1 differ" in shown and "another version" in shown and str(row.pk) in shown
    assert Fact.objects.get(pk=row.pk).version == 9


def test_an_index_that_does_not_answer_is_said(
    support: Client, at: At, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_plane: object) -> None:
        raise SearchUnavailable("down")

    monkeypatch.setattr(type(search_plane()), "settle", refuse)
    answer = support.post(at("index_check"))
    assert answer.status_code == 503 and "was not compared" in words(answer)


def test_the_queries_do_not_grow_with_what_waits(support: Client, at: At, principal: Principal) -> None:
    support.get(at("index"))  # the first look begins the trail
    counts = []
    for number in range(6):
        say(principal, f"Owns boat number {number}")
        with CaptureQueriesContext(connection) as captured:
            assert support.get(at("index"), {"cursor": ""}).status_code == 200
        counts.append(own_queries(captured))
    assert set(counts) == {11}
    assert support.get(at("index"), {"cursor": "made up"}).status_code == 400
