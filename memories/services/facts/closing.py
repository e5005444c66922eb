"""Closing: how a fact or a playbook ends. The one place that closes a row, whoever asked for it.

A closed row keeps its text; it gets a time, a reason in the audit log, and a successor if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

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
    """A row that was closed, and what an auditor saw of it before; None: it was stored as it is, with its end."""

    row: Supersedable
    before: dict[str, object] | None = None


def model_of(kind: Kind) -> type[Fact | Playbook]:
    """The model of a kind that can be superseded. Raises Conflict for the others."""
    if kind is Kind.SEMANTIC:
        return Fact
    if kind is Kind.PROCEDURAL:
        return Playbook
    raise Conflict("Only facts and playbooks can be superseded; an episode is what was said and stays as it is.")


def own_row(w: Write, kind: Kind, memory_id: UUID, *, shared: bool = False) -> Supersedable:
    """The owner's row, whatever its state (`shared`: or a shared one that the principal may change).

    Raises NotFound if it is unknown or somebody else's, Conflict for a kind that is never superseded.
    """
    return own_rows(w, kind, [memory_id], shared=shared)[0]


def current_rows(w: Write, kind: Kind, ids: Sequence[UUID], *, shared: bool = False) -> list[Supersedable]:
    """The owner's rows `ids`, all of them current (`shared`: shared ones that the principal may change among them).

    Raises NotFound if one is unknown or somebody else's, Conflict if one has been superseded already.
    """
    rows = own_rows(w, kind, ids, shared=shared)
    if any(row.status not in CURRENT for row in rows):
        raise Conflict(
            f"This {'fact' if kind is Kind.SEMANTIC else 'playbook'} was replaced already; look at its history and"
            " correct the current one."
        )
    return rows


def own_rows(w: Write, kind: Kind, ids: Sequence[UUID], *, shared: bool = False) -> list[Supersedable]:
    """Rows to change; shared ones are read under the lock of their tenant, too. Raises NotFound."""
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
        raise NotFound("fact" if kind is Kind.SEMANTIC else "playbook")
    return [rows[pk] for pk in dict.fromkeys(ids)]


def require_place(rows: Iterable[Supersedable], scope: Scope, task: str) -> None:
    """Raise Conflict unless all `rows` are of this scope and task: no write reaches upward or sideways."""
    if any((row.scope, row.task or "") != (scope, task) for row in rows):
        raise Conflict("A memory is only replaced within its own scope and task; say there what is true instead.")


def close(
    rows: Iterable[Supersedable],
    *,
    at: datetime,
    valid_to: datetime,
    contradiction: Contradiction,
    successor_id: UUID | None = None,
) -> list[Ended]:
    """Mark `rows` superseded as of `at`, before their successor is stored, so that its key and wording are free.

    Natural: a fact's validity ends at `valid_to`, or where it had ended before. Harsh: it stays as it was claimed, for
    what never was true has no end; `retracted` says so. The caller passes the result to `record_ended`.
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
    """Link closed rows to their successor (None: retired), record their end, and withdraw the reviews about them."""
    for each in ended:
        row = each.row
        if successor is not None and row.superseded_by_id != successor.pk:
            row.superseded_by_id = successor.pk
            row.save(update_fields=["superseded_by", "updated_at"])
        now: dict[str, object] = snapshot(row)
        before, after = (now, {}) if each.before is None else (each.before, now)
        if successor is not None:  # only the id: its text is in its own events, so forgetting it erases it everywhere
            after["superseded_by"] = str(successor.pk)
        verb = ".superseded" if successor is not None else ".retired"
        w.audit(verb, row, reason=reason, before=before, after=after or None)
    # Rows that were read with the answer need no query where nothing is asked about them.
    withdraw(w, [each.row.pk for each in ended if getattr(each.row, "asked_about", True)])
    w.index(*(each.row for each in ended))


def snapshot(row: Supersedable) -> dict[str, object]:
    """What an auditor wants to see of a row, in plain values.

    A shared row shows no words: its own states keep those, and what somebody promoted to their tenant must not stay in
    the audit log of their memory once they had it forgotten there.
    """
    common: dict[str, object] = {"status": str(row.status), "learned_at": row.learned_at.isoformat()}
    if row.contradiction:
        common["contradiction"] = str(row.contradiction)
    if row.user_id is None:
        return common | {"scope": str(row.scope)}
    common["text"] = row.text
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
    """Whether two texts say the same to the hash gate."""
    return normalised(left) == normalised(right)


def change_rows(w: Write, rows: Sequence[Supersedable], changes: Mapping[str, Any]) -> dict[UUID, dict[str, Any]]:
    """Change columns of rows of one kind by one statement; return the new record of each, for its event."""
    model_of(rows[0].kind).objects.unscoped("rows by ids under the lock").filter(
        pk__in=[row.pk for row in rows]
    ).update(**changes, version=F("version") + 1, updated_at=timezone.now())
    for row in rows:
        row.version += 1
    w.index(*rows)
    return records_of(rows[0].kind, [row.pk for row in rows])
