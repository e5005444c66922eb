"""Throwaway servers for tests: PostgreSQL, Redis, Elasticsearch, each in a temporary folder of its own.

    python -m tests.real_parts -- COMMAND…    # runs a command with all of them, and prints their versions
    python -m tests.real_parts -- make test   # is `make test-real`

Invariant: a server ends with whoever started it, even if that process is killed; nothing of it stays behind but, after
a kill, a folder of temporary files.
"""

from tests.real_parts.postgresql import PostgreSQL
from tests.real_parts.redis import Redis
from tests.real_parts.server import Missing

__all__ = ["Missing", "PostgreSQL", "Redis"]
