"""The OpenAI Agents SDK: a `Session` on items, and instructions with what is known of the user.

`memoryhub-client[openai-agents]`
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from agents import Agent, RunContextWrapper, SessionSettings, TResponseInputItem

from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.errors import Conflict
from memoryhub_client.outages import OnOutage, beginning, optional
from memoryhub_client.sansio import PAGE, Procedure, arun, items, root
from memoryhub_client.types import Context, FoundItem, FoundItems, Learn, NewMessage

NAMESPACE = ("openai-agents", "sessions")
# A stored batch is shorter than an item of 64 kB, by a margin for its other signs.
_BATCH_BYTES = 60_000


class MemoryhubSession:
    """The history of a conversation, of one member. What is added at once is stored at once, as one item of the store.

    `learn` hands what the user and the agent said to `Client.messages` as well, so that memoryhub learns from it. If
    that alone fails in an outage, a warning is logged, unless `on_outage` is `raise`; calls for the history raise.
    With `AsyncClient` all calls have to come from one event loop; with `Client` they run in threads.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        client: Client | AsyncClient,
        *,
        learn: Learn | None = None,
        on_outage: OnOutage = "continue",
        session_settings: SessionSettings | None = None,
        namespace: Sequence[str] = NAMESPACE,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._client = client
        self._learn = learn
        self._on_outage = on_outage
        self._namespace = (*namespace, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Read the history, or the latest `limit` items of it, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        batches = await arun(self._client, _batches(self._namespace, limit))
        history = [item for batch in batches for item in batch.value]
        return history if limit is None else history[len(history) - min(max(limit, 0), len(history)) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end."""
        await arun(self._client, _added(self._namespace, items))
        if self._learn is not None and (said := _said(items)):
            learned = root.messages(said, session=self.session_id, learn=self._learn)
            await arun(self._client, optional(_once(learned), self._on_outage))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None if there is none."""
        return await arun(self._client, _popped(self._namespace))

    async def clear_session(self) -> None:
        """Remove all items. Their history stays, until the items are erased."""
        await arun(self._client, _cleared(self._namespace))


def with_context(
    client: Client | AsyncClient,
    instructions: str = "",
    *,
    token_budget: int | None = None,
    on_outage: OnOutage = "continue",
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """Instructions for an agent: yours, and what the member's memory knows that bears on the last message.

    `Agent(name=…, instructions=with_context(client, "You are a travel agent."))`. If memoryhub does not answer, it logs
    a warning and returns yours alone, unless `on_outage` is `raise`.
    """

    async def recalled(run: RunContextWrapper[Any], agent: Agent[Any]) -> str:  # noqa: ARG001 - the SDK's signature
        said = [each["content"] for each in _said(run.turn_input) if each["role"] == "user"]
        if not said:
            return instructions
        recall = _once(root.context(said[-1], token_budget=token_budget))
        found: Context | None = await arun(client, optional(recall, on_outage))
        return "\n\n".join(part for part in (instructions, found.prompt if found else "") if part)

    return recalled


def _once(request: Any) -> Procedure[Any]:
    return (yield request)


def _batches(namespace: Sequence[str], limit: int | None = None) -> Procedure[list[FoundItem]]:
    """What was stored, oldest first; at least what holds the latest `limit` items."""
    found: list[FoundItem] = []
    before: dict[str, Any] | None = None
    size = PAGE if limit is None else max(1, min(limit, PAGE))
    while limit is None or sum(len(each.value) for each in found) < limit:
        page: FoundItems = yield items.search(namespace, filters=before, limit=size)
        # A batch that an item was popped from counts as changed lately, so the page has another order.
        found += sorted(page.results, key=lambda each: each.created_at, reverse=True)
        if len(page.results) < size:
            break
        before = {"field": "created_at", "op": "lt", "value": found[-1].created_at.isoformat()}
    return found[::-1]


def _added(namespace: Sequence[str], added: Iterable[Any]) -> Procedure[None]:
    for batch in _parts(added):
        yield items.put(namespace, uuid4().hex, batch, index=False)


def _parts(added: Iterable[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    length = 0
    for item in added:
        size = len(json.dumps(item, ensure_ascii=False).encode())
        if part and length + size > _BATCH_BYTES:
            yield part
            part, length = [], 0
        part.append(item)
        length += size
    if part:
        yield part


def _popped(namespace: Sequence[str]) -> Procedure[Any]:
    while True:
        last = yield from _batches(namespace, 1)
        if not last:
            return None
        batch = last[-1]
        *rest, item = batch.value
        try:
            if rest:
                yield items.put(batch.namespace, batch.key, rest, index=False, if_version=batch.version)
            else:
                yield items.delete(batch.namespace, batch.key, if_version=batch.version)
        except Conflict:  # another call popped it
            continue
        return item


def _cleared(namespace: Sequence[str]) -> Procedure[None]:
    for batch in (yield from _batches(namespace)):
        yield items.delete(batch.namespace, batch.key)


def _said(given: Iterable[Any]) -> list[NewMessage]:
    """What users and the agent said in words."""
    return [
        {"role": item["role"], "content": beginning(text)}
        for item in given
        if item.get("role") in ("user", "assistant") and (text := _text(item.get("content")))
    ]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part, dict) and part.get("text"))
