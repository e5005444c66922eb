"""Pages of lists stay in place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core import signing

from memories.errors import InvalidInput
from memories.models import Session
from memories.selectors.paging import page_of
from memories.selectors.sessions import list_sessions
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sessions(principal: Principal, *, same_time: int, later: int = 0) -> None:
    for number in range(same_time + later):
        at = NOON + timedelta(minutes=max(0, number - same_time + 1))
        start_session(principal, title=str(number), created_at=at)


def walk(principal: Principal, limit: int) -> list[Session]:
    found: list[Session] = []
    cursor = ""
    while True:
        page = page_of(list_sessions(principal), limit=limit, cursor=cursor)
        found += page.rows
        if not page.next_cursor:
            return found
        cursor = page.next_cursor


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 100])
def test_pages_hold_everything_once_in_order(principal: Principal, limit: int) -> None:
    sessions(principal, same_time=5, later=3)
    assert walk(principal, limit) == list(list_sessions(principal))


def test_a_page_that_is_just_full_is_the_last_and_an_empty_one_the_only_one(principal: Principal) -> None:
    assert page_of(list_sessions(principal), limit=3).rows == ()
    sessions(principal, same_time=3)
    assert page_of(list_sessions(principal), limit=3).next_cursor == ""


def test_a_row_that_goes_moves_no_other_off_its_page(principal: Principal) -> None:
    sessions(principal, same_time=6)
    first = page_of(list_sessions(principal), limit=3)
    rest = list(list_sessions(principal))[3:]
    first.rows[0].delete()
    assert list(page_of(list_sessions(principal), limit=3, cursor=first.next_cursor).rows) == rest


def test_a_cursor_opens_nobody_elses_list(principal: Principal, other_member: Principal) -> None:
    sessions(principal, same_time=4)
    cursor = page_of(list_sessions(principal), limit=2).next_cursor
    assert page_of(list_sessions(other_member), limit=2, cursor=cursor).rows == ()


@pytest.mark.parametrize(
    "cursor",
    # Named, for a signature tells the second of its making, and parallel workers must agree on the names of all tests.
    [
        "x",
        "a:b:c",
        pytest.param(signing.dumps(["2026-03-01T12:00:00Z", "x"]), id="signed elsewhere"),
        "\ud800",
        "\0",
    ],
)
def test_a_cursor_written_by_hand_is_refused(principal: Principal, cursor: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        page_of(list_sessions(principal), limit=2, cursor=cursor)
    assert refusal.value.field == "cursor"


def test_a_cursor_of_another_order_is_refused(principal: Principal) -> None:
    sessions(principal, same_time=4)
    cursor = page_of(list_sessions(principal), limit=2).next_cursor
    with pytest.raises(InvalidInput):
        page_of(list_sessions(principal).order_by("title", "id"), limit=2, cursor=cursor)
