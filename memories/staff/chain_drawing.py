"""Layout of a chain: the time axis of its states, and the graph of the links between them.

Pure functions. Coordinates are integers: thousandths of the axis, pixels of the graph. In the graph a state is to the
right of its predecessors; a cycle of links, which only tampering creates, is drawn as well.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

LENGTH = 1000
_SHORTEST = 6
_TICKS = 4
_BY_CLOCK = timedelta(days=_TICKS)


@dataclass(frozen=True, slots=True)
class AxisBar:
    """The position and length of a bar in thousandths; `open_start` is true if its start time is unknown."""

    x: int
    width: int
    open_start: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis from `begin` to `end`."""

    begin: datetime
    end: datetime

    def bar(self, since: datetime | None, until: datetime | None) -> AxisBar:
        """The bar from `since` to `until`; None means the end of the axis on that side."""
        left = self._place(since or self.begin)
        right = self._place(until or self.end)
        width = max(right - left, _SHORTEST)
        return AxisBar(min(left, LENGTH - width), width, since is None)

    @property
    def by_clock(self) -> bool:
        """Whether the ticks need the time of day, because the axis covers too few days."""
        return self.end - self.begin < _BY_CLOCK

    @property
    def ticks(self) -> tuple[datetime, ...]:
        """Moments at equal distances, including both ends."""
        step = (self.end - self.begin) / _TICKS
        return tuple(self.begin + number * step for number in range(_TICKS + 1))

    def _place(self, moment: datetime) -> int:
        share = (moment - self.begin) / (self.end - self.begin)
        return round(min(max(share, 0.0), 1.0) * LENGTH)


def axis_of(moments: Iterable[datetime | None], *, now: datetime) -> Axis:
    """The axis that covers all `moments` and `now`; at least one minute long."""
    known = [moment for moment in moments if moment is not None]
    begin, end = min([*known, now]), max([*known, now])
    return Axis(begin, max(end, begin + timedelta(minutes=1)))


WIDTH, HEIGHT = 196, 58
_GAP, _LANE, _MARGIN = 58, 78, 24
_LINE_CHARACTERS, _LINES = 25, 2


@dataclass(frozen=True, slots=True)
class Node:
    """A state in the graph: text, link target, a note below the text, a CSS class, and its grid position."""

    id: UUID
    words: str
    url: str
    note: str
    look: str
    column: int = 0
    lane: int = 0

    @property
    def x(self) -> int:
        """The left edge of the box, in pixels."""
        return _MARGIN + self.column * (WIDTH + _GAP)

    @property
    def y(self) -> int:
        """The top edge of the box, in pixels."""
        return _MARGIN + self.lane * _LANE

    @property
    def lines(self) -> list[str]:
        """The text, wrapped and cut to fit the box."""
        return textwrap.wrap(self.words, _LINE_CHARACTERS, max_lines=_LINES, placeholder=" …") or [""]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from one state to another; `look` is a CSS class."""

    start: UUID
    end: UUID
    look: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The placed states, the curves between them as (SVG path, CSS class), and the size of the drawing in pixels."""

    nodes: tuple[Node, ...]
    curves: tuple[tuple[str, str], ...]
    width: int
    height: int


def graph_of(nodes: Sequence[Node], edges: Sequence[Edge]) -> Graph:
    """Lay out `nodes`, which must be in chronological order; edges to unknown nodes are dropped."""
    known = {node.id for node in nodes}
    edges = [edge for edge in edges if {edge.start, edge.end} <= known]
    placed = _placed(nodes, edges)
    return Graph(
        nodes=tuple(placed.values()),
        curves=tuple((_path(placed[edge.start], placed[edge.end]), edge.look) for edge in edges),
        width=max((node.x for node in placed.values()), default=0) + WIDTH + _MARGIN,
        height=max((node.y for node in placed.values()), default=0) + HEIGHT + _MARGIN,
    )


def _placed(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[UUID, Node]:
    """Place each state one column right of its predecessors, in the lane of the nearest one if that is free.

    A state without a predecessor is one column left of its successor.
    """
    order = {node.id: number for number, node in enumerate(nodes)}
    before: dict[UUID, list[UUID]] = defaultdict(list)
    for edge in edges:
        if order[edge.start] < order[edge.end]:
            before[edge.end].append(edge.start)
    columns: dict[UUID, int] = {}
    for node in nodes:
        columns[node.id] = max((columns[each] for each in before[node.id]), default=-1) + 1
    for node in nodes:
        ends = [columns[end] for end, starts in before.items() if node.id in starts]
        if ends and not before[node.id]:
            columns[node.id] = min(ends) - 1
    placed: dict[UUID, Node] = {}
    for node in nodes:
        column = columns[node.id]
        beside = [placed[each].lane for each in before[node.id] if columns[each] == column - 1]
        taken = {each.lane for each in placed.values() if each.column == column}
        lane = next(each for each in count(min(beside, default=0)) if each not in taken)
        placed[node.id] = replace(node, column=column, lane=lane)
    return placed


def _path(start: Node, end: Node) -> str:
    """A curve from the right side of one state to the left side of the next.

    A link that goes back, or past other states in its lane, arcs over the top.
    """
    if end.column <= start.column or (end.column - start.column > 1 and end.lane == start.lane):
        left, right, over = start.x + WIDTH - 24, end.x + 20, min(start.y, end.y) - 24
        return f"M{left} {start.y} C{left} {over} {right} {over} {right} {end.y - 6}"
    begin, stop = start.x + WIDTH, end.x - 7
    level, target, bend = start.y + HEIGHT // 2, end.y + HEIGHT // 2, (stop - begin) // 2
    return f"M{begin} {level} C{begin + bend} {level} {stop - bend} {target} {stop} {target}"
