"""Recalls through members' keys, each beside the bare `_msearch`: the same bodies, key and connection, nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from time import perf_counter

from elasticsearch import Elasticsearch
from rich.progress import Progress

from benchmarks.clock import timed, times_of
from benchmarks.rows import Row
from memories.constants import CANDIDATES_PER_LEG
from memories.embedding import encoder
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.recall.query import parse
from memories.search.elasticsearch.legs import legs
from memories.search.elasticsearch.plane import _ANSWER
from memories.types import ALL_KINDS, CandidateRequest
from memoryhub.elasticsearch import index_pattern, key_client
from tenants.principal import Principal
from tenants.search_keys import search_key

Search = Callable[[str], object]


class Pair:
    """One member's recall of a question, and the bare search that it makes."""

    def __init__(self, member: Principal) -> None:
        self.member = member
        self._client = key_client(search_key(member).encoded)

    def recall(self, question: str) -> object:
        """The recall, end to end."""
        return recall(self.member, question)

    def bare(self, question: str) -> Search:
        """The search of the same question, made up beforehand; what it is called with is of no matter."""
        query = parse(question, ())
        (vector,) = encoder().encode([query.meaning])
        request = CandidateRequest(ALL_KINDS, query.terms, lambda: vector, CANDIDATES_PER_LEG)
        searches = [line for leg in legs(self.member, request) for line in (leg.header, leg.body)]
        return lambda _: self._client.msearch(searches=searches, filter_path=_ANSWER)


def hot(
    name: str, members: Sequence[Principal], questions: Sequence[str], progress: Progress, warm_up: int
) -> list[Row]:
    """One member after the other asks; both searches of a question are made by turns first and second."""
    pairs = [Pair(member) for member in members]
    spans: list[float] = []
    floors: list[float] = []
    recorded: list[float] = []
    asked = list(zip(cycle(pairs), questions, strict=False))
    for number, (pair, question) in enumerate(progress.track(asked, description=name)):
        _both(pair, question, spans, floors, recall_first=number % 2 == 0)
        recorded.append(timed(lambda _: recording.flush(), question))
    bare = times_of(floors[warm_up:])
    return [Row(name, times_of(spans[warm_up:]), bare), Row("… its recording", times_of(recorded[warm_up:]), bare)]


def cold(
    name: str,
    root: Elasticsearch,
    members: Sequence[Principal],
    questions: Sequence[str],
    rounds: int,
    progress: Progress,
) -> Row:
    """Every member's first search after the cluster forgot all keys, roles and queries: half of them bare, by turns."""
    spans: list[float] = []
    floors: list[float] = []
    pairs = [Pair(member) for member in members]
    asked = cycle(questions)
    for turn in progress.track(range(2 * rounds), description=name):
        forget_keys(root)
        for number, (pair, question) in enumerate(zip(pairs, asked, strict=False)):
            if (number + turn) % 2:
                spans.append(timed(pair.recall, question))
                recording.flush()
            else:
                floors.append(timed(pair.bare(question), question))
    return Row(name, times_of(spans), times_of(floors))


def crowded(
    name: str, members: Sequence[Principal], questions: Sequence[str], threads: int, progress: Progress
) -> tuple[Row, float]:
    """Several members ask at once, all the time; with the recalls that are answered in a second."""
    pairs = [Pair(member) for member in islice(cycle(members), len(questions))]
    task = progress.add_task(name, total=2)
    with ThreadPoolExecutor(threads) as pool:
        begin = perf_counter()
        spans = list(pool.map(lambda work: timed(work[0].recall, work[1]), zip(pairs, questions, strict=True)))
        seconds = perf_counter() - begin
        recording.flush()
        progress.advance(task)
        bare = [pair.bare(question) for pair, question in zip(pairs, questions, strict=True)]
        floors = list(pool.map(lambda search: timed(search, ""), bare))
        progress.advance(task)
    return Row(name, times_of(spans), times_of(floors)), len(questions) / seconds


def forget_keys(root: Elasticsearch) -> None:
    """Empty the cluster's caches of keys, of their roles, and of what their queries match."""
    root.security.clear_api_key_cache(ids="*")
    root.security.clear_cached_roles(name="*")
    root.indices.clear_cache(index=index_pattern())


def _both(pair: Pair, question: str, spans: list[float], floors: list[float], *, recall_first: bool) -> None:
    bare = pair.bare(question)
    if recall_first:
        spans.append(timed(pair.recall, question))
    floors.append(timed(bare, question))
    if not recall_first:
        spans.append(timed(pair.recall, question))
