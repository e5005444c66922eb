"""Run a command with PostgreSQL, Redis and Elasticsearch of its own: the whole suite on the parts of production."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.elasticsearch_node.node import CannotBuild, Node
from tests.elasticsearch_node.node import DidNotStart as NodeDidNotStart
from tests.real_parts import Missing, PostgreSQL, Redis
from tests.real_parts.server import DidNotStart


def main(arguments: list[str]) -> int:
    """Run the command after `--`; its exit status."""
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        sys.stderr.write("Usage: python -m tests.real_parts -- COMMAND…\n")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of the context managers
    with ExitStack() as stack:
        try:
            environ = _started(stack)
        except (CannotBuild, NodeDidNotStart, Missing, DidNotStart) as error:
            sys.stderr.write(f"{error}\n")
            return 1
        return subprocess.run(command, env={**os.environ, **environ}, check=False).returncode  # noqa: S603 - as asked


def _started(stack: ExitStack) -> dict[str, str]:
    """Start everything; what the command's environment must say of it."""
    postgresql, redis = stack.enter_context(PostgreSQL()), stack.enter_context(Redis())
    node = Node(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="elasticsearch-"))))
    stack.callback(node.stop)
    address = node.start(live_as_long_as=os.getpid())
    versions = f"Elasticsearch {address.version()}, PostgreSQL {postgresql.version()}, Redis {redis.version()}"
    print(f"Really running: {versions}.", flush=True)  # noqa: T201 - for whoever reads the log of a run
    return {
        "DATABASE_URL": postgresql.url,
        "MEMORYHUB_BROKER_URL": redis.url,
        "MEMORYHUB_SEARCH": "elasticsearch",
        "ELASTICSEARCH_URL": address.url,
        "ELASTICSEARCH_SETUP": address.credential,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
