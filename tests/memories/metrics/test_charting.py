"""Charts: worst of each step, gaps where nothing was sampled, thresholds to scale, times of the reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memories.metrics.alert_definitions import ALERTS
from memories.metrics.charting import FRAME, SPANS, USUAL_SPAN, Chart, Value, chart, placed, shown, stepped
from memories.metrics.definitions import BY_NAME, Alert, Unit

NOW = datetime(2026, 3, 3, 12, 2, tzinfo=UTC)
DAY = USUAL_SPAN
UNTIL = DAY.until(NOW)
ALERT_OF = {alert.metric.name: alert for alert in ALERTS}


def drawn(name: str, *lines: list[Value], until: datetime = UNTIL) -> Chart:
    named = {f"Line {place}": line for place, line in enumerate(lines)}
    latest = {each: line[-1] for each, line in named.items()}
    return chart(BY_NAME[name], ALERT_OF.get(name), named, latest, DAY, until)


def steps(values: dict[int, float], name: str = "recalls_per_hour", alert: Alert | None = None) -> list[Value]:
    """Looks at all the minutes before UNTIL that are named; the value of minute 0 is idle."""
    looks = [UNTIL - timedelta(minutes=minutes) for minutes in sorted(values, reverse=True)]
    seen = {UNTIL - timedelta(minutes=minutes): value for minutes, value in values.items() if value}
    return stepped(seen, placed(looks, DAY, UNTIL), DAY, BY_NAME[name], alert)


def test_a_step_shows_its_worst_value() -> None:
    assert steps({14: 3.0, 9: 8.0, 4: 5.0})[-1] == 8.0
    assert steps({14: 0.3, 9: 0.8, 4: 0.05}, "read_hit_ratio", ALERT_OF["read_hit_ratio"])[-1] == 0.05


def test_what_was_looked_at_and_idle_is_drawn_and_what_was_not_is_a_gap() -> None:
    assert steps({4: 0.0})[-2:] == [None, 0.0]
    assert steps({4: 0.0}, "read_hit_ratio")[-1] is None
    assert len(steps({4: 0.0})) == DAY.steps and steps({10_000: 9.0}) == [None] * DAY.steps


@pytest.mark.parametrize(
    ("line", "moves", "dots"),
    [
        pytest.param([1.0, None, 3.0, 4.0], 1, 0, id="one step missed by a hair"),
        pytest.param([1.0, 2.0, None, None, 3.0, 4.0], 2, 0, id="a gap"),
        pytest.param([None, None, 1.0, None, None], 0, 1, id="a value alone"),
        pytest.param([1.0, None, None, 3.0, 4.0, None, None, 6.0], 1, 2, id="values alone beside a line"),
        pytest.param([None, None, None], 0, 0, id="nothing"),
    ],
)
def test_a_line_breaks_where_nothing_was_sampled(line: list[Value], moves: int, dots: int) -> None:
    found = drawn("recalls_per_hour", line)
    assert (found.lines[0].path.count("M"), found.lines[0].dots.count("M")) == (moves, dots)
    assert found.empty is (moves + dots == 0)


def test_a_threshold_is_drawn_to_scale_or_named_above() -> None:
    near = drawn("writes_per_minute", [0.0, 30.0])
    assert near.threshold is not None and near.threshold >= near.up[-1].at
    assert near.up[0].at == FRAME["bottom"] and near.up[0].text == "0"
    far = drawn("writes_per_minute", [0.0, 3.0])
    assert far.threshold is None and far.alarm == "over 50"
    share = drawn("read_hit_ratio", [0.9])
    assert share.threshold is not None and [tick.text for tick in share.up] == ["0 %", "50 %", "100 %"]
    assert drawn("recalls_per_hour", [5.0]).alarm == ""


@pytest.mark.parametrize(("latest", "above"), [(0.2, True), (0.55, False), (0.45, True), (0.9, True)])
def test_the_label_of_a_threshold_is_where_no_line_runs_through_it(latest: float, above: bool) -> None:
    found = drawn("staleness_p50", [*[0.55] * 60, *[latest] * 36])
    assert found.threshold is not None and (found.words_at < found.threshold) is above


@pytest.mark.parametrize("name", list(BY_NAME))
@pytest.mark.parametrize("highest", [0.0, 0.003, 0.7, 1.0, 19.0, 61.0, 9_999.0, 5e6])
def test_no_value_is_drawn_outside_of_its_axes(name: str, highest: float) -> None:
    if BY_NAME[name].unit is Unit.SHARE:
        highest = min(highest, 1.0)
    found = drawn(name, [0.0, highest])
    heights = [tick.at for tick in found.up]
    last = float(found.lines[0].path.split("L")[1].split()[1])
    assert heights == sorted(heights, reverse=True) and 2 <= len(heights) <= 6
    assert heights[-1] <= last <= heights[0]
    assert len({tick.text for tick in found.up}) == len(found.up)


def test_the_table_and_the_words_say_what_the_lines_show() -> None:
    line: list[Value] = [*[None] * 88, *[1.0] * 4, 7.0, *[2.0] * 3]
    found = drawn("contradictions_per_day", line)
    assert found.description == "Line 0: last 2; alert over 50."
    assert [cells for _, cells in found.rows[:2]] == [("7",), ("–",)]
    assert len(found.rows) == DAY.steps // DAY.steps_a_row
    assert found.rows[0][0] == UNTIL - DAY.step * DAY.steps_a_row


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_marks_stand_at_round_times_of_the_reader(span: object) -> None:
    there = UNTIL.astimezone(ZoneInfo("Asia/Kathmandu"))
    assert isinstance(span, type(DAY))
    found = chart(BY_NAME["recalls_per_hour"], None, {"a": [1.0] * span.steps}, {"a": 1.0}, span, there)
    places = [tick.at for tick in found.across]
    assert places == sorted(places) and 3 <= len(places) <= 8
    assert FRAME["left"] < places[0] and places[-1] < FRAME["width"] - 16
    assert span.name not in ("6h", "24h") or all(tick.text.endswith(":00") for tick in found.across)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.034, Unit.SHARE, "3.4 %"),
        (0.0214, Unit.SECONDS, "21.4 ms"),
        (0.000874, Unit.SECONDS, "0.87 ms"),
        (90.0, Unit.SECONDS, "1.5 min"),
        (7200.0, Unit.SECONDS, "2 h"),
        (200_000.0, Unit.SECONDS, "2.31 d"),
        (1204.0, Unit.COUNT, "1,204"),
        (0.5, Unit.COST, "0.50"),
    ],
)
def test_a_value_is_said_with_its_unit(value: float, unit: Unit, words: str) -> None:
    assert shown(value, unit) == words
