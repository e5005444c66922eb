from datetime import UTC, datetime

import pytest

from memories.consolidation.judging import Statement, Verdict, judge_by_rules


def verdict(older: str | Statement, newer: str | Statement) -> Verdict:
    one, other = (Statement(each) if isinstance(each, str) else each for each in (older, newer))
    return judge_by_rules(one, other).verdict


def day(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC)


def test_a_statement_that_says_of_itself_that_it_is_news_is_an_update() -> None:
    assert verdict("Lives in Bristol", "Lives in Edinburgh") is Verdict.CONTRADICTION
    assert verdict("Lives in Bristol", "Lives in Edinburgh now") is Verdict.UPDATE
    assert verdict("Lives in Bristol", "No longer lives in Bristol") is Verdict.UPDATE
    assert verdict("Is vegetarian", "Is not vegetarian any longer") is Verdict.UPDATE


def test_two_keys_of_one_slot_bring_each_other_up_to_date() -> None:
    older = Statement("Lives in Bristol", key="city")

    assert verdict(older, Statement("Lives in Edinburgh", key="home_city")) is Verdict.UPDATE
    assert verdict(older, Statement("Lives in Edinburgh", key="holiday_home")) is Verdict.NEITHER


def test_what_had_ended_before_is_left_alone() -> None:
    older = Statement("Lives in Bristol", valid_from=day(2015), valid_to=day(2019))

    assert verdict(older, Statement("Lives in Edinburgh", valid_from=day(2019))) is Verdict.NEITHER
    assert verdict(older, Statement("Lives in Edinburgh", valid_from=day(2017))) is Verdict.CONTRADICTION


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("🙂", id="no-word"),
        pytest.param("to to to", id="no-sense"),
        pytest.param("Prefers", id="one-verb"),
        pytest.param("Prefers to", id="no-value"),
        pytest.param("is", id="a-copula"),
        pytest.param("Lives in", id="no-place"),
        pytest.param("not not not no", id="only-negations"),
        pytest.param("a" * 8_000, id="one-long-word"),
        pytest.param("Dog is called " * 500, id="long"),
    ],
)
def test_any_text_can_be_judged(text: str) -> None:
    assert verdict(text, "Lives in Turin") is Verdict.NEITHER
    assert verdict("Lives in Turin", text) is Verdict.NEITHER
    assert verdict(text, text) is Verdict.NEITHER


def test_the_reason_has_none_of_the_words() -> None:
    reason = judge_by_rules(Statement("Is allergic to nuts"), Statement("Is not allergic to nuts")).reason

    assert reason
    assert not {"allergic", "nuts"} & set(reason.split())
