"""The memory at a time agrees with recall, and differs only by what recall tells of no more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memories.errors import InvalidInput
from memories.models import Fact, Playbook
from memories.recall.loading import visible_rows
from memories.recall.request import Request
from memories.selectors.history.as_of import (
    AsOfFilter,
    Since,
    as_of,
    changes_by_day,
    count_as_of,
    forgotten_since,
    page_as_of,
    since,
)
from memories.services.erasure.forget import forget
from memories.services.facts.supersede import retire
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import ALL_KINDS, Kind, Scope, Status
from tenants.principal import Principal
from tests.memories.services.reviewing import say
from tests.stored import lives

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def texts(principal: Principal, at: datetime, filters: AsOfFilter | None = None) -> set[str]:
    return {row.text for row in as_of(principal, Kind.SEMANTIC, at, filters)}


def live(principal: Principal) -> Principal:
    """Ada moved, left a club, came back to it by an undo; one fact has been evicted and one has expired since."""
    bristol = say(principal, "Lives in Bristol", key="home_city", learned_at=ago(100), category="home")
    say(principal, "Lives in Leeds", key="home_city", learned_at=ago(40), supersedes_ids=[bristol.pk])
    club = say(principal, "Rows at the club", learned_at=ago(90))
    retire(principal, kind=Kind.SEMANTIC, memory_id=club.pk, at=ago(60))
    undo(principal, kind=Kind.SEMANTIC, memory_id=club.pk)
    parcel = say(principal, "Waits for a parcel", learned_at=ago(80))
    Fact.objects.filter(pk=parcel.pk).update(status=Status.EVICTED, evicted_from="active", evicted_at=ago(20))
    ticket = say(principal, "Has a ticket for Friday", learned_at=ago(70))
    Fact.objects.filter(pk=ticket.pk).update(expires_at=ago(10))
    remember_playbook(principal, title="Descale the kettle", trigger="at the weekend", steps=["Use vinegar"])
    return principal


lived, life = lives(live)


@pytest.mark.parametrize("days", [110, 95, 85, 65, 50, 30, 15, 5, 0])
def test_it_has_what_recall_tells_of_that_time_and_beyond_it_only_what_ended_by_itself_since(
    life: Principal, days: float
) -> None:
    at = ago(days)
    for kind in (Kind.SEMANTIC, Kind.PROCEDURAL):
        told = set(visible_rows(life, kind, Request("", (kind,), timezone.now(), as_of=at)))
        shown = set(as_of(life, kind, at))
        assert told <= shown
        assert {since(row, now=NOW) for row in shown - told} <= {Since.EVICTED, Since.EXPIRED}
        assert count_as_of(life, at)[kind] == len(shown)


def test_each_time_has_its_own_beliefs(life: Principal) -> None:
    assert texts(life, ago(95)) == {"Lives in Bristol"}
    assert texts(life, ago(65)) == {
        "Lives in Bristol", "Rows at the club", "Waits for a parcel", "Has a ticket for Friday",
    }  # fmt: skip
    assert texts(life, ago(30)) == {"Lives in Leeds", "Waits for a parcel", "Has a ticket for Friday"}
    assert texts(life, ago(5)) == {"Lives in Leeds"}
    assert texts(life, timezone.now()) == {"Lives in Leeds", "Rows at the club"}


def test_what_became_of_each_is_told(life: Principal) -> None:
    found = {row.searchable_text: since(row, now=NOW) for row in as_of(life, Kind.SEMANTIC, ago(65))}
    assert found == {
        "Lives in Bristol": Since.REPLACED,
        "Rows at the club": Since.ENDED,
        "Waits for a parcel": Since.EVICTED,
        "Has a ticket for Friday": Since.EXPIRED,
    }


def test_what_is_forgotten_is_counted_and_gone(life: Principal) -> None:
    row = Fact.objects.get(text="Lives in Bristol")
    before = timezone.now()
    forget(life, kind=Kind.SEMANTIC, memory_id=row.pk)
    assert "Lives in Bristol" not in texts(life, ago(95))
    assert forgotten_since(life, before) == {Kind.SEMANTIC: 1}
    assert forgotten_since(life, ago(5), until=before) == {}


def test_nothing_of_anybody_else_is_there(life: Principal, stranger: Principal) -> None:
    assert texts(stranger, NOW, AsOfFilter(shared=True)) == set()
    assert sum(count_as_of(stranger, NOW).values()) == 0
    assert changes_by_day(stranger) == {}


def test_what_is_shared_is_there_when_it_is_asked_for(life: Principal, admin_principal: Principal) -> None:
    say(admin_principal, "The office closes at six", scope=Scope.TENANT, learned_at=ago(30))
    assert "The office closes at six" not in texts(life, ago(5))
    assert "The office closes at six" in texts(life, ago(5), AsOfFilter(shared=True))
    assert "The office closes at six" not in texts(life, ago(35), AsOfFilter(shared=True))


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        (AsOfFilter(category="home"), {Kind.SEMANTIC}),
        (AsOfFilter(key="home_city"), {Kind.SEMANTIC}),
        (AsOfFilter(query="bristol lives"), {Kind.SEMANTIC}),
        (AsOfFilter(query="vinegar"), {Kind.PROCEDURAL}),
        (AsOfFilter(query="vinegar", key="home_city"), set()),
    ],
)
def test_filters_narrow_every_kind(life: Principal, filters: AsOfFilter, kinds: set[Kind]) -> None:
    Playbook.objects.update(learned_at=ago(95))
    assert {kind for kind in ALL_KINDS if as_of(life, kind, ago(95), filters).exists()} == kinds


def test_what_was_said_later_is_not_there(principal: Principal) -> None:
    session = start_session(principal)
    for days in (3, 1):
        remember_episode(principal, session_id=session.pk, text=f"Said {days} days ago", happened_at=ago(days))
    shown = as_of(principal, Kind.EPISODIC, ago(2), AsOfFilter(session_id=session.pk))
    assert [row.text for row in shown] == ["Said 3 days ago"]


def test_pages_follow_each_other_without_a_gap(principal: Principal) -> None:
    for number in range(7):
        say(principal, f"Owns boat number {number}", learned_at=ago(number % 2))
    seen, cursor = [], ""
    while True:
        page = page_as_of(principal, Kind.SEMANTIC, NOW, AsOfFilter(), limit=3, cursor=cursor)
        seen += [row.pk for row in page.rows]
        if not (cursor := page.next_cursor):
            break
    assert len(seen) == len(set(seen)) == 7
    with pytest.raises(InvalidInput):
        page_as_of(principal, Kind.SEMANTIC, NOW, AsOfFilter(), limit=3, cursor="made up")


def test_days_count_what_was_learned_and_what_ended(life: Principal) -> None:
    days = changes_by_day(life)
    assert days[ago(100).astimezone(UTC).date()] == 1
    assert days[ago(40).astimezone(UTC).date()] == 2  # one learned, one replaced by it
    assert days[ago(20).astimezone(UTC).date()] == 1
