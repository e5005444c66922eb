"""The connection and cursor of PostgreSQL; Django imports this module by its name.

The scope travels in the same message as the statement, which costs no round trip, and with `SET LOCAL`, so nothing of
it outlives a transaction. Inside a transaction it is sent again only when it changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from django.db.backends.postgresql import base
from psycopg import ClientCursor
from psycopg.pq import TransactionStatus

from memoryhub.db.scope import current_scope, setting_of

# The scope of a transaction is not known, because an error or a rollback to a savepoint may have undone it.
_UNKNOWN = object()


class ScopedCursor(ClientCursor[Any]):
    """Sends the scope before a statement. Statements that refuse a transaction, such as VACUUM, need no scope."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute the statement in the current scope; the result is the statement's own."""
        connection: Any = self.connection
        status = connection.info.transaction_status
        # After an error PostgreSQL takes nothing but a rollback.
        if not getattr(connection, "has_row_security", False) or status is TransactionStatus.INERROR:
            super().execute(query, params, **options)
            return self
        scope = current_scope()
        known = None if status is TransactionStatus.IDLE else getattr(connection, "scope_sent", _UNKNOWN)
        connection.scope_sent = _UNKNOWN
        if scope == known:
            super().execute(query, params, **options)
        else:
            super().execute(setting_of(scope) + self.mogrify(query, params), **options)
            self.nextset()
        if not str(query).startswith("ROLLBACK TO"):
            connection.scope_sent = scope
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], **options: Any) -> None:
        """Execute the statement for each of the parameters. `rowcount` is that of the last one."""
        for params in params_seq:
            self.execute(query, params, **options)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that knows whether its database has the policies, and sends no scope to one that lacks them."""

    def get_connection_params(self) -> dict[str, Any]:
        """Django's parameters, with the scoped cursor."""
        return {**super().get_connection_params(), "cursor_factory": ScopedCursor}

    def init_connection_state(self) -> None:
        """Look for a function of `row_security.install`, once for each connection."""
        super().init_connection_state()
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT to_regprocedure('memoryhub_tenant()') IS NOT NULL")
            self.connection.has_row_security = cursor.fetchone()[0]
