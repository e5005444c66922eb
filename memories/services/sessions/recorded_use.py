"""Noting which of the recalled memories an answer made use of.

`used` stays null where nobody can tell: the memory is gone, it holds no word that the question did not, or the turn has
no whole answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memories.models import CatalogEntry, Episode, Fact, Mention, Message, MessageRole, MessageState, Playbook, Relation
from memories.recall.tuning import takes_up
from memories.selectors.memories import memories_by_id
from memories.types import Kind
from memoryhub.db.compiled_query import Prepared
from tenants.principal import Principal, Right

_ACTED_ON = (Relation.CONFIRMED, Relation.REPLACED, Relation.FORGOT)


def can_judge(principal: Principal, answer: Message) -> bool:
    """Whether use is noted for this answer: it is whole, and the principal may read."""
    return answer.state == MessageState.COMPLETE and Right.READ in principal.rights


def judge_use(mentions: Iterable[Mention], texts: Mapping[UUID, str], *, question: str, answer: str) -> None:
    """Set `used` of the recalled mentions of a turn; nothing is stored.

    A memory was used if the answer takes it up, or the turn confirmed, replaced or erased it. Without its text among
    `texts` nobody can tell.
    """
    mentions = list(mentions)
    acted_on = {mention.memory_id for mention in mentions if mention.relation in _ACTED_ON}
    for mention in mentions:
        if mention.relation == Relation.RECALLED:
            text = texts.get(mention.memory_id)
            mention.used = mention.memory_id in acted_on or (None if text is None else takes_up(answer, question, text))


def note_use(principal: Principal, answer: Message, *, wordless: bool = False) -> None:
    """Judge the stored mentions of a turn, under the owner's lock. A `wordless` answer takes up nothing."""
    if not can_judge(principal, answer):
        return
    turn = (principal.tenant_id, principal.user_id, answer.session_id, answer.turn)
    mentions = _MENTIONS.all(*turn)
    recalled = [mention for mention in mentions if mention.relation == Relation.RECALLED]
    if not recalled:
        return
    question = next((text for (text,) in _QUESTION.values(*turn)), "")
    judge_use(mentions, {} if wordless else _texts(principal, recalled), question=question, answer=answer.text)
    Mention.objects.bulk_update(recalled, ["used"])


def _mentions(tenant_id: UUID, user_id: UUID, session_id: UUID, turn: int) -> QuerySet[Mention]:
    rows = Mention.objects.of_owner(tenant_id, user_id)
    of_turn = rows.filter(message__tenant_id=tenant_id, message__user_id=user_id)
    of_turn = of_turn.filter(message__session_id=session_id, message__turn=turn)
    return of_turn.only("id", "relation", "kind", "memory_id")


def _question(tenant_id: UUID, user_id: UUID, session_id: UUID, turn: int) -> QuerySet[Message, Any]:
    rows = Message.objects.of_owner(tenant_id, user_id).filter(session_id=session_id, turn=turn)
    return rows.filter(role=MessageRole.USER).order_by("step").values_list("text")[:1]


_MENTIONS = Prepared(_mentions)
_QUESTION = Prepared(_question)


def _texts(principal: Principal, mentions: list[Mention]) -> dict[UUID, str]:
    """What those of the memories say that are still there."""
    ids: dict[Kind, list[UUID]] = defaultdict(list)
    for mention in mentions:
        ids[Kind(mention.kind)].append(mention.memory_id)
    return {memory_id: _text(row) for memory_id, row in memories_by_id(principal, ids).items()}


def _text(row: Episode | Fact | Playbook | CatalogEntry) -> str:
    """The memory as the model got it, without its key, which is nobody's words."""
    if isinstance(row, Playbook):
        return ". ".join([row.title, row.trigger, row.text, *row.steps])
    return f"{row.title}. {row.text}" if isinstance(row, CatalogEntry) else row.text
