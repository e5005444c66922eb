"""Taking erased memories out of the records of consolidation.

Invariant: a run that read an erased episode, read or decided on an erased memory, or repeats it, keeps ids, verdicts
and counts; of what the extractor answered it keeps nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from memories.models import ConsolidationRun, Episode
from memories.models.base import MemoryRow
from memories.services.erasing.wording import strings_in, wording_of
from tenants.principal import Principal

# What stands in place of an extractor's answer.
ERASED_OUTPUT = {"erased": True}


def empty_runs(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Empty the outputs of the runs that `rows` had a part in; return how many."""
    ids = {str(row.pk) for row in rows}
    ordinals = {row.ordinal for row in rows if isinstance(row, Episode)}
    runs = ConsolidationRun.objects.of(principal).exclude(output={}).exclude(output=ERASED_OUTPUT)
    wording = wording_of(rows)
    columns = runs.values_list("pk", "first_ordinal", "last_ordinal", "input", "decisions", "output")
    found = [
        pk
        for pk, first, last, read, decided, output in columns.iterator()
        if any(first <= ordinal <= last for ordinal in ordinals)
        or _names(ids, json.dumps([read, decided]))
        or wording.repeated_in(" ".join(strings_in(output)))  # a failed run names no fact, and may quote one
    ]
    return ConsolidationRun.objects.of(principal).filter(pk__in=found).update(output=ERASED_OUTPUT)


def _names(ids: set[str], record: str) -> bool:
    return any(each in record for each in ids)
