"""The gate of likeness: which current memory says the same in other words, by the judgement of a rule set.

Wordings that a rule set calls the same share a digest, the column `likeness`, which an index finds. Without a rule set
nothing is alike but equal words, which the hash finds. The caller holds the owner's lock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from django.db.models import QuerySet

from memories.consolidation.rules import likeness
from memories.models import Fact, Playbook
from memoryhub.db.compiled_query import Prepared

# The reason of a merge for which the writer gave none.
IN_OTHER_WORDS = "says the same in other words"
# The columns that say whose a row is.
WHOSE = ("tenant_id", "user_id", "scope", "task")


def alike_fact(
    columns: Mapping[str, UUID | str | None], text: str, key: str, *, not_ids: Collection[UUID] = ()
) -> Fact | None:
    """The current fact of exactly this owner, scope and task that says the same, the longest believed first.

    Two facts with keys of their own fill two slots, whatever their words. `not_ids`: those that the new one replaces.
    """
    digest = likeness(text)
    whose = (columns[name] for name in WHOSE)
    return _ALIKE.first(*whose, digest, key or None, tuple(not_ids) or None) if digest else None


def _alike(
    tenant_id: UUID | None,
    user_id: UUID | None,
    scope: str,
    task: str | None,
    likeness: str,
    key: str | None,
    not_ids: Collection[UUID] | None,
) -> QuerySet[Fact]:
    columns = dict(zip(WHOSE, (tenant_id, user_id, scope, task), strict=True))
    rows = Fact.objects.filter(**columns, likeness=likeness).current()
    if not_ids is not None:
        rows = rows.exclude(pk__in=not_ids)
    if key is not None:
        rows = rows.filter(key__in=("", key))
    return rows.order_by("learned_at", "pk")[:1]


_ALIKE = Prepared(_alike)


def alike_playbook(
    columns: Mapping[str, object], parts: Sequence[str], *, not_ids: Collection[UUID] = ()
) -> Playbook | None:
    """The current playbook of this owner, scope and task whose title, trigger, text and steps each say the same.

    `parts` are those of the new one, in this order.
    """
    digest = likeness(*parts)
    rows = Playbook.objects.filter(**columns, likeness=digest).current().exclude(pk__in=not_ids)
    return rows.order_by("learned_at", "pk").first() if digest else None
