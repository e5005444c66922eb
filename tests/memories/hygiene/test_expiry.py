"""How long facts live: by class, by a tenant's rules, by what was given; and nothing that is pinned or told ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.hygiene.ageing import About, Dates, FactClass, Lifetime, class_of, stamp, wants_review
from memories.types import Scope, Source

MAY = datetime(2026, 5, 1, tzinfo=UTC)


def about(text: str = "Lives in Bristol", **known: Any) -> About:
    given = {"category": "", "key": "", "source": Source.USER_STATED, "scope": Scope.USER} | known
    return About(text=text, **given)


def days(number: int) -> datetime:
    return MAY + timedelta(days=number)


@pytest.mark.parametrize(
    ("fact", "of"),
    [
        pytest.param(about(), FactClass.ENTITY, id="a plain fact"),
        pytest.param(about("Bread with seeds", category="Taste"), FactClass.PREFERENCE, id="category"),
        pytest.param(about("Likes teal best", key="favourite_colour"), FactClass.PREFERENCE, id="key"),
        pytest.param(about("Prefers trains to planes"), FactClass.PREFERENCE, id="wording"),
        pytest.param(about("Preferred supplier is Voltara"), FactClass.ENTITY, id="another word with the same start"),
        pytest.param(about("To do: order salt", category="to do"), FactClass.TASK_LEARNING, id="to do"),
        pytest.param(about("Salt dissolves", source=Source.TASK_OUTCOME), FactClass.TASK_LEARNING, id="outcome"),
        pytest.param(about("Prefers blue", scope=Scope.TASK), FactClass.TASK_LEARNING, id="a task's own"),
    ],
)
def test_the_class_of_a_fact(fact: About, of: FactClass) -> None:
    assert class_of(fact) is of


@pytest.mark.parametrize(
    ("fact", "dates"),
    [
        pytest.param(about("Prefers tea"), Dates(days(90), None), id="preference"),
        pytest.param(about(category="to do"), Dates(None, days(30)), id="task learning"),
        pytest.param(about(), Dates(), id="entity"),
    ],
)
def test_the_dates_of_a_class_count_from_the_confirmation(fact: About, dates: Dates) -> None:
    assert stamp(fact, {}, confirmed_at=MAY) == dates


def test_a_rule_for_the_category_goes_before_one_for_the_class() -> None:
    rules = {"preference": Lifetime(soft_days=10), "food": Lifetime(hard_days=5), "entity": Lifetime(soft_days=7)}
    assert stamp(about("Prefers tea"), rules, confirmed_at=MAY) == Dates(days(10), None)
    assert stamp(about("Prefers tea", category="Food"), rules, confirmed_at=MAY) == Dates(None, days(5))
    assert stamp(about(), rules, confirmed_at=MAY) == Dates(days(7), None)
    assert stamp(about("Prefers tea"), {"preference": Lifetime()}, confirmed_at=MAY) == Dates(), "for good"


@pytest.mark.parametrize("pinned", [False, True])
def test_given_dates_stand_and_what_is_pinned_has_no_others(pinned: bool) -> None:
    for given in (Dates(days(3), days(4)), Dates(None, days(2))):
        assert stamp(about(), {}, confirmed_at=MAY, pinned=pinned, given=given) == given
    assert stamp(about("Prefers tea"), {}, confirmed_at=MAY, pinned=True) == Dates()


def test_an_end_that_was_told_takes_the_place_of_the_class() -> None:
    assert stamp(about("Prefers tea"), {}, confirmed_at=MAY, valid_to=days(300)) == Dates(days(300), None)
    assert stamp(about(), {}, confirmed_at=MAY, valid_to=days(-300)) == Dates(), "history does not age"


def test_review_is_wanted_after_a_year_or_once_overdue() -> None:
    def wanted(fact: About, at: int, review_after: datetime | None = None) -> bool:
        return wants_review(fact, {}, confirmed_at=MAY, review_after=review_after, now=days(at))

    assert [wanted(about(), at) for at in (364, 365)] == [False, True]
    assert [wanted(about("Prefers tea"), at, days(90)) for at in (89, 90)] == [False, True]
