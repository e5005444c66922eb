"""Starts the servers of the last part of `make bench`, a search node and a database, for the length of the run.

A node named in the environment is used under a random prefix, which is removed afterwards. Any other server is started
in a temporary folder and removed with it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.elasticsearch_node.node import HEAP, Address, CannotBuild, DidNotStart, Node
from tests.real_parts import Missing, PostgreSQL

IDENTITIES = ("INDEXER", "MINTER", "MANAGER", "CHECKER")

__all__ = ["HEAP", "Servers", "Unavailable", "servers"]


class Unavailable(Exception):
    """There is no search node, and none can be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses and credentials. `database` names the database; `passwords` are those of the service identities."""

    node: Address
    prefix: str
    passwords: dict[str, str]
    database: str
    environ: dict[str, str]


@contextmanager
def servers(folder: str, heap: str) -> Iterator[Servers]:
    """Start the missing servers. Raises Unavailable."""
    with ExitStack() as stack:
        node = _node(stack, Path(folder), heap)
        name, url = _database(stack)
        prefix = f"bench-{secrets.token_hex(4)}"
        passwords = {identity: secrets.token_urlsafe(16) for identity in IDENTITIES}
        environ = {
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "MEMORYHUB_ENV": "development",
            "MEMORYHUB_DATA_DIR": folder,
            "MEMORYHUB_JOBS": "off",
            "MEMORYHUB_SEARCH": "elasticsearch",
            "DATABASE_URL": url,
            "ELASTICSEARCH_URL": node.url,
            "ELASTICSEARCH_CA_CERTS": "",
            "ELASTICSEARCH_PREFIX": prefix,
            "ELASTICSEARCH_SETUP": node.credential,
            **{f"ELASTICSEARCH_{one}": f"{prefix}-{one.lower()}:{password}" for one, password in passwords.items()},
        }
        yield Servers(node, prefix, passwords, name, environ)


def _node(stack: ExitStack, folder: Path, heap: str) -> Address:
    url, credential = (os.environ.get(f"ELASTICSEARCH_{name}", "") for name in ("URL", "SETUP"))
    if url and credential:
        return Address(url, credential)
    node = Node(folder / "elasticsearch")
    try:
        address = node.start(heap=heap, live_as_long_as=os.getpid())
    except (CannotBuild, DidNotStart) as error:
        raise Unavailable(str(error)) from error
    stack.callback(node.wipe)
    return address


def _database(stack: ExitStack) -> tuple[str, str]:
    try:
        server = stack.enter_context(PostgreSQL(durable=True))
    except Missing:
        return "SQLite", ""
    return f"PostgreSQL {server.version()}", server.url
