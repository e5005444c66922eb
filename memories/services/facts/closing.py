"""Ends current facts and playbooks.

Corrections of past rows (`supersede.py`, `undo.py`), erasure and import change ended rows themselves.

A closed row keeps its text. It gets an end time, an audit event with the reason, and a successor if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, NotFound
from memories.hygiene.text import normalised
from memories.models import Fact, Playbook
from memories.models.base import MemoryQuerySet
from memories.selectors.history.rows import records_of
from memories.services.reviews.queue import is_asked_about, withdraw
from memories.services.write import Write, shared_scopes
from memories.types import CURRENT, Contradiction, Kind, Scope, Status

Supersedable = Fact | Playbook


@dataclass(frozen=True, slots=True)
class Ended:
    """A closed row and its audit snapshot from before; `before` None: the row was stored as already ended."""

    row: Supersedable
    before: dict[str, object] | None = None


def model_of(kind: Kind) -> type[Fact | Playbook]:
    """The model of a kind that can be superseded. Raises Conflict for other kinds."""
    if kind is Kind.SEMANTIC:
        return Fact
    if kind is Kind.PROCEDURAL:
        return Playbook
    raise Conflict(_("Only facts and playbooks can be superseded; an episode is what was said and stays as it is."))


def own_row(w: Write, kind: Kind, memory_id: UUID, *, shared: bool = False) -> Supersedable:
    """The owner's row in any state; with `shared`, also a shared row that the principal may change.

    Raises NotFound if it is unknown or another owner's, Conflict for a kind that is never superseded.
    """
    return own_rows(w, kind, [memory_id], shared=shared)[0]


def current_rows(
    w: Write, kind: Kind, ids: Sequence[UUID], *, shared: bool = False, field: str = ""
) -> list[Supersedable]:
    """The owner's current rows `ids`; with `shared`, also shared rows that the principal may change.

    Raises NotFound, which names `field`, if one is unknown or another owner's, Conflict if one is not current.
    """
    rows = own_rows(w, kind, ids, shared=shared, field=field)
    if any(row.status not in CURRENT for row in rows):
        raise Conflict(
            _("This %(value)s was replaced already; look at its history and correct the current one.")
            % {"value": "fact" if kind is Kind.SEMANTIC else "playbook"}
        )
    return rows


def own_rows(w: Write, kind: Kind, ids: Sequence[UUID], *, shared: bool = False, field: str = "") -> list[Supersedable]:
    """The rows to change, in the order of `ids`. Shared rows are read under their tenant's lock. Raises NotFound."""
    if not ids:
        return []
    principal = w.principal
    every: MemoryQuerySet[Any] = model_of(kind).objects.all()
    wanted = every.of(principal)
    scopes = shared_scopes(principal) if shared else ()
    if Scope.TENANT in scopes:
        wanted |= every.in_place({"scope": Scope.TENANT, "tenant_id": principal.tenant_id})
    if Scope.GLOBAL in scopes:
        wanted |= every.in_place({"scope": Scope.GLOBAL})
    wanted = wanted.filter(pk__in=ids).annotate(asked_about=is_asked_about(model_of(kind)))
    if scopes and wanted.filter(user=None).exists():
        w.lock_tenant()
    rows: dict[UUID, Supersedable] = {row.pk: row for row in wanted}
    if not rows.keys() >= set(ids):
        raise NotFound("fact" if kind is Kind.SEMANTIC else "playbook", field)
    return [rows[pk] for pk in dict.fromkeys(ids)]


def require_place(rows: Iterable[Supersedable], scope: Scope, task: str) -> None:
    """Raise Conflict unless all `rows` are in this scope and task."""
    if any((row.scope, row.task or "") != (scope, task) for row in rows):
        raise Conflict(_("A memory is only replaced within its own scope and task; say there what is true instead."))


