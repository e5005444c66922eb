"""Guards of memory rows: a row changes only in its owner's write scope, and a query must name the owner it reads.

`memories/services/write.py` opens write scopes. Database triggers (0001_initial) check the same mark, so raw SQL is
refused too: SQLite calls `memoryhub_writing()`, which reads the ContextVar below; PostgreSQL reads the transaction's
setting `memoryhub.write`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from memories.types import Owner
from tenants.principal import Principal

Row = TypeVar("Row", bound=models.Model)

SQLITE_FUNCTION = "memoryhub_writing"
# Columns that may change without a write scope: values computed for the search plane, and usage counts of recalls.
DERIVED_COLUMNS = frozenset({"embedding", "embedding_model", "token_ids", "use_count", "last_used_at"})

_PLACE = frozenset({"tenant", "tenant_id", "user", "user_id", "scope"})

# The owner of the open write scope; a reason during `raw_writes`; empty if none is open.
_open: ContextVar[Owner | str] = ContextVar("open_write_scope", default="")


class WriteOutsideScope(RuntimeError):
    """A memory row would have changed outside its owner's write scope: without lock, audit event and outbox entry."""


class ReadWithoutScope(RuntimeError):
    """A query of memory rows would have run without naming an owner."""


def is_writing() -> bool:
    """Whether a write scope is open in this context."""
    return bool(_open.get())


@contextmanager
def scope_opened(owner: Owner | str) -> Iterator[None]:
    """Mark the block as part of the owner's write scope. On PostgreSQL the caller must also mark the transaction."""
    token = _open.set(owner)
    try:
        yield
    finally:
        _open.reset(token)


@contextmanager
def raw_writes(reason: str) -> Iterator[None]:
    """Allow writes without lock, audit and outbox, for a stated `reason`: seeding, benchmarks, tests, repairs."""
    if not reason:
        raise ValueError("Say why rows are written past the audit log.")
    before = is_writing()
    with scope_opened(reason):
        mark_transaction(marked=True)
        try:
            yield
        finally:
            if not before and not connection.needs_rollback:
                mark_transaction(marked=False)


