"""Time expressions: which days they mean, in four languages, and how close a memory is to them."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.periods import HOLDS, LONG_SHARE, MAX_PERIODS, closeness, periods
from memories.recall.pool import CandidateRow
from memories.recall.query import LANGUAGES, parse
from memories.types import Kind

WEDNESDAY = datetime(2026, 5, 13, 9, 30, tzinfo=UTC)


def named(text: str) -> list[tuple[str, str]]:
    """The first day of each period and the day after its last, "-" where it is open."""
    found = parse(text, (), WEDNESDAY).periods
    return [(_day(period.first), _day(period.end)) for period in found]


def _day(moment: datetime) -> str:
    return "-" if moment.year in (1, 9999) else f"{moment.date():%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("what did I do yesterday", "2026-05-12", "2026-05-13"),
        ("where was I last night?", "2026-05-12", "2026-05-13"),
        ("the day before yesterday", "2026-05-11", "2026-05-12"),
        ("what happened last spring", "2025-03-01", "2025-06-01"),
        ("which car did I have last winter", "2025-12-01", "2026-03-01"),
        ("what about last March", "2026-03-01", "2026-04-01"),
        ("what did we plan in may", "2026-05-01", "2026-06-01"),
        ("two weeks ago I said", "2026-04-26", "2026-05-03"),
        ("a couple of months ago", "2026-02-26", "2026-03-29"),
        ("over the last 3 days", "2026-05-10", "2026-05-14"),
        ("last weekend", "2026-05-09", "2026-05-11"),
        ("last week", "2026-05-04", "2026-05-11"),
        ("last Monday", "2026-05-11", "2026-05-12"),
        ("on 3 May", "2026-05-03", "2026-05-04"),
        ("on June 3rd, 2024", "2024-06-03", "2024-06-04"),
        ("summer 2025", "2025-06-01", "2025-09-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("since 3 May 2024", "2024-05-03", "-"),
        ("before March 2025", "-", "2025-03-01"),
        ("the week before 9 June 2023", "2023-06-02", "2023-06-09"),
        ("between May and July 2025", "2025-05-01", "2025-08-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("was war letzten Sommer", "2025-06-01", "2025-09-01"),
        ("was hab ich vor zwei Wochen gesagt", "2026-04-26", "2026-05-03"),
        ("wo war ich vorgestern", "2026-05-11", "2026-05-12"),
        ("was gab es am 3. März 2025", "2025-03-03", "2025-03-04"),
        ("vor dem 3.5.2024", "-", "2024-05-03"),
        ("was habe ich seit drei Tagen", "2026-05-10", "2026-05-14"),
        ("qué hice la semana pasada", "2026-05-04", "2026-05-11"),
        ("qué pasó hace dos semanas", "2026-04-26", "2026-05-03"),
        ("dónde estaba el verano pasado", "2025-06-01", "2025-09-01"),
        ("el 3 de mayo de 2024", "2024-05-03", "2024-05-04"),
        ("l'été dernier", "2025-06-01", "2025-09-01"),
        ("qu'est-ce que j'ai dit il y a deux semaines", "2026-04-26", "2026-05-03"),
        ("où est-ce que j'étais avant-hier", "2026-05-11", "2026-05-12"),
    ],
)
def test_a_time_expression_means_these_days(text: str, first: str, end: str) -> None:
    assert named(text) == [(first, end)]


@pytest.mark.parametrize(
    "text",
    [
        "may I march on?", "did he fall or spring up", "before I moved", "a second opinion", "wo wohnt mama",
        "hier ist nichts", "who comes after Bo", "room 1234", "was ist nach dem Essen", "the last of them",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_means_none(text: str) -> None:
    assert named(text) == []


def test_a_bare_month_is_not_certain_to_be_the_last_one() -> None:
    asked = [parse(text, (), WEDNESDAY).periods[0] for text in ("in March", "last March")]
    assert [period.certain for period in asked] == [False, True]


def test_a_day_is_one_of_the_time_zone_of_the_member() -> None:
    tokyo = datetime(2026, 5, 13, 1, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
    (yesterday,) = parse("yesterday", (), tokyo).periods
    assert yesterday.first == datetime(2026, 5, 11, 15, 0, tzinfo=UTC)


def row(kind: Kind, since: str | None, until: str | None = None) -> CandidateRow:
    moments = [f"{day} 12:00:00" if day else None for day in (since, until)]
    return CandidateRow(kind, "", b"", None, stale=False, since=moments[0], until=moments[1])


def test_closeness_falls_off_outside_of_a_period() -> None:
    asked = parse("on 3 May", (), WEDNESDAY).periods
    said = [row(Kind.EPISODIC, day) for day in ("2026-05-03", "2026-05-05", "2026-04-03", None)]
    certain, every = closeness(asked, said)
    assert certain == pytest.approx(every)
    assert certain[0] == 1.0 and 0.4 < certain[1] < 0.8 and certain[2:].tolist() == [0.0, 0.0]


def test_a_fact_is_close_to_a_time_at_which_it_held() -> None:
    asked = parse("in 2024", (), WEDNESDAY).periods
    began, held, ended, later = (
        row(Kind.SEMANTIC, *valid)
        for valid in (("2024-03-01", None), ("2020-01-01", None), ("2020-01-01", "2021-01-01"), ("2026-01-01", None))
    )
    certain, _ = closeness(asked, [began, held, ended, later])
    assert certain == pytest.approx([LONG_SHARE, LONG_SHARE * HOLDS, 0.0, 0.0], abs=0.01)


WORDS = sorted({word for language in LANGUAGES.values() for word in language.times} | {"3", "2024", "31", "x"})


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(sorted(LANGUAGES)), st.dates(date(1800, 1, 1)))
def test_any_words_of_time_read_to_something_bounded(said: list[str], language: str, day: date) -> None:
    now = datetime(max(day.year, 1800), day.month, 1, tzinfo=UTC) if day.year < 2201 else WEDNESDAY
    found = periods(" ".join(said), now, LANGUAGES[language])
    assert len(found) <= MAX_PERIODS


def test_a_hostile_text_is_read_in_no_time() -> None:
    began = time.process_time()
    for text in ("a " * 16_000, "last " * 8_000, "before the " * 3_000, "3 may " * 5_000, "1." * 16_000, "9" * 32_000):
        parse(text, (), WEDNESDAY)
    assert time.process_time() - began < 2
