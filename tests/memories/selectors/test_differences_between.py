"""What changed between two times: each change once, with what was believed on both of its sides."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from memories.errors import InvalidInput
from memories.models import Fact
from memories.selectors.history.changes import Change, ChangeStep, differences_between, steps_between
from memories.services.erasure.forget import forget
from memories.services.facts.supersede import correct, retire
from memories.services.facts.undo import undo
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Status
from tenants.principal import Principal
from tests.memories.retelling import retell
from tests.memories.services.reviewing import say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

NOW = timezone.now()
LATER = NOW + timedelta(hours=1)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def counts(principal: Principal, first: datetime, second: datetime) -> dict[Change, int]:
    return {change: count for (change, _), count in differences_between(principal, first, second).counts.items()}


def steps(principal: Principal, change: Change, first: datetime = NOW - timedelta(days=999)) -> list[ChangeStep]:
    return list(steps_between(principal, first, LATER, change=change, kind=Kind.SEMANTIC, limit=50).steps)


def sides(step: ChangeStep) -> tuple[str, str]:
    return (step.before.text if step.before else "", step.after.text if step.after else "")


def moved(principal: Principal) -> Fact:
    """Ada's home of ten days ago, which took the place of one of thirty days ago."""
    old = say(principal, "Lives in Bristol", key="home_city", learned_at=ago(30))
    return say(
        principal, "Lives in Leeds", key="home_city", learned_at=ago(10), supersedes_ids=[old.pk], reason="moved"
    )


def test_intervals_that_follow_each_other_miss_nothing_and_share_nothing(principal: Principal) -> None:
    at = moved(principal).learned_at
    assert counts(principal, ago(40), ago(20)) == {Change.LEARNED: 1}
    assert counts(principal, ago(20), at) == {Change.REPLACED: 1}
    assert counts(principal, at, NOW) == {}


def test_old_and_new_stand_beside_each_other_with_who_and_why(principal: Principal) -> None:
    moved(principal)
    (step,) = steps(principal, Change.REPLACED)
    assert sides(step) == ("Lives in Bristol", "Lives in Leeds")
    assert (step.by, step.reason) == ("member", "moved")
    assert step.at == ago(10)


def test_what_was_retired_and_undone_is_told_as_ended_and_brought_back(principal: Principal) -> None:
    club = say(principal, "Rows at the club", learned_at=ago(30))
    retire(principal, kind=Kind.SEMANTIC, memory_id=club.pk, at=ago(20), reason="left it")
    undo(principal, kind=Kind.SEMANTIC, memory_id=club.pk)
    assert counts(principal, ago(40), LATER) == {Change.LEARNED: 1, Change.RETIRED: 1, Change.RESTORED: 1}
    (ended,) = steps(principal, Change.RETIRED)
    assert (sides(ended), ended.reason, ended.lost) == (("Rows at the club", ""), "left it", False)
    (back,) = steps(principal, Change.RESTORED)
    assert back.before is not None and back.before.pk == club.pk and back.after is not None


def test_what_the_collection_hid_is_told(principal: Principal) -> None:
    parcel = say(principal, "Waits for a parcel", learned_at=ago(30))
    Fact.objects.filter(pk=parcel.pk).update(status=Status.EVICTED, evicted_from="active", evicted_at=ago(5))
    retell(principal, parcel.pk)
    assert counts(principal, ago(10), NOW) == {Change.EVICTED: 1}
    assert [sides(step) for step in steps(principal, Change.EVICTED)] == [("Waits for a parcel", "")]


def test_a_correction_of_the_past_changes_no_belief(principal: Principal) -> None:
    new = moved(principal)
    old = Fact.objects.get(text="Lives in Bristol")
    correct(principal, kind=Kind.SEMANTIC, memory_id=old.pk, text="Lives in Bath")
    assert counts(principal, ago(40), LATER) == {Change.LEARNED: 1, Change.REPLACED: 1}
    (step,) = steps(principal, Change.REPLACED)
    assert step.after is not None and step.after.pk == new.pk


def test_what_was_forgotten_is_a_number(principal: Principal) -> None:
    new = moved(principal)
    forget(principal, kind=Kind.SEMANTIC, memory_id=new.pk)
    found = differences_between(principal, ago(20), LATER)
    assert found.forgotten == {Kind.SEMANTIC: 1}
    (step,) = steps(principal, Change.RETIRED)
    assert sides(step) == ("Lives in Bristol", "") and step.lost


def test_what_was_said_is_counted(principal: Principal) -> None:
    remember_episode(principal, session_id=start_session(principal).pk, text="Hello there", happened_at=ago(3))
    assert differences_between(principal, ago(4), NOW).said == 1
    assert differences_between(principal, ago(2), NOW).said == 0


def test_pages_have_each_change_once(principal: Principal) -> None:
    for number in range(5):
        say(principal, f"Owns boat number {number}", learned_at=ago(number))
    seen, cursor = [], ""
    while True:
        page = steps_between(
            principal, ago(9), LATER, change=Change.LEARNED, kind=Kind.SEMANTIC, limit=2, cursor=cursor
        )
        seen += [sides(step)[1] for step in page.steps]
        if not (cursor := page.next_cursor):
            break
    assert seen == [f"Owns boat number {number}" for number in range(5)]


def test_others_changes_are_nobodys_business(principal: Principal, stranger: Principal) -> None:
    forget(principal, kind=Kind.SEMANTIC, memory_id=moved(principal).pk)
    found = differences_between(stranger, ago(90), LATER)
    assert (found.total, found.forgotten) == (0, {})


def test_the_times_must_be_in_their_order_and_the_kind_must_change(principal: Principal) -> None:
    with pytest.raises(InvalidInput, match="before the time"):
        differences_between(principal, NOW, NOW)
    with pytest.raises(InvalidInput, match="only facts and how-tos"):
        steps_between(principal, ago(1), NOW, change=Change.LEARNED, kind=Kind.EPISODIC, limit=2)
