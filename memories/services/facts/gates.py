"""The gates of a write: they refuse junk and mere repeats of a recall, and find an equal statement to merge into.

A machine may not store text without a statement, or a memory that was recalled for its turn. A person's text is refused
only if nobody writes it by hand (`hygiene/junk.py`, called by the drafts).

Texts that a rule set considers equal share a digest, the column `likeness`. Without a rule set only equal words match,
by their hash. The caller holds the owner's lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.attributes.metadata import joined_metadata
from memories.consolidation.planner import repeats
from memories.consolidation.rules import content_words, denies, junk, junk_in_playbook, likeness, own_words
from memories.errors import Conflict, InvalidInput
from memories.hygiene.ageing import Dates
from memories.hygiene.junk import reason_of
from memories.hygiene.text import content_hash
from memories.models import Episode, Fact, Mention, Message, Playbook, Relation
from memories.models.base import MemoryRow
from memories.services.facts.closing import snapshot
from memories.services.facts.drafts import FactDraft, PlaybookDraft
from memories.services.retention.dates import given_dates, set_dates, to_come
from memories.services.screening import joined
from memories.services.write import Write
from memories.types import Source, Status
from memoryhub.db.statements import in_statements
from tenants.principal import ActorKind, Principal

Row = TypeVar("Row", bound=MemoryRow)
# Sources that no person stated: a model or a rule inferred the fact.
MACHINE_MADE = frozenset((Source.TASK_OUTCOME, Source.AGENT_INFERRED, Source.PATTERN))

# A fact that shares this part of its words with a recalled fact counts as a rewording of it.
REWORDED_SHARE = 0.75


def refuse_junk_fact(principal: Principal, draft: FactDraft) -> None:
    """Raise InvalidInput if a machine stores a text that states nothing."""
    if principal.actor_kind is not ActorKind.AGENT and draft.source not in MACHINE_MADE:
        return
    if found := junk(draft.text, slot=bool(draft.key)):
        raise InvalidInput("text", _("is not remembered: %(reason_of)s.") % {"reason_of": _(reason_of(found))})


def refuse_junk_playbook(principal: Principal, draft: PlaybookDraft) -> None:
    """Raise InvalidInput if the agent stores a playbook that contains no procedure."""
    if principal.actor_kind is not ActorKind.AGENT:
        return
    if found := junk_in_playbook(draft.title, draft.trigger, draft.text, draft.steps):
        raise InvalidInput("steps", _("are not remembered: %(reason_of)s.") % {"reason_of": _(reason_of(found))})


def refuse_repeat(principal: Principal, known: Fact, support: Sequence[Episode]) -> None:
    """Raise Conflict if the agent only repeats `known`, which was recalled for it, and the user does not state it.

    A repeat is no confirmation, so it must not raise the fact's confidence or its `last_verified_at`. The recalls of
    the turns of `support` and of the turns before them count, as in a consolidation.
    """
    if _only_repeats(principal, known.text, support) and _recalled_to(principal, support).filter(memory_id=known.pk):
        raise Conflict(
            _("This memory was recalled for this turn and is stored already; repeating it confirms nothing.")
        )


def refuse_reworded(principal: Principal, text: str, support: Sequence[Episode]) -> None:
    """Raise Conflict if the agent rewords a fact that was recalled for it, and the user does not state it.

    Otherwise an agent that rewords a memory in every turn would create more and more facts.
    """
    if not _only_repeats(principal, text, support):
        return
    recalled = _recalled_to(principal, support).values_list("memory_id", flat=True)
    known = Fact.objects.of(principal).current().filter(pk__in=set(recalled)).values_list("text", flat=True)
    if any(_rewords(text, each) for each in known):
        raise Conflict(_("This memory was recalled for this turn in other words and is stored already."))


def _rewords(text: str, known: str) -> bool:
    """Whether most words of `text` are in `known`, and both or neither contain a denial."""
    new, old = content_words(text), content_words(known)
    return denies(text) is denies(known) and len(new & old) >= REWORDED_SHARE * len(new)


def _only_repeats(principal: Principal, text: str, support: Sequence[Episode]) -> bool:
    """Whether the agent says it in a turn in which the user does not."""
    if principal.actor_kind is not ActorKind.AGENT or not support:
        return False
    return all(repeats(text, own=own_words(episode.text), quote="") for episode in support)


def _recalled_to(principal: Principal, support: Sequence[Episode]) -> QuerySet[Mention]:
    """The memories recalled for the turns of `support` and for the turns before them."""
    said = Message.objects.of(principal).filter(pk__in=[episode.message_id for episode in support])
    turns = Q(pk__in=[])
    for session_id, turn in said.values_list("session_id", "turn"):
        turns |= Q(message__session_id=session_id, message__turn__in=(turn, turn - 1))
    return Mention.objects.of(principal).filter(turns, relation=Relation.RECALLED)


Name = TypeVar("Name", bound=Hashable)
Gate = tuple[str, str, str]


def meeting_no_gate(principal: Principal, facts: Mapping[Name, tuple[str, str, str]]) -> frozenset[Name]:
    """The names of facts (task, key, text) whose key and text are unique among these and the owner's current facts."""
    gates: dict[Name, list[Gate]] = {
        name: _gates(task, key=key, content_hash=content_hash(text), likeness=likeness(text))
        for name, (task, key, text) in facts.items()
    }
    met = Counter(chain.from_iterable([*gates.values(), *_stored_gates(principal, gates.values())]))
    return frozenset(name for name, own in gates.items() if all(met[gate] == 1 for gate in own))


