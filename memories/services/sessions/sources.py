"""The sources of an answer: records which of a turn's memories it was made from, and counts their uses.

`used` stays null where nobody can tell: the memory is gone, the turn changed it, its words are all in the question, or
the answer is incomplete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Greatest

from memories.models import CatalogEntry, Episode, Fact, Mention, Message, MessageRole, MessageState, Playbook, Relation
from memories.recall.made_from import made_from
from memories.selectors.memories import memories_by_id
from memories.types import Kind
from memoryhub.db.compiled_query import Prepared
from tenants.principal import Principal, Right

_GIVEN = (Relation.RECALLED, Relation.SHOWN)


def can_judge(principal: Principal, answer: Message) -> bool:
    """Whether use is recorded for this answer: it is complete and the principal may read."""
    return answer.state == MessageState.COMPLETE and Right.READ in principal.rights


def judge_use(
    principal: Principal,
    mentions: Iterable[Mention],
    texts: Mapping[UUID, str],
    *,
    question: str,
    answer: str,
    sources: Collection[UUID] | None,
) -> None:
    """Set `used` on the mentions of memories that the turn was given, without saving them.

    `sources` are the memories that the answer names as its own sources. Without them the words decide; `texts` holds
    some of the memories, and the others are read.
    """
    mentions = list(mentions)
    changed = {mention.memory_id for mention in mentions if mention.relation not in _GIVEN}
    given = [each for each in mentions if each.relation in _GIVEN and each.memory_id not in changed]
    if sources is None:
        texts = {**texts, **_texts(principal, [each for each in given if each.memory_id not in texts])}
        known = {each.memory_id: texts[each.memory_id] for each in given if each.memory_id in texts}
        verdicts = made_from(answer, question, known)
    else:
        verdicts = {each.memory_id: each.memory_id in sources for each in given}
    for mention in given:
        mention.used = verdicts.get(mention.memory_id)


def count_uses(principal: Principal, mentions: Iterable[Mention], at: datetime) -> None:
    """Count one use of each fact of the principal that an answer was made from. The caller holds the owner's lock.

    Shared facts are not counted, because one member's questions must not change another member's results.
    """
    used = {each.memory_id for each in mentions if each.used and each.kind == Kind.SEMANTIC}
    if used:
        last_used_at = Greatest(Coalesce(F("last_used_at"), at), at)
        Fact.objects.of(principal).filter(pk__in=used).update(use_count=F("use_count") + 1, last_used_at=last_used_at)


def note_use(principal: Principal, answer: Message, sources: Collection[UUID] | None = None) -> list[Mention]:
    """Judge and save the use of a turn's stored mentions, under the owner's lock; return them."""
    if not can_judge(principal, answer):
        return []
    turn = (principal.tenant_id, principal.user_id, answer.session_id, answer.turn)
    mentions = _MENTIONS.all(*turn)
    given = [mention for mention in mentions if mention.relation in _GIVEN]
    if given:
        question = next((text for (text,) in _QUESTION.values(*turn)), "")
        judge_use(principal, mentions, {}, question=question, answer=answer.text, sources=sources)
        Mention.objects.bulk_update(given, ["used"])
    return mentions


def _mentions(tenant_id: UUID, user_id: UUID, session_id: UUID, turn: int) -> QuerySet[Mention]:
    rows = Mention.objects.of_owner(tenant_id, user_id)
    of_turn = rows.filter(message__tenant_id=tenant_id, message__user_id=user_id)
    of_turn = of_turn.filter(message__session_id=session_id, message__turn=turn, message__replaced_by=None)
    return of_turn.only("id", "relation", "kind", "memory_id")


def _question(tenant_id: UUID, user_id: UUID, session_id: UUID, turn: int) -> QuerySet[Message, Any]:
    rows = Message.objects.of_owner(tenant_id, user_id).filter(session_id=session_id, turn=turn)
    return rows.filter(role=MessageRole.USER).order_by("step").values_list("text")[:1]


_MENTIONS = Prepared(_mentions)
_QUESTION = Prepared(_question)


def _texts(principal: Principal, mentions: list[Mention]) -> dict[UUID, str]:
    """The texts of the mentioned memories that still exist."""
    ids: dict[Kind, list[UUID]] = defaultdict(list)
    for mention in mentions:
        ids[Kind(mention.kind)].append(mention.memory_id)
    return {memory_id: _text(row) for memory_id, row in memories_by_id(principal, ids).items()}


def _text(row: Episode | Fact | Playbook | CatalogEntry) -> str:
    """A memory's text as the model sees it, without the key."""
    if isinstance(row, Playbook):
        return ". ".join([row.title, row.trigger, row.text, *row.steps])
    return f"{row.title}. {row.text}" if isinstance(row, CatalogEntry) else row.text
