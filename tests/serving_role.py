"""On PostgreSQL the tests serve as production does: as a role that owns no table, with row-level security.

The tests connect as a superuser, make and migrate the database, and then take the session of the serving role
(SET SESSION AUTHORIZATION). `as_owner` takes the superuser's back, for tests that tamper. Tests and their threads act
as the wider role of jobs, requests as nobody, until an edge or a write scope sets another scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test.client import ClientHandler
from psycopg.pq import TransactionStatus

from memoryhub.db import scope
from memoryhub.db.row_security import ROLES, SERVING_ROLE
from memoryhub.db.scope import DatabaseScope, WideRole, acting_as

# As deploy/postgres/role.sh makes them, without passwords.
MAKE_ROLES = ";\n".join(
    [
        "SELECT pg_advisory_xact_lock(22)",
        *(
            f"DO $$ BEGIN IF to_regrole('{role}') IS NULL THEN CREATE ROLE {role} NOINHERIT; END IF; END $$"
            for role in ROLES
        ),
        f"ALTER ROLE {SERVING_ROLE} LOGIN",
        f"GRANT {', '.join(WideRole)} TO {SERVING_ROLE}",
    ]
)


def make_roles() -> None:
    """Create the roles of the cluster, unless it has them."""
    with connection._nodb_cursor() as cursor:
        cursor.execute(MAKE_ROLES)


def _serve(connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION AUTHORIZATION {SERVING_ROLE}")


@contextmanager
def serving() -> Iterator[None]:
    """Let new connections serve, and give each thread of the tests a scope."""
    if connection.vendor != "postgresql":
        yield
        return
    connection.close()
    connection_created.connect(_serve)
    default: ContextVar[DatabaseScope] = ContextVar("database_scope_of_tests", default=WideRole.JOBS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scope, "_scope", default)
        # A request starts without a scope, as in production, so each edge must set its own.
        patch.setattr(ClientHandler, "__call__", acting_as(None)(ClientHandler.__call__))
        yield
    connection_created.disconnect(_serve)
    connection.close()


@contextmanager
def as_owner() -> Iterator[None]:
    """Let the block's connection do everything, as the owner of the tables could."""
    if connection.vendor != "postgresql":
        yield
        return
    with acting_as(None), connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        (before,) = cursor.fetchone()  # in a nested block the owner already
        cursor.execute("SET SESSION AUTHORIZATION DEFAULT")
        try:
            yield
        finally:
            # After an error the rollback does it.
            if connection.connection.info.transaction_status is not TransactionStatus.INERROR:
                cursor.execute(f"SET SESSION AUTHORIZATION {connection.ops.quote_name(before)}")
