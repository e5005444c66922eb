"""LangGraph's `BaseStore` on items: `memoryhub-client[langgraph]`."""

from __future__ import annotations

import asyncio
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.errors import NotFound
from memoryhub_client.langgraph_ranking import EmbeddingRanking, Ranked
from memoryhub_client.sansio import PAGE, Procedure, arun, items, run
from memoryhub_client.types import FoundItem, FoundItems, Namespaces
from memoryhub_client.types import Item as Stored

# Requests of the asynchronous client that are under way at once; the others wait here, not at the server.
_AT_ONCE = 16
_DEEPEST = 16
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
# What the server compares: a path of at most five such keys, texts up to a length, and numbers that a double holds.
_PATH = re.compile(r'[^."\\\x00-\x1f\x7f]{1,64}(\.[^."\\\x00-\x1f\x7f]{1,64}){0,4}')
_LONGEST_TEXT = 256
_EXACT = 2**53
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
# Labels of the server have no control characters; they are percent-encoded, and so is a sign that could be read as one.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]|%(?=[0-9A-F]{2})")
_ENCODED = re.compile(r"%([0-9A-F]{2})")


class MemoryhubStore(BaseStore):
    """A store of one member's items. Asynchronous methods use `async_client`, or `client` in a thread.

    A search with a query ranks by words and meaning, at most the 100 best. `fields`: the paths whose texts it reads,
    unless a put names its own (default: all texts). With `index` it ranks by the caller's embeddings instead, and reads
    all items under the prefix for it.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        async_client: AsyncClient | None = None,
        *,
        fields: Sequence[str] | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._client = client
        self._async_client = async_client
        self._slots = asyncio.Semaphore(_AT_ONCE)
        named = fields or (index or {}).get("fields")
        self._index = list(named) if named else True
        self._ranking = EmbeddingRanking(index, named or ["$"]) if index else None
        self.index_config = index
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: first those that read, then of those that write the last for each key."""
        ops = list(ops)
        results: list[Result] = [None] * len(ops)
        for group in _groups(ops):
            for place in group:
                results[place] = self._answer(ops[place])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, several operations at once."""
        ops = list(ops)
        results: list[Result] = [None] * len(ops)
        for group in _groups(ops):
            answers = await asyncio.gather(*(self._aanswer(ops[place]) for place in group))
            for place, answer in zip(group, answers, strict=True):
                results[place] = answer
        return results

    def _answer(self, op: Op) -> Result:
        if self._ranking is None or not isinstance(op, SearchOp) or not op.query:
            return run(self._client, self._result(op))
        found = run(self._client, _search(_unranked(op)))
        return run(self._client, _best(op, self._ranking.ranked(op.query, found)))

    async def _aanswer(self, op: Op) -> Result:
        async with self._slots:
            client = self._async_client or self._client
            if self._ranking is None or not isinstance(op, SearchOp) or not op.query:
                return await arun(client, self._result(op))
            found = await arun(client, _search(_unranked(op)))
            return await arun(client, _best(op, await self._ranking.aranked(op.query, found)))

    def _result(self, op: Op) -> Procedure[Result]:
        validate_op_namespace(op)
        if isinstance(op, PutOp):
            namespace = _labels(op.namespace)
            if op.value is None:
                yield items.delete(namespace, op.key)
            else:
                index = self._index if op.index is None else op.index
                yield items.put(namespace, op.key, dict(op.value), index=index, ttl_minutes=op.ttl)
            return None
        if isinstance(op, GetOp):
            try:
                return Item(**_fields((yield items.get(_labels(op.namespace), op.key, refresh_ttl=op.refresh_ttl))))
            except NotFound:
                return None
        if isinstance(op, SearchOp):
            return [_shown(each, each.score) for each in (yield from _search(op))]
        if isinstance(op, ListNamespacesOp):
            return (yield from _namespaces(op))
        raise TypeError(f"{type(op).__name__} is no operation of a store.")


def _groups(ops: Sequence[Op]) -> tuple[list[int], list[int]]:
    """The places of the operations that read, and of the last write to each key."""
    writes = {(tuple(op.namespace), op.key): place for place, op in enumerate(ops) if isinstance(op, PutOp)}
    return [place for place, op in enumerate(ops) if not isinstance(op, PutOp)], list(writes.values())


def _unranked(op: SearchOp) -> SearchOp:
    """The search for all items, which leaves their time to live."""
    return op._replace(query=None, limit=sys.maxsize, offset=0, refresh_ttl=False)


def _best(op: SearchOp, ranked: Ranked) -> Procedure[list[SearchItem]]:
    best = ranked[op.offset : op.offset + op.limit]
    if op.refresh_ttl:
        yield from _renew(item for _, item in best)
    return [_shown(item, score) for score, item in best]


def _renew(found: Iterable[FoundItem]) -> Procedure[None]:
    for each in found:
        if each.ttl_minutes is not None:
            with suppress(NotFound):
                yield items.get(each.namespace, each.key, refresh_ttl=True)


def _search(op: SearchOp) -> Procedure[list[FoundItem]]:
    """Conditions that the server does not compare are checked here, over all pages."""
    conditions, compared = _conditions(op.filter or {})
    wanted = op.limit if compared else op.offset + op.limit
    place = op.offset if compared else 0
    found: list[FoundItem] = []
    while len(found) < wanted:
        size = min(PAGE, wanted - len(found)) if compared else PAGE
        page: FoundItems = yield items.search(
            _labels(op.namespace_prefix),
            query=op.query,
            filters={"and": conditions} if conditions else None,
            limit=size,
            offset=place,
            refresh_ttl=op.refresh_ttl and compared,
        )
        found += [each for each in page.results if compared or _matches(each.value, op.filter)]
        if len(page.results) < size:
            break
        place += size
    if compared:
        return found
    if op.refresh_ttl:
        yield from _renew(found[op.offset : wanted])
    return found[op.offset : wanted]


def _namespaces(op: ListNamespacesOp) -> Procedure[list[tuple[str, ...]]]:
    given = op.match_conditions or ()
    found: list[tuple[str, ...]] = []
    while len(found) < op.limit:
        size = min(PAGE, op.limit - len(found))
        page: Namespaces = yield items.namespaces(
            prefix=_path(given, "prefix"),
            suffix=_path(given, "suffix"),
            max_depth=op.max_depth and min(op.max_depth, _DEEPEST),
            limit=size,
            offset=op.offset + len(found),
        )
        found += [_decoded(labels) for labels in page.results]
        if len(page.results) < size:
            break
    return found


def _path(conditions: Iterable[MatchCondition], kind: str) -> list[str]:
    paths = [each.path for each in conditions if each.match_type == kind]
    if len(paths) > 1:
        raise ValueError(f"A list of namespaces takes one {kind}; give one that says it all.")
    return _labels(paths[0]) if paths else []


def _conditions(wanted: Mapping[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """A filter in the language of the server, and whether that is all of it."""
    conditions: list[dict[str, Any]] = []
    all_of_it = True
    for name, compared in wanted.items():
        field = f"value.{name}"
        for sign, value in (compared if _has_operators(compared) else {"$eq": compared}).items():
            if sign not in _OPERATORS:
                raise ValueError(f"{sign} is no operator of a filter; there are {', '.join(_OPERATORS)}.")
            if not _PATH.fullmatch(name):
                all_of_it = False
            elif value is None and sign in ("$eq", "$ne"):
                conditions.append({"field": field, "op": "exists", "value": sign == "$ne"})
            elif _comparable(value, sign):
                conditions.append({"field": field, "op": sign[1:], "value": value})
            else:
                all_of_it = False
    return conditions, all_of_it


def _comparable(value: Any, sign: str) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and not _NO_TEXT.search(value)
    if isinstance(value, bool):
        return sign in ("$eq", "$ne")
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _EXACT


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted)


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter wants: operators, the members of an object, or equality."""
    if _has_operators(wanted):
        return all(_compared(value, sign, other) for sign, other in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_matches(_at(value, name), each) for name, each in wanted.items())
    if isinstance(wanted, list | tuple):
        same_length = isinstance(value, list) and len(value) == len(wanted)
        return same_length and all(map(_matches, value, wanted))
    return bool(value == wanted)


def _compared(value: Any, sign: str, other: Any) -> bool:
    try:
        return bool(_OPERATORS[sign](value, other))
    except TypeError:  # values of two types have no order
        return False


def _at(value: Mapping[str, Any], name: str) -> Any:
    """The member of this name, or at this path."""
    if name in value:
        return value[name]
    first, _, rest = name.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _shown(found: FoundItem, score: float | None) -> SearchItem:
    return SearchItem(**_fields(found), score=score)


def _fields(stored: Stored) -> dict[str, Any]:
    return {
        "namespace": _decoded(stored.namespace),
        "key": stored.key,
        "value": stored.value,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }


def _labels(namespace: Iterable[str]) -> list[str]:
    return [_CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", label) for label in namespace]


def _decoded(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(_ENCODED.sub(lambda found: chr(int(found[1], 16)), label) for label in labels)