def _stored_gates(principal: Principal, sought: Iterable[Sequence[Gate]]) -> Iterator[list[Gate]]:
    values: dict[str, set[str]] = {}
    for __, gate, value in chain.from_iterable(sought):
        values.setdefault(gate, set()).add(value)
    rows = Fact.objects.of(principal).current()
    for gate, wanted in values.items():
        for some in in_statements(sorted(wanted)):
            found = rows.filter(**{f"{gate}__in": some}).order_by().values_list("task", gate)
            yield from (_gates(task or "", **{gate: value}) for task, value in found)


def _gates(task: str, **values: str) -> list[Gate]:
    return [(task, gate, value) for gate, value in values.items() if value]


# The reason of a merge for which the caller gave none.
IN_OTHER_WORDS = "says the same in other words"


def alike_fact(known: Sequence[Fact], text: str, key: str, *, not_ids: Collection[UUID] = ()) -> Fact | None:
    """The equivalent fact among `known`, the one believed longest if several; None if there is none.

    `known` are current facts of one owner, scope and task. Facts with different keys are never equivalent. `not_ids`
    are the facts that the new one replaces.
    """
    digest = likeness(text)
    alike = [
        row
        for row in known
        if digest and row.likeness == digest and row.pk not in not_ids and (not key or row.key in ("", key))
    ]
    return min(alike, key=lambda row: (row.learned_at, row.pk), default=None)


def alike_playbooks(
    columns: Mapping[str, object], parts: Sequence[str], *, not_ids: Collection[UUID] = ()
) -> Iterable[Playbook]:
    """The current playbooks in this owner, scope and task whose title, trigger, text and steps are all equivalent.

    `parts` are the texts of the new playbook, in this order. The one believed longest comes first.
    """
    digest = likeness(*parts)
    rows = Playbook.objects.in_place(columns).filter(likeness=digest).current().exclude(pk__in=not_ids)
    return rows.order_by("learned_at", "pk") if digest else ()


def merge_fact(w: Write, fact: Fact, draft: FactDraft, support: Sequence[Episode]) -> None:
    """Merge an equal statement into `fact`, which keeps its text and `learned_at`."""
    before = snapshot(fact)
    rules = w.rules(fact.scope)
    given = to_come(given_dates(fact, rules), now=timezone.now())
    fact.status, fact.staleness = Status.ACTIVE, 0.0
    fact.confidence = max(fact.confidence, draft.certainty)
    fact.last_verified_at = max(draft.learned_at, fact.last_verified_at or draft.learned_at)
    if draft.key and not fact.key:
        fact.key, fact.embedding = draft.key, None  # the key is part of what is encoded
    fact.category = fact.category or draft.category
    fact.pinned = fact.pinned or draft.pinned
    fact.metadata = joined_metadata(fact.metadata, draft.metadata)
    fact.sensitivity = joined(fact.sensitivity, draft.sensitivity) if draft.metadata else fact.sensitivity
    fact.valid_from, fact.valid_to = _joint_validity(fact, draft)
    set_dates(
        fact,
        rules,
        at=max(draft.dated_from or draft.learned_at, fact.learned_at),
        given=Dates(draft.review_after or given.review_after, draft.expires_at or given.expires_at),
    )
    fact.version += 1
    fact.save()
    if support:
        fact.supporting_episodes.add(*support)
    # The event names episodes instead of their text, because the log of a surviving fact must not keep a forgotten
    # text.
    said_in = {"told_in": [str(episode.pk) for episode in support]}
    w.audit(".merged", fact, reason=draft.reason, before=before, after=snapshot(fact) | said_in)
    w.index(fact)


def same_app(w: Write, app: str, rows: Iterable[Row]) -> list[Row]:
    """Those of `rows` into which a statement of `app` may merge: all, or those of this app if apps are kept apart."""
    found = list(rows)
    if all(row.app == app for row in found) or not (w.principal.only_app or w.policy.apps_apart):
        return found
    return [row for row in found if row.app == app]


def _joint_validity(fact: Fact, draft: FactDraft) -> tuple[datetime | None, datetime | None]:
    """The validity of a merged fact: that of the statement learned later, if consistent; else the fact's own."""
    kept = (fact.valid_from or draft.valid_from, fact.valid_to)
    if draft.learned_at < max(fact.learned_at, fact.last_verified_at or fact.learned_at):
        return kept
    newer = (draft.valid_from or fact.valid_from, draft.valid_to or fact.valid_to)
    begins, ends = newer
    return newer if begins is None or ends is None or begins <= ends else kept
