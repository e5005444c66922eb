"""LangGraph's `BaseCheckpointSaver` on items: `memoryhub-client[langgraph]`.

The namespace of an item is `langgraph-checkpoints`, the thread, the checkpoint's own namespace and the kind. A
checkpoint with its metadata is one item, the writes of a task to it are another. A text longer than an item may be is
stored in parts, which are put first: a checkpoint is whole, or is not there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from memoryhub_client.checkpoint_text import data_of, text_of
from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.errors import Conflict, NotFound
from memoryhub_client.sansio import PAGE, Procedure, arun, items, run
from memoryhub_client.types import FoundItem, FoundItems, Item

ROOT = "langgraph-checkpoints"
_CHECKPOINT, _WRITES, _PART = "checkpoint", "writes", "part"
# Bytes of a text as JSON. An item has 65,536, and the fields beside the text need some.
_LONGEST = 60_000
_MOST_PARTS = 32
# Other writers of the same task's writes, each of which may be first.
_ATTEMPTS = 5

Fields = dict[str, Any]
Found = Sequence[FoundItem]
# The path and id of the task, the place of the write among the task's, the channel and the value.
TaskWrite = tuple[str, str, int, str, Any]


class MemoryhubSaver(BaseCheckpointSaver[int]):
    """Checkpoints of one member. Asynchronous methods use `async_client`, or `client` in a thread.

    `ttl_minutes`: what is put expires after this time, and is erased with its history.
    """

    def __init__(
        self,
        client: Client,
        async_client: AsyncClient | None = None,
        *,
        serde: SerializerProtocol | None = None,
        ttl_minutes: float | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._client = client
        self._async_client: AsyncClient | Client = async_client or client
        self._ttl_minutes = ttl_minutes

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the configuration names, or the latest of its thread and namespace."""
        return run(self._client, self._get_tuple(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like `get_tuple`."""
        return await arun(self._async_client, self._get_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints whose metadata has these values, the latest first; without a namespace, those of all."""
        yield from run(self._client, self._list(config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Like `list`."""
        for each in await arun(self._async_client, self._list(config, filter, before, limit)):
            yield each

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - all channels are stored with each checkpoint
    ) -> RunnableConfig:
        """Store a checkpoint. Raises ValueError if it is too long, Blocked if it holds what is never stored."""
        return run(self._client, self._put(config, checkpoint, metadata))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - all channels are stored with each checkpoint
    ) -> RunnableConfig:
        """Like `put`."""
        return await arun(self._async_client, self._put(config, checkpoint, metadata))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote. A write that is there stays, but one of an error or interrupt is replaced."""
        run(self._client, self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Like `put_writes`."""
        await arun(self._async_client, self._put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Erase a thread with its history for good. Needs `memory:decide`, as all that deletes does."""
        run(self._client, _delete_thread(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """Like `delete_thread`."""
        await arun(self._async_client, _delete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the checkpoints of these runs, in all threads."""
        run(self._client, _delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Like `delete_for_runs`."""
        await arun(self._async_client, _delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all of a thread."""
        run(self._client, self._copy_thread(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Like `copy_thread`."""
        await arun(self._async_client, self._copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all but the latest checkpoint of each namespace, or with `delete` the threads.

        Raises ValueError for another strategy, and before it changes a thread whose latest checkpoint has a
        `DeltaChannel`, which is made from the earlier ones.
        """
        run(self._client, self._prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Like `prune`."""
        await arun(self._async_client, self._prune(thread_ids, strategy))

    def _get_tuple(self, config: RunnableConfig) -> Procedure[CheckpointTuple | None]:
        thread, namespace = _place(config)
        labels = _labels(thread, namespace, _CHECKPOINT)
        if checkpoint_id := get_checkpoint_id(config):
            try:
                found: Item | None = yield items.get(labels, checkpoint_id)
            except NotFound:
                return None
        else:
            found = yield from _latest(labels)
        return (yield from self._tuples([found.value]))[0] if found else None

    def _list(
        self,
        config: RunnableConfig | None,
        wanted: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Procedure[Sequence[CheckpointTuple]]:
        named = config["configurable"] if config else {}
        conditions = [_is("kind", _CHECKPOINT)]
        if checkpoint_id := named.get("checkpoint_id"):
            conditions.append(_is("checkpoint", checkpoint_id))
        if before and (end := get_checkpoint_id(before)):
            conditions.append({"field": "value.checkpoint", "op": "lt", "value": end})
        inside = [ROOT, str(named["thread_id"])] if "thread_id" in named else [ROOT]
        found = yield from _all(inside, conditions)
        values = [each.value for each in found if named.get("checkpoint_ns", each.value["ns"]) == each.value["ns"]]
        values.sort(key=lambda value: str(value["checkpoint"]), reverse=True)
        if not wanted:
            return (yield from self._tuples(values[:limit]))
        tuples = yield from self._tuples(values)
        return [each for each in tuples if _has(each.metadata, wanted)][:limit]

    def _tuples(self, values: Sequence[Fields]) -> Procedure[Sequence[CheckpointTuple]]:
        """The checkpoints of items, with their writes."""
        writes: dict[tuple[str, str, str], Sequence[TaskWrite]] = {}
        for thread, namespace in {(value["thread"], value["ns"]) for value in values}:
            ids = [each["checkpoint"] for each in values if (each["thread"], each["ns"]) == (thread, namespace)]
            for start in range(0, len(ids), PAGE):
                some = {"field": "value.checkpoint", "op": "in", "value": ids[start : start + PAGE]}
                for found in (yield from _all(_labels(thread, namespace, _WRITES), [some])):
                    place = thread, namespace, str(found.value["checkpoint"])
                    writes[place] = [*writes.get(place, ()), *(yield from self._loaded(found.value))]
        tuples = []
        for value in values:
            thread, namespace, own, parent = (value[name] for name in ("thread", "ns", "checkpoint", "parent"))
            checkpoint, metadata = yield from self._loaded(value)
            pending = sorted(writes.get((thread, namespace, own), ()), key=lambda each: writes_sort_key(*each[:3]))
            tuples.append(
                CheckpointTuple(
                    _config(thread, namespace, own),
                    checkpoint,
                    metadata,
                    _config(thread, namespace, parent) if parent else None,
                    [(task, channel, written) for _, task, _, channel, written in pending],
                )
            )
        return tuples

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> Procedure[RunnableConfig]:
        thread, namespace = _place(config)
        told = get_serializable_checkpoint_metadata(config, metadata)
        fields = {"parent": get_checkpoint_id(config), "run": told.get("run_id")}
        yield from self._store(_CHECKPOINT, thread, namespace, checkpoint["id"], fields, [checkpoint, told])
        return _config(thread, namespace, checkpoint["id"])

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Procedure[None]:
        thread, namespace = _place(config)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        places = [WRITES_IDX_MAP.get(channel, place) for place, (channel, _) in enumerate(writes)]
        held: dict[int, TaskWrite] = {}
        version = 0
        for left in reversed(range(_ATTEMPTS)):
            new = {
                place: (task_path, task_id, place, channel, value)
                for place, (channel, value) in zip(places, writes, strict=True)
                if place < 0 or place not in held
            }
            if not new:
                return
            try:
                yield from self._store(
                    _WRITES,
                    thread,
                    namespace,
                    checkpoint_id,
                    {"task": task_id},
                    list((held | new).values()),
                    if_version=version,
                )
            except Conflict:
                if not left:
                    raise
                there: Item = yield items.get(_labels(thread, namespace, _WRITES), f"{checkpoint_id}/{task_id}")
                version, held = there.version, {each[2]: each for each in (yield from self._loaded(there.value))}
            else:
                return

    def _store(
        self,
        kind: str,
        thread: str,
        namespace: str,
        checkpoint_id: str,
        fields: Fields,
        content: Any,
        *,
        if_version: int | None = None,
    ) -> Procedure[None]:
        serialized, data = self.serde.dumps_typed(content)
        parts = _parts(text_of(serialized, data))
        if len(parts) > _MOST_PARTS:
            raise ValueError(
                f"The {kind} of thread {thread!r} is too long: {len(parts)} items of {_LONGEST:,} bytes, at most "
                f"{_MOST_PARTS} are stored. Keep what is large elsewhere, and its address in the state."
            )
        value = {"thread": thread, "ns": namespace, "checkpoint": checkpoint_id}
        body: Fields = {"text": parts[0]}
        if len(parts) > 1:
            body = {"group": str(uuid4())}
            for place, text in enumerate(parts):
                part = {**value, "kind": _PART, **body, "place": place, "text": text}
                yield self._item(_labels(thread, namespace, _PART), f"{body['group']}/{place}", part)
        value |= {"kind": kind, **fields, "serialized": serialized, **body}
        yield self._item(_labels(thread, namespace, kind), _key(value), value, if_version)

    def _item(self, labels: Sequence[str], key: str, value: Fields, if_version: int | None = None) -> Any:
        """The request that puts an item."""
        return items.put(labels, key, value, index=False, ttl_minutes=self._ttl_minutes, if_version=if_version)

    def _loaded(self, value: Fields) -> Procedure[Any]:
        text = value.get("text")
        if text is None:
            labels = _labels(value["thread"], value["ns"], _PART)
            parts = yield from _all(labels, [_is("group", value["group"])])
            text = "".join(each.value["text"] for each in sorted(parts, key=lambda part: int(part.value["place"])))
        return self.serde.loads_typed((value["serialized"], data_of(value["serialized"], text)))

    def _copy_thread(self, source: str, target: str) -> Procedure[None]:
        found = yield from _all([ROOT, source])
        # Parts, then writes, then checkpoints, the earliest first.
        order = (_PART, _WRITES, _CHECKPOINT)
        for each in sorted(found, key=lambda one: (order.index(one.value["kind"]), one.value["checkpoint"])):
            value = {**each.value, "thread": target}
            yield self._item(_labels(target, value["ns"], value["kind"]), each.key, value)

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Procedure[None]:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"{strategy!r} is no strategy of prune; there are keep_latest and delete.")
        for thread in thread_ids:
            if strategy == "delete":
                yield from _delete_thread(thread)
                continue
            found = yield from _all([ROOT, thread])
            latest: dict[str, Fields] = {}
            for value in (each.value for each in found if each.value["kind"] == _CHECKPOINT):
                kept = latest.setdefault(value["ns"], value)
                latest[value["ns"]] = max(kept, value, key=lambda one: str(one["checkpoint"]))
            for value in latest.values():
                _, metadata = yield from self._loaded(value)
                if metadata.get("counters_since_delta_snapshot"):
                    raise ValueError(f"Thread {thread!r} has a DeltaChannel, which is made from earlier checkpoints.")
            kept_ids = {namespace: value["checkpoint"] for namespace, value in latest.items()}
            yield from _erase([each for each in found if each.value["checkpoint"] != kept_ids.get(each.value["ns"])])


def _place(config: RunnableConfig) -> tuple[str, str]:
    """The thread and the namespace that a configuration names."""
    named = config["configurable"]
    return str(named["thread_id"]), str(named.get("checkpoint_ns", ""))


def _config(thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def _labels(thread: str, namespace: str, kind: str) -> Sequence[str]:
    """The namespace of items: each level of subgraphs is a label with a sign before it, which no kind has."""
    return [ROOT, thread, *(f"|{level}" for level in namespace.split("|") if namespace), kind]


def _key(value: Fields) -> str:
    own = str(value["checkpoint"])
    return f"{own}/{value['task']}" if "task" in value else own


def _is(field: str, value: str) -> Fields:
    return {"field": f"value.{field}", "op": "eq", "value": value}


def _has(metadata: CheckpointMetadata, wanted: Fields) -> bool:
    found: Fields = {**metadata}
    return all(found.get(name) == value for name, value in wanted.items())


def _all(inside: Sequence[str], conditions: Sequence[Fields] = ()) -> Procedure[Found]:
    """The items inside a namespace that meet all conditions, each once."""
    found: dict[str, FoundItem] = {}
    place = 0
    while True:
        filters = {"and": [*conditions]} if conditions else None
        page: FoundItems = yield items.search(inside, filters=filters, limit=PAGE, offset=place)
        found |= {each.id: each for each in page.results}
        place += PAGE
        if len(page.results) < PAGE:
            return [*found.values()]


def _latest(labels: Sequence[str]) -> Procedure[FoundItem | None]:
    """The checkpoint with the greatest id, which need not be the one that was put last."""
    latest: FoundItem | None = None
    while True:
        later = {"field": "value.checkpoint", "op": "gt", "value": latest.value["checkpoint"]} if latest else None
        page: FoundItems = yield items.search(labels, filters=later, limit=1)
        if not page.results:
            return latest
        latest = page.results[0]


def _erase(found: Found) -> Procedure[None]:
    """Erase items, checkpoints first, so that none is left without its parts."""
    for each in sorted(found, key=lambda one: bool(one.value["kind"] != _CHECKPOINT)):
        with suppress(NotFound):  # another call has erased it
            yield items.erase(each.id)


def _delete_thread(thread_id: str) -> Procedure[None]:
    yield from _erase((yield from _all([ROOT, thread_id])))


def _delete_for_runs(run_ids: Sequence[str]) -> Procedure[None]:
    for start in range(0, len(run_ids), PAGE):
        some = {"field": "value.run", "op": "in", "value": [*run_ids[start : start + PAGE]]}
        for each in (yield from _all([ROOT], [some])):
            inside = yield from _all([ROOT, each.value["thread"]], [_is("checkpoint", each.value["checkpoint"])])
            yield from _erase([one for one in inside if one.value["ns"] == each.value["ns"]])


def _parts(text: str) -> Sequence[str]:
    """Texts that fit into an item, cut where no word is, so that each is screened as a whole."""
    parts = []
    while text:
        end = _LONGEST
        while len(json.dumps(text[:end], ensure_ascii=False).encode()) > _LONGEST:
            end = end * 3 // 4
        if end < len(text):
            end = max(text.rfind(" ", 0, end), text.rfind('"', 0, end)) + 1 or end
        parts.append(text[:end])
        text = text[end:]
    return parts