def close(
    rows: Iterable[Supersedable],
    *,
    at: datetime,
    valid_to: datetime,
    contradiction: Contradiction,
    successor_id: UUID | None = None,
) -> list[Ended]:
    """Mark `rows` superseded as of `at`. Call it before storing their successor, to free the unique key and hash.

    Natural: a fact's validity ends at `valid_to`, or earlier if it had ended before. Harsh: the claimed validity stays
    and `retracted` is set, because a fact that never was true has no end. Pass the result to `record_ended`.
    """
    ended = []
    for row in rows:
        ended.append(Ended(row, snapshot(row)))
        row.status = Status.SUPERSEDED
        row.superseded_at = max(at, row.learned_at)
        row.superseded_by_id = successor_id
        row.contradiction = contradiction
        row.retracted = contradiction is Contradiction.HARSH
        row.version += 1
        fields = ["status", "superseded_at", "superseded_by", "contradiction", "retracted", "version", "updated_at"]
        if isinstance(row, Fact) and contradiction is Contradiction.NATURAL:
            ends = min(valid_to, row.valid_to) if row.valid_to else valid_to
            row.valid_to = max(ends, row.valid_from) if row.valid_from else ends
            fields.append("valid_to")
        row.save(update_fields=fields)
    return ended


def record_ended(w: Write, ended: Sequence[Ended], successor: Supersedable | None, *, reason: str = "") -> None:
    """Link closed rows to their successor (None: retired), audit their end, and withdraw the reviews about them."""
    for each in ended:
        row = each.row
        if successor is not None and row.superseded_by_id != successor.pk:
            row.superseded_by_id = successor.pk
            row.save(update_fields=["superseded_by", "updated_at"])
        now: dict[str, object] = snapshot(row)
        before, after = (now, {}) if each.before is None else (each.before, now)
        if successor is not None:  # only the id, because erasing the successor must erase its text everywhere
            after["superseded_by"] = str(successor.pk)
        verb = ".superseded" if successor is not None else ".retired"
        w.audit(verb, row, reason=reason, before=before, after=after or None)
    # Rows that were read with `asked_about` need no further query if no review names them.
    withdraw(w, [each.row.pk for each in ended if getattr(each.row, "asked_about", True)])
    w.index(*(each.row for each in ended))


def snapshot(row: Supersedable) -> dict[str, object]:
    """The audit snapshot of a row, in plain values.

    A shared row is recorded without its text. Otherwise the audit log of the member who promoted it would keep text
    that the tenant has erased.
    """
    common: dict[str, object] = {"status": str(row.status), "learned_at": row.learned_at.isoformat()}
    if row.contradiction:
        common["contradiction"] = str(row.contradiction)
    if row.user_id is None:
        return common | {"scope": str(row.scope)}
    common["text"] = row.text
    common |= {name: value for name in ("app", "metadata") if (value := getattr(row, name))}
    if isinstance(row, Fact):
        common |= {
            "key": row.key,
            "category": row.category,
            "confidence": row.confidence,
            "source": str(row.source),
            "valid_from": row.valid_from.isoformat() if row.valid_from else None,
            "valid_to": row.valid_to.isoformat() if row.valid_to else None,
        }
    else:
        common |= {"title": row.title, "trigger": row.trigger, "steps": list(row.steps)}
    return common


def same_wording(left: str, right: str) -> bool:
    """Whether two texts are equal to the hash gate."""
    return normalised(left) == normalised(right)


def change_rows(w: Write, rows: Sequence[Supersedable], changes: Mapping[str, Any]) -> dict[UUID, dict[str, Any]]:
    """Update columns of rows of one kind in one statement; return the new audit record of each by id."""
    model_of(rows[0].kind).objects.unscoped("rows by ids under the lock").filter(
        pk__in=[row.pk for row in rows]
    ).update(**changes, version=F("version") + 1, updated_at=timezone.now())
    for row in rows:
        row.version += 1
    w.index(*rows)
    return records_of(rows[0].kind, [row.pk for row in rows])
