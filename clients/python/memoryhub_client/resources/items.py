"""Items: a plain store of JSON under a namespace and a key, beside the memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from memoryhub_client.calls import C, Call, Resource, ask, at, delete, endpoint, get, paged
from memoryhub_client.types import Deleted, Erased, Filters, FoundItems, Item, ItemEvent, Namespaces


class Items(Resource[C]):
    """The owner's items. A namespace is a sequence of labels, from the outermost."""

    @endpoint
    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        index: bool | Sequence[str] = True,
        ttl_minutes: float | None = None,
        if_version: int | None = None,
    ) -> Call[Item]:
        """Store any JSON in place of what is there; the history keeps that.

        `index`: which texts of the value a search with a query reads: all, none, or those at paths such as
        `stops[*].city`. `if_version`: only over this version, 0 only if there is none; else Conflict.
        """
        body = {"namespace": _labels(namespace), "key": key, "value": value}
        body["index"] = index if isinstance(index, bool) else list(index)
        given = {"ttl_minutes": ttl_minutes, "if_version": if_version}
        return Call("PUT", "/items/", body=body | {name: each for name, each in given.items() if each is not None})

    @endpoint
    def get(self, namespace: Sequence[str], key: str, *, refresh_ttl: bool | None = None) -> Call[Item]:
        """Read an item. `refresh_ttl` starts its time to live anew."""
        return get("/items/", namespace=_path(namespace), key=key, refresh_ttl=refresh_ttl)

    @endpoint
    def read(self, item_id: str) -> Call[Item]:
        """Read an item by its id."""
        return get(at("items", item_id))

    @endpoint
    def delete(self, namespace: Sequence[str], key: str, *, if_version: int | None = None) -> Call[Deleted]:
        """Delete an item; its history stays."""
        return delete("/items/", namespace=_path(namespace), key=key, if_version=if_version)

    @endpoint
    def erase(self, item_id: str, *, reason: str | None = None) -> Call[Erased]:
        """Erase an item and its history for good, also one that was deleted. Needs `memory:decide`."""
        return delete(at("items", item_id), reason=reason)

    @endpoint
    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filters: Filters | None = None,
        limit: int | None = None,
        offset: int | None = None,
        refresh_ttl: bool | None = None,
    ) -> Call[FoundItems]:
        """Search a namespace and those inside it: with `query` the best first, at most 100; else the latest first."""
        return ask(
            "/items/search/",
            namespace_prefix=namespace_prefix,
            query=query,
            filters=filters,
            limit=limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
        )

    @endpoint
    def namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Call[Namespaces]:
        """List the namespaces that hold items, in order. `*` in `prefix` or `suffix` is any label."""
        return ask("/items/namespaces/", prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset)

    @paged
    def history(self, namespace: Sequence[str], key: str, *, limit: int | None = None) -> Call[ItemEvent]:
        """List the changes of an item, latest first; also of one that was deleted."""
        return get("/items/history/", namespace=_path(namespace), key=key, limit=limit)


def _labels(namespace: Sequence[str]) -> list[str]:
    """The labels; a text would be taken for a label of each of its letters."""
    if isinstance(namespace, str):
        raise TypeError(f"A namespace is a list of labels: give [{namespace!r}].")
    return list(namespace)


def _path(namespace: Sequence[str]) -> str:
    return "/".join(quote(label, safe="") for label in _labels(namespace))
