"""What the words of stored memories hold that would not be stored today: values that must not be, and junk.

Invariant: nothing of the words leaves this module; what is found is named by its kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

from django.db.models import Q

from memories.consolidation import contradiction
from memories.hygiene import junk, sensitivity
from memories.hygiene.junk import junk_in, junk_in_playbook, reason_of
from memories.hygiene.sensitivity.detecting import scan_named
from memories.hygiene.sensitivity.findings import judged
from memories.models import CHAINED_MODELS, Fact, Playbook
from memories.services.screening import names_of
from memories.types import Handling, Kind, SensitiveKind


@dataclass(frozen=True, slots=True)
class Found:
    """Why a memory should go: `name` for machines, `reason` for people; `sensitive`, or junk."""

    name: str
    reason: str
    sensitive: bool


def found_in(
    kind: Kind, ids: Sequence[UUID], *, since: datetime | None, handling: Mapping[SensitiveKind, Handling]
) -> dict[UUID, Found]:
    """What is wrong with those of the memories that were written `since` then (None: ever)."""
    written = Q(updated_at__gte=since) if since else Q()
    columns = (
        ("key", "category", "text") if kind is Kind.SEMANTIC else ("title", "trigger", "text", "steps", "category")
    )
    rows = CHAINED_MODELS[kind].objects.filter(written, pk__in=ids).only("id", *columns)
    wrong = {row.pk: _sensitive_in(row, handling) or _junk_in(row) for row in rows.iterator(chunk_size=len(ids) or 1)}
    return {pk: found for pk, found in wrong.items() if found is not None}


@cache
def rules() -> str:
    """A digest of the rules in force, those for contradictions among them: what was read by others is read again."""
    folders = [Path(folder) for module in (sensitivity, contradiction) for folder in module.__path__]
    digest = hashlib.sha256()
    for path in (Path(junk.__file__), *(path for folder in folders for path in sorted(folder.glob("*.py")))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sensitive_in(row: Fact | Playbook, handling: Mapping[SensitiveKind, Handling]) -> Found | None:
    fields = _fields(row)
    found = ((text, scan_named(text, names_of(name, fields))) for name, text in fields.items())
    kinds = {each.kind for text, findings in found for each in judged(text, findings, handling).blocked}
    if not kinds:
        return None
    names = sorted(kind.value for kind in kinds)
    told = ", ".join(name.replace("_", " ") for name in names)
    return Found(",".join(names), f"It holds what is not stored: {told}.", sensitive=True)


def _junk_in(row: Fact | Playbook) -> Found | None:
    if isinstance(row, Fact):
        kind = junk_in(row.text, slot=bool(row.key))
    else:
        kind = junk_in_playbook(row.title, row.trigger, row.text, row.steps)
    return Found(kind.value, f"It is no memory: {reason_of(kind)}.", sensitive=False) if kind else None


def _fields(row: Fact | Playbook) -> dict[str, str]:
    """The words of a memory, as they were named when it was written."""
    if isinstance(row, Fact):
        return {"text": row.text, "key": row.key, "category": row.category}
    steps = {f"steps.{place}": step for place, step in enumerate(row.steps)}
    return {"title": row.title, "trigger": row.trigger, "text": row.text, "category": row.category} | steps