def mark_transaction(*, marked: bool) -> None:
    """Tell PostgreSQL's triggers whether rows may change, until the end of the transaction if one is open."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            local = transaction.get_connection().in_atomic_block
            cursor.execute("SELECT set_config('memoryhub.write', %s, %s)", ["on" if marked else "", local])


def register_function(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Give a new SQLite connection the function that its triggers call. Without the function the triggers fail."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(SQLITE_FUNCTION, 0, is_writing)


def require_write_scope(model: type[models.Model], rows: Iterable[models.Model] = ()) -> None:
    """Raise WriteOutsideScope unless a write scope is open and `rows` belong to its owner or are shared."""
    if not is_writing():
        raise WriteOutsideScope(f"Rows of {model._meta.label} change inside `with write(principal)` only.")
    owner = _open.get()
    if isinstance(owner, str):
        return
    for row in rows:
        tenant_id, user_id = getattr(row, "tenant_id", None), getattr(row, "user_id", None)
        if tenant_id not in (None, owner.tenant_id) or user_id not in (None, owner.user_id):
            raise WriteOutsideScope(f"This row of {model._meta.label} belongs to another owner than the write scope.")


def refuse_links(instance: models.Model, action: str, **_: object) -> None:
    """Receiver of `m2m_changed`: links between memories change like their rows, inside a write scope of the owner."""
    if action.startswith("pre_"):
        require_write_scope(type(instance), [instance])


def guarding_triggers(vendor: str) -> set[str]:
    """The names of the triggers on the tables of memories that this kind of database must have."""
    operations = ("update", "delete", "replace" if vendor == "sqlite" else "truncate")
    tables = (f"memories_{name}" for name in ("episode", "fact", "playbook", "catalogentry", "item"))
    return {f"{table}_{operation}_in_scope" for table in tables for operation in operations}


class OwnedQuerySet(models.QuerySet[Row, Row]):
    """A queryset that must name whose rows it reads.

    Evaluation raises ReadWithoutScope unless `of`, `visible_to`, `of_owner`, `in_place` or `unscoped` was called first.
    Changing rows of a guarded model outside a write scope raises WriteOutsideScope. Related managers of a loaded row
    (`session.messages`) inherit that row's scope.
    """

    _is_scoped = False

    def of(self, principal: Principal) -> Self:
        """The principal's own rows (user and task scope)."""
        return self.of_owner(principal.tenant_id, principal.user_id)

    def of_owner(self, tenant_id: UUID | None, user_id: UUID | None) -> Self:
        """The rows of one owner: a member, a tenant's shared rows (no user), or the global rows (neither)."""
        return self._scoped().filter(tenant_id=tenant_id, user_id=user_id)

    def in_place(self, columns: Mapping[str, Any]) -> Self:
        """The rows of exactly one owner, scope and task (`services.write.owner_columns`)."""
        if _PLACE.isdisjoint(columns):
            raise ReadWithoutScope("Columns that name a place say whose it is: tenant, user or scope.")
        return self._scoped().filter(**columns)

    def unscoped(self, reason: str) -> Self:
        """The rows of all owners, for a stated `reason`. A check counts the reasons in the product."""
        if not reason:
            raise ValueError("Say why rows of all owners are read.")
        return self._scoped()

    def _scoped(self) -> Self:
        rows: Self = self._chain()  # type: ignore[attr-defined]  # the stubs leave hooks out
        rows._is_scoped = True
        return rows

    def require_scope(self) -> None:
        """Raise ReadWithoutScope unless this query names whose rows it reads."""
        hints: dict[str, Any] = self._hints  # type: ignore[attr-defined]  # the stubs leave hooks out
        if not (self._is_scoped or "instance" in hints or self.query.is_empty()):
            raise ReadWithoutScope(
                f"Name whose rows of {self.model._meta.label} are read: of(principal), visible_to(principal),"
                ' or unscoped("reason").'
            )

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]  # the stubs leave hooks out
        clone._is_scoped = self._is_scoped
        return clone

    def _fetch_all(self) -> None:
        if self._result_cache is None:
            self.require_scope()
        super()._fetch_all()

    def iterator(self, *args: Any, **options: Any) -> Iterator[Row]:
        """Iterate the rows. Raises ReadWithoutScope."""
        self.require_scope()
        return super().iterator(*args, **options)

    def count(self) -> int:
        """Count the rows. Raises ReadWithoutScope."""
        self.require_scope()
        return super().count()

    def exists(self) -> bool:
        """Whether a row matches. Raises ReadWithoutScope."""
        self.require_scope()
        return super().exists()

    def aggregate(self, *args: Any, **expressions: Any) -> dict[str, Any]:
        """Aggregate the rows. Raises ReadWithoutScope."""
        self.require_scope()
        return super().aggregate(*args, **expressions)

    def update(self, **changes: Any) -> int:
        """Update the rows; only derived columns may change outside a write scope."""
        self.require_scope()
        if not changes.keys() <= DERIVED_COLUMNS:
            self._require_write_scope()
        return super().update(**changes)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows, only inside a write scope."""
        self.require_scope()
        self._require_write_scope()
        return super().delete()

    def bulk_create(self, objs: Iterable[Row], *args: Any, **options: Any) -> list[Row]:
        """Insert the rows, only inside the write scope of their owner."""
        rows = list(objs)
        self._require_write_scope(rows)
        return super().bulk_create(rows, *args, **options)

    def bulk_update(self, objs: Iterable[Row], fields: Iterable[str], *args: Any, **options: Any) -> int:
        """Update loaded rows; only derived columns may change outside a write scope. No read scope is needed."""
        rows, names = list(objs), list(fields)
        if not set(names) <= DERIVED_COLUMNS:
            self._require_write_scope(rows)
        return super(OwnedQuerySet, self._scoped()).bulk_update(rows, names, *args, **options)

    def _require_write_scope(self, rows: Iterable[Row] = ()) -> None:
        if issubclass(self.model, GuardedRow):
            require_write_scope(self.model, rows)


class GuardedRow(models.Model):
    """A row that is saved and deleted only inside a write scope."""

    class Meta:
        abstract = True

    def save_base(self, *args: Any, **options: Any) -> None:
        """Save the row; only derived columns may change outside a write scope."""
        fields: Collection[str] | None = options.get("update_fields")
        if not fields or not set(fields) <= DERIVED_COLUMNS:
            require_write_scope(type(self), [self])
        super().save_base(*args, **options)

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete the row, only inside a write scope."""
        require_write_scope(type(self), [self])
        return super().delete(*args, **options)
