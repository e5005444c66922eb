"""The graph of a chain: states stand in the order of time, merges and branches apart, and every line is drawn."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID, uuid4

import pytest

from memories.staff.chain_drawing import HEIGHT, WIDTH, Edge, Graph, Node, graph_of


def points(count: int) -> list[Node]:
    return [Node(uuid4(), f"State {number}", f"#{number}", "", "current") for number in range(count)]


def edges(given: list[Node], *pairs: tuple[int, int]) -> list[Edge]:
    return [Edge(given[start].id, given[end].id, "superseded") for start, end in pairs]


def corners(graph: Graph) -> dict[UUID, tuple[int, int]]:
    return {node.id: (node.x, node.y) for node in graph.nodes}


def test_a_chain_runs_from_left_to_right_in_one_lane() -> None:
    given = points(4)
    graph = graph_of(given, edges(given, (0, 1), (1, 2), (2, 3)))
    placed = [corners(graph)[point.id] for point in given]
    assert all(left[0] + WIDTH < right[0] for left, right in pairwise(placed))
    assert len({y for _, y in placed}) == 1
    assert len(graph.curves) == 3


def test_what_merges_stands_one_below_the_other_before_what_it_became() -> None:
    given = points(4)
    placed = corners(graph_of(given, edges(given, (0, 3), (1, 3), (2, 3))))
    merged, became = [placed[point.id] for point in given[:3]], placed[given[3].id]
    assert {x for x, _ in merged} == {merged[0][0]}
    assert len({y for _, y in merged}) == 3
    assert became[0] > merged[0][0]


def test_what_joins_late_stands_right_before_what_it_joined() -> None:
    """So no line to it runs behind a state of the chain."""
    given = points(4)
    placed = corners(graph_of(given, edges(given, (0, 1), (1, 3), (2, 3))))
    chain, joined = placed[given[1].id], placed[given[2].id]
    assert chain[0] == joined[0] < placed[given[3].id][0]
    assert chain[1] < joined[1]


@pytest.mark.parametrize("count", [1, 7, 40])
def test_no_two_states_overlap_and_all_fit_into_the_drawing(count: int) -> None:
    given = points(count)
    pairs = [(start, end) for end in range(1, count) for start in {end - 1, end // 2} if start != end]
    graph = graph_of(given, edges(given, *pairs))
    placed = list(corners(graph).values())
    assert len(set(placed)) == count
    assert max(x for x, _ in placed) + WIDTH <= graph.width
    assert max(y for _, y in placed) + HEIGHT <= graph.height


def test_a_circle_of_links_is_drawn_and_ends() -> None:
    given = points(3)
    graph = graph_of(given, edges(given, (0, 1), (1, 2), (2, 0)))
    assert (len(graph.nodes), len(graph.curves)) == (3, 3)
