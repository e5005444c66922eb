"""Recalls through members' keys, each beside the bare `_msearch`: the same bodies and key, prepared beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
from memories.search import search_plane
from memories.search.elasticsearch.plane import _ANSWER
from memories.search.elasticsearch.queries import legs
from memories.types import ALL_KINDS, CandidateRequest
from memoryhub.elasticsearch import index_pattern, key_client
from tenants.principal import Principal
from tenants.search_keys import search_key

FORMS = ("recall", "search", "bare")
Call = Callable[[str], object]


@dataclass(slots=True)
class Spans:
    """Milliseconds of each form of the same question, and of what a recall records behind its answer."""

    of: dict[str, list[float]] = field(default_factory=lambda: {form: [] for form in FORMS})
    recording: list[float] = field(default_factory=list)

    def rows(self, name: str, warm_up: int = 0) -> list[Row]:
        """Recall and search, each on the floor of the bare request."""
        floor = times_of(self.of["bare"][warm_up:])
        return [Row(f"{form}, {name}", times_of(self.of[form][warm_up:]), floor) for form in ("recall", "search")]


class Asker:
    """One member, who asks in three forms.

    `recall` is everything from the question to the answer; `search` what of it the search plane does: finds the key,
    makes the bodies, asks, merges; `bare` is the request alone.
    """

    def __init__(self, member: Principal) -> None:
        self.member = member
        self._client = key_client(search_key(member).encoded)

    def forms(self, question: str) -> dict[str, Call]:
        """How to ask this question in each form."""
        query = parse(question, ())
        (vector,) = encoder().encode([query.meaning])
        request = CandidateRequest(ALL_KINDS, query.terms, lambda: vector, CANDIDATES_PER_LEG)
        searches = [line for leg in legs(self.member, request) for line in (leg.header, leg.body)]
        return {
            "recall": lambda text: recall(self.member, text),
            "search": lambda _: search_plane().candidates(self.member, request),
            "bare": lambda _: self._client.msearch(searches=searches, filter_path=_ANSWER),
        }


def hot(name: str, member: Principal, questions: Sequence[str], progress: Progress, warm_up: int) -> list[Row]:
    """One member asks again and again; the forms of a question take turns in being the first."""
    asker, spans = Asker(member), Spans()
    for number, question in enumerate(progress.track(questions, description=name)):
        forms = asker.forms(question)
        for turn in range(len(FORMS)):
            form = FORMS[(number + turn) % len(FORMS)]
            spans.of[form].append(timed(forms[form], question))
        spans.recording.append(timed(lambda _: recording.flush(), question))
    rows = spans.rows(name, warm_up)
    return [*rows, Row("… its recording", times_of(spans.recording[warm_up:]), rows[0].floor)]


def cold(
    name: str,
    root: Elasticsearch,
    members: Sequence[Principal],
    questions: Sequence[str],
    rounds: int,
    progress: Progress,
) -> list[Row]:
    """Every member's first search after the cluster forgot all keys, roles and queries, in each form by turns."""
    spans = Spans()
    askers = [Asker(member) for member in members]
    asked = cycle(questions)
    for turn in progress.track(range(len(FORMS) * rounds), description=name):
        forget_keys(root)
        for number, (asker, question) in enumerate(zip(askers, asked, strict=False)):
            form = FORMS[(number + turn) % len(FORMS)]
            spans.of[form].append(timed(asker.forms(question)[form], question))
            recording.flush()
    return spans.rows(name)


def crowded(
    name: str, members: Sequence[Principal], questions: Sequence[str], threads: int, progress: Progress
) -> tuple[list[Row], float]:
    """Several members ask at once, all the time; with the recalls that are answered in a second."""
    askers = [Asker(member) for member in islice(cycle(members), len(questions))]
    forms = [asker.forms(question) for asker, question in zip(askers, questions, strict=True)]
    spans, recalls_a_second = Spans(), 0.0
    task = progress.add_task(name, total=len(FORMS))
    with ThreadPoolExecutor(threads) as pool:
        for form in FORMS:
            begin = perf_counter()
            calls = [each[form] for each in forms]
            spans.of[form] = list(pool.map(timed, calls, questions))
            if form == "recall":
                recalls_a_second = len(questions) / (perf_counter() - begin)
                recording.flush()
            progress.advance(task)
    return spans.rows(name), recalls_a_second


def forget_keys(root: Elasticsearch) -> None:
    """Empty the cluster's caches of keys, of their roles, and of what their queries match."""
    root.security.clear_api_key_cache(ids="*")
    root.security.clear_cached_roles(name="*")
    root.indices.clear_cache(index=index_pattern())
