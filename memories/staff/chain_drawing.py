"""The drawing of a chain: the axis of time that its states share, and the graph of the links between them.

Pure. Coordinates are whole numbers as text, so that no locale rewrites them: thousandths of the axis, pixels of the
graph. In the graph a state is to the right of every state that leads to it; a circle of links, which only tampering
makes, is drawn as well.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

LENGTH = 1000
_SHORTEST = 6
_TICKS = 4
_BY_CLOCK = timedelta(days=_TICKS)


@dataclass(frozen=True, slots=True)
class AxisBar:
    """Where a bar begins and how long it is; `open_start`: nobody knows when it began."""

    x: str
    width: str
    open_start: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """From `begin` to `end`, with a few days between them to read it by."""

    begin: datetime
    end: datetime

    def bar(self, since: datetime | None, until: datetime | None) -> AxisBar:
        """The bar from `since` to `until`; None: as far as the axis goes."""
        left = self._place(since or self.begin)
        right = self._place(until or self.end)
        width = max(right - left, _SHORTEST)
        return AxisBar(str(min(left, LENGTH - width)), str(width), since is None)

    @property
    def by_clock(self) -> bool:
        """Whether days alone would not tell the ticks apart."""
        return self.end - self.begin < _BY_CLOCK

    @property
    def ticks(self) -> tuple[datetime, ...]:
        """Moments at equal distances, from its begin to its end."""
        step = (self.end - self.begin) / _TICKS
        return tuple(self.begin + number * step for number in range(_TICKS + 1))

    def _place(self, moment: datetime) -> int:
        share = (moment - self.begin) / (self.end - self.begin)
        return round(min(max(share, 0.0), 1.0) * LENGTH)


def axis_of(moments: Iterable[datetime | None], *, now: datetime) -> Axis:
    """The axis that all of these fit on; it ends now, or with what is yet to come."""
    known = [moment for moment in moments if moment is not None]
    begin, end = min([*known, now]), max([*known, now])
    return Axis(begin, max(end, begin + timedelta(minutes=1)))


WIDTH, HEIGHT = 196, 58
_GAP, _LANE, _MARGIN = 58, 78, 24
_LINE_CHARACTERS = 25
_LINES = 2
_LINE_HEIGHT = 16


@dataclass(frozen=True, slots=True)
class Point:
    """A state to be placed: its words, what it links to when it is chosen, a note below, and its look."""

    id: UUID
    words: str
    url: str
    note: str
    look: str


@dataclass(frozen=True, slots=True)
class Edge:
    """From one state to another; `look` is a class name."""

    start: UUID
    end: UUID
    look: str


@dataclass(frozen=True, slots=True)
class Node:
    """A placed state: `lines` are its words with their heights."""

    point: Point
    x: str
    y: str
    text_x: str
    lines: tuple[tuple[str, str], ...]
    note_y: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A placed line."""

    path: str
    look: str


@dataclass(frozen=True, slots=True)
class Graph:
    """All of it, with the size of the drawing."""

    width: str
    height: str
    nodes: tuple[Node, ...]
    curves: tuple[Curve, ...]


def graph_of(points: Sequence[Point], edges: Sequence[Edge]) -> Graph:
    """The drawing of `points`, which come in the order of time."""
    known = {point.id for point in points}
    edges = [edge for edge in edges if {edge.start, edge.end} <= known]
    places = _places(points, edges)
    columns = max((column for column, _ in places.values()), default=0) + 1
    lanes = max((lane for _, lane in places.values()), default=0) + 1
    return Graph(
        width=str(2 * _MARGIN + columns * WIDTH + (columns - 1) * _GAP),
        height=str(2 * _MARGIN + lanes * HEIGHT + (lanes - 1) * (_LANE - HEIGHT)),
        nodes=tuple(_node(point, places[point.id]) for point in points),
        curves=tuple(Curve(_path(places[edge.start], places[edge.end]), edge.look) for edge in edges),
    )


def _places(points: Sequence[Point], edges: Sequence[Edge]) -> Mapping[UUID, tuple[int, int]]:
    """The column and lane of each state: in the lane of its predecessor where that is free."""
    order = {point.id: number for number, point in enumerate(points)}
    leading: dict[UUID, list[UUID]] = defaultdict(list)
    for edge in edges:
        if order[edge.start] < order[edge.end]:
            leading[edge.end].append(edge.start)
    columns = _columns(points, leading)
    places: dict[UUID, tuple[int, int]] = {}
    taken: set[tuple[int, int]] = set()
    for point in points:
        before = [places[each] for each in leading[point.id]]
        column = columns[point.id]
        wanted = min((lane for each, lane in before if each == column - 1), default=0)
        lane = next(each for each in count(wanted) if (column, each) not in taken)
        places[point.id] = (column, lane)
        taken.add((column, lane))
    return places


def _columns(points: Sequence[Point], leading: Mapping[UUID, Sequence[UUID]]) -> dict[UUID, int]:
    """The column of each state: one right of its predecessors. A state without one is to the left of its successor."""
    columns: dict[UUID, int] = {}
    for point in points:
        columns[point.id] = max((columns[each] for each in leading.get(point.id, ())), default=-1) + 1
    first: dict[UUID, int] = {}
    for end, starts in leading.items():
        for start in starts:
            first[start] = min(columns[end], first.get(start, columns[end]))
    late = {start: column - 1 for start, column in first.items() if not leading.get(start)}
    return {**columns, **late}


def _node(point: Point, place: tuple[int, int]) -> Node:
    x, y = _corner(place)
    lines = textwrap.wrap(point.words, _LINE_CHARACTERS, max_lines=_LINES, placeholder=" …") or [""]
    return Node(
        point=point,
        x=str(x),
        y=str(y),
        text_x=str(x + 12),
        lines=tuple((str(y + 18 + number * _LINE_HEIGHT), line) for number, line in enumerate(lines)),
        note_y=str(y + HEIGHT - 7),
    )


def _path(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the right side of a state to the left side of the next; over the top where it would run back."""
    (left, top), (right, bottom) = _corner(start), _corner(end)
    middle, target = top + HEIGHT // 2, bottom + HEIGHT // 2
    if end[0] <= start[0]:
        return f"M{left + WIDTH // 2} {top} C{left + WIDTH // 2} {top - 30} {right} {bottom - 30} {right} {bottom}"
    begin, stop = left + WIDTH, right - 7
    if end[0] - start[0] > 1 and start[1] == end[1]:
        # Past the states between them.
        over = top - 18
        return (
            f"M{left + WIDTH - 24} {top} C{left + WIDTH} {over} {left + WIDTH} {over} {left + WIDTH + 24} {over}"
            f" L{right - 30} {over} C{right} {over} {right + 14} {over} {right + 20} {bottom - 6}"
        )
    bend = max(_GAP // 2, (stop - begin) // 2)
    return f"M{begin} {middle} C{begin + bend} {middle} {stop - bend} {target} {stop} {target}"


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    column, lane = place
    return _MARGIN + column * (WIDTH + _GAP), _MARGIN + lane * _LANE
