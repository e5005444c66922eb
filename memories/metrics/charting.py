"""Charts as numbers: coordinates of lines, ticks and thresholds, and the table beside the chart. Pure functions.

A time without a sample is a gap, unless it is a single step between two sampled ones. Each step shows its worst value,
so that no peak is lost over a long span.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import formats
from django.utils.translation import gettext as _

from memories.metrics.definitions import Alert, Comparison, Metric, Unit
from memoryhub.languages import gettext_lazy, number

WIDTH, HEIGHT = 360.0, 168.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 8.0, 12.0, 22.0
# A threshold this many times higher than every value is only named above the chart; drawing it would flatten the lines.
_TOO_HIGH = 5.0
_STEPS_OF_TEN = (1.0, 2.0, 2.5, 5.0, 10.0)
# Round times in seconds, from a minute up; shorter times are rounded like other numbers.
_ROUND_TIMES = (60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000)
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_TICKS = 4
_LEAST_STEPS = 4
_SMALL = 10.0

# A threshold's label: its distance from the line, and its height.
_BESIDE, _WORDS = 4.0, 12.0
# Half the width of a time label; a label nearer to the edge would be cut off.
_HALF_A_TIME = 18.0

# The positions of the axes, for a template.
FRAME = {
    "width": WIDTH,
    "height": HEIGHT,
    "left": LEFT,
    "right": WIDTH - RIGHT,
    "bottom": HEIGHT - BOTTOM,
    "below": HEIGHT - BOTTOM + 4,
    "middle": (LEFT + WIDTH - RIGHT) / 2,
}

Value = float | None


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a chart shows: `steps` of length `step`, with a tick every `mark`.

    A row of the table covers `steps_a_row` steps.
    """

    name: str
    title: str
    step: timedelta
    steps: int
    mark: timedelta
    mark_format: str
    steps_a_row: int

    @property
    def length(self) -> timedelta:
        """The length of the whole span."""
        return self.step * self.steps

    def until(self, now: datetime) -> datetime:
        """The end of the step that contains `now`."""
        seconds = self.step.total_seconds()
        return datetime.fromtimestamp((now.timestamp() // seconds + 1) * seconds, now.tzinfo)


SPANS = {
    span.name: span
    for span in (
        Span("6h", gettext_lazy("6 hours"), timedelta(minutes=5), 72, timedelta(hours=1), "TIME_FORMAT", 6),
        Span("24h", gettext_lazy("24 hours"), timedelta(minutes=15), 96, timedelta(hours=6), "TIME_FORMAT", 8),
        Span("7d", gettext_lazy("7 days"), timedelta(hours=2), 84, timedelta(days=1), "D", 6),
        Span("30d", gettext_lazy("30 days"), timedelta(hours=6), 120, timedelta(days=7), "DAY", 8),
    )
}
USUAL_SPAN = SPANS["24h"]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: name, SVG path, and latest value as text. `place` (from 1) selects its style.

    `dots` is the path of isolated values, which are too short for a line.
    """

    name: str
    path: str
    dots: str
    last: str
    place: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick on an axis: its coordinate and label."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The data of one chart.

    `threshold` is the y coordinate of its line, None if it is not drawn, and `words_at` that of its label.
    """

    title: str
    help: str
    description: str
    lines: tuple[ChartLine, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    threshold: float | None
    alarm: str
    words_at: float
    rows: tuple[tuple[datetime, tuple[str, ...]], ...]

    @property
    def empty(self) -> bool:
        """Whether the chart has no values."""
        return not any(line.path or line.dots for line in self.lines)

    @property
    def sparse(self) -> bool:
        """Whether there are too few values for a line: then numbers and a sentence say more."""
        return max((line.path.count("L") for line in self.lines), default=0) < _LEAST_STEPS


def placed(looks: Iterable[datetime], span: Span, until: datetime) -> list[tuple[datetime, int]]:
    """The sampling times within the span that ends at `until`, each with the index of its step."""
    since = until - span.length
    places = ((at, (at - since) // span.step) for at in looks)
    return [(at, place) for at, place in places if 0 <= place < span.steps]


def stepped(
    values: Mapping[datetime, float],
    looks: Iterable[tuple[datetime, int]],
    span: Span,
    metric: Metric,
    alert: Alert | None,
) -> list[Value]:
    """The worst value of each step; None where nothing was sampled.

    `looks` are sampling times with their steps; a sampling without a value counts as the metric's idle value.
    """
    found: list[Value] = [None] * span.steps
    under = _is_under(alert)
    for at, place in looks:
        value, known = values.get(at, metric.idle), found[place]
        if value is not None and (known is None or (value < known if under else value > known)):
            found[place] = value
    return found


def chart(
    metric: Metric,
    alert: Alert | None,
    lines: Mapping[str, Sequence[Value]],
    latest: Mapping[str, Value],
    span: Span,
    until: datetime,
    styles: Mapping[str, int] | None = None,
) -> Chart:
    """The chart of `lines` by name; `latest` are their values at the last sampling; `until` is in the reader's zone.

    `styles` are the places of the lines; without them, they follow their order.
    """
    highest = max((value for line in lines.values() for value in line if value is not None), default=0.0)
    highest = highest or 1.0
    drawn = alert is not None and (alert.threshold < highest * _TOO_HIGH or metric.unit is Unit.SHARE)
    ticks = _heights(max(highest, alert.threshold if alert and drawn else 0.0), metric.unit)
    top = ticks[-1]
    threshold = _y(alert.threshold, top) if alert and drawn else None
    return Chart(
        title=metric.title,
        help=_explained(metric),
        description=_described(metric, alert, latest),
        lines=tuple(
            ChartLine(name, *_paths(values, top), _cell(latest[name], metric.unit), (styles or {}).get(name, place))
            for place, (name, values) in enumerate(lines.items(), start=1)
        ),
        across=tuple(_marks(span, until)),
        up=tuple(Tick(_y(value, top), shown(value, metric.unit)) for value in ticks),
        threshold=threshold,
        alarm=condition(alert) if alert else "",
        words_at=_words_at(threshold, lines.values(), top),
        rows=tuple(_rows(lines, span, until, metric.unit, alert)),
    )


def shown(value: float, unit: Unit) -> str:
    """A value as text with its unit."""
    if unit is Unit.SHARE:
        return f"{_digits(value * 100)} %"
    if unit is Unit.SECONDS:
        return _time(value)
    decimals = 2 if unit is Unit.COST or (value < _SMALL and value % 1) else 0
    return number(value, decimals)


def condition(alert: Alert) -> str:
    """The condition of an alert, such as `over 50`."""
    limit = {"limit": shown(alert.threshold, alert.metric.unit)}
    return (_("over %(limit)s") if alert.comparison is Comparison.OVER else _("under %(limit)s")) % limit


def _time(seconds: float) -> str:
    for least, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1.0, "s")):
        if seconds >= least:
            return f"{_digits(seconds / least)} {name}"
    digits = 3 if seconds * 1000 >= 1 else 2
    return f"{_digits(seconds * 1000, digits)} ms" if seconds else "0 s"


def _digits(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}".replace(".", str(formats.get_format("DECIMAL_SEPARATOR")))


def _worst(values: Sequence[Value], alert: Alert | None) -> Value:
    known = [value for value in values if value is not None]
    choose: Callable[[list[float]], float] = min if _is_under(alert) else max
    return choose(known) if known else None


def _is_under(alert: Alert | None) -> bool:
    return alert is not None and alert.comparison is Comparison.UNDER


def _heights(highest: float, unit: Unit) -> list[float]:
    """Round tick values from 0 to the first one that is not below `highest`."""
    if unit is Unit.SHARE:
        return [0.0, 0.5, 1.0]
    wanted = highest / _TICKS
    least = {Unit.COUNT: 1.0, Unit.TOKENS: 1.0, Unit.SECONDS: 0.0001}.get(unit, 0.01)
    ten = 10.0 ** math.floor(math.log10(max(wanted, least)))
    step = next(each * ten for each in _STEPS_OF_TEN if each * ten >= wanted)
    if unit is Unit.SECONDS and step > _ROUND_TIMES[0]:
        step = next((each for each in _ROUND_TIMES if each >= wanted), step)
    step = math.ceil(step) if least == 1.0 else step
    return [step * place for place in range(max(1, math.ceil(highest / step - 1e-9)) + 1)]


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM), 1)


def _words_at(threshold: float | None, lines: Iterable[Sequence[Value]], top: float) -> float:
    """The y coordinate of the threshold's label at the right end: above its line, or below where that is freer."""
    if threshold is None:
        return TOP - 2
    near = [_y(value, top) for line in lines for value in line[-(len(line) // 3) :] if value is not None]
    fits = [at for at in (threshold - _BESIDE, threshold + _WORDS) if TOP + _WORDS - _BESIDE < at < HEIGHT - BOTTOM]
    return min(fits, key=lambda at: sum(at - _WORDS < y < at + _BESIDE for y in near))


def _paths(values: Sequence[Value], top: float) -> tuple[str, str]:
    """The SVG path of the lines, and that of isolated values, which round line caps draw as dots."""
    width = (WIDTH - LEFT - RIGHT) / len(values)
    runs: list[list[str]] = []
    last = -3
    for place, value in enumerate(values):
        if value is not None:
            if place - last > 2:  # noqa: PLR2004 - a single missing step is no gap
                runs.append([])
            runs[-1].append(f"{round(LEFT + (place + 0.5) * width, 1)} {_y(value, top)}")
            last = place
    lines = "".join(f"M{'L'.join(run)}" for run in runs if len(run) > 1)
    return lines, "".join(f"M{run[0]}h.01" for run in runs if len(run) == 1)


def _marks(span: Span, until: datetime) -> list[Tick]:
    """Ticks at round times of the reader's zone."""
    since = until - span.length
    at = since.replace(hour=0, minute=0, second=0, microsecond=0)
    if span.mark > timedelta(days=1):
        at = until.replace(hour=0, minute=0, second=0, microsecond=0) - span.mark * (span.length // span.mark)
    found = []
    while at < until:
        place = round(LEFT + (at - since) / span.length * (WIDTH - LEFT - RIGHT), 1)
        if LEFT < place < WIDTH - _HALF_A_TIME:
            found.append(Tick(place, formats.date_format(at, span.mark_format)))
        at += span.mark
    return found


def _rows(
    lines: Mapping[str, Sequence[Value]], span: Span, until: datetime, unit: Unit, alert: Alert | None
) -> list[tuple[datetime, tuple[str, ...]]]:
    rows = []
    for start in range(0, span.steps, span.steps_a_row):
        worst = [_worst(values[start : start + span.steps_a_row], alert) for values in lines.values()]
        rows.append((until - span.length + span.step * start, tuple(_cell(value, unit) for value in worst)))
    return rows[::-1]


def _cell(value: Value, unit: Unit) -> str:
    return "–" if value is None else shown(value, unit)


def _explained(metric: Metric) -> str:
    if not metric.window:
        return metric.help
    return f"{metric.help} " + _("Looks back %(time)s.") % {"time": _time(metric.window.total_seconds())}


def _described(metric: Metric, alert: Alert | None, latest: Mapping[str, Value]) -> str:
    """The chart as a sentence, for screen readers."""
    parts = [
        _("%(line)s: last %(value)s") % {"line": name, "value": _cell(value, metric.unit)}
        for name, value in latest.items()
    ]
    return "; ".join([*parts, _("alert %(limit)s") % {"limit": condition(alert)}] if alert else parts) + "."
