"""Records what a user said to a model elsewhere, and its answer, from requests that repeat the whole conversation.

Only the user's latest words are stored, under an id made of the conversation until then and of its turn. So a request
that repeats the last turn within REPEATED_WITHIN stores them once. Later, or after another turn, equal words are meant.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.utils import timezone

from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.models import Message, MessageRole
from memories.selectors.policies import policy_for
from memories.selectors.sessions import find_session
from memories.services.sessions.messages import Learn, MessageDraft, RecordedMessages, message_id, record_messages
from tenants.principal import Principal

REPEATED_WITHIN = timedelta(minutes=15)
_CUT = " […]"


def record_exchange(
    principal: Principal, *, session: str, conversation: str, said: str, name: str = "", answer: str = ""
) -> RecordedMessages | None:
    """Store the user's words, to be learned from, and the answer, cut to the longest message, in one transaction.

    `conversation` is a digest of all until and with these words; `said` is empty if they were stored before. None if
    there is nothing to store, or memory is paused. Raises InvalidInput, Forbidden.
    """
    if not policy_for(principal).learns:
        return None
    place = _place(principal, session, conversation)
    drafts = [MessageDraft(MessageRole.USER, said, name, external_id=f"{conversation}:{place}")] if said else []
    if answer.strip():
        if len(answer) > MAX_MESSAGE_CHARACTERS:
            answer = answer[: MAX_MESSAGE_CHARACTERS - len(_CUT)] + _CUT
        digest = hashlib.sha256(answer.encode(errors="surrogatepass")).hexdigest()
        drafts.append(MessageDraft(MessageRole.ASSISTANT, answer, external_id=f"{conversation}:{place}:{digest}"))
    return record_messages(principal, drafts, session=session, learn=Learn.BACKGROUND) if drafts else None


def _place(principal: Principal, session: str, conversation: str) -> int:
    """The turn of these words in their session: the last one, if they were said just now, or else the next."""
    row = find_session(principal, session)
    said = Message.objects.of(principal).filter(session=row, role=MessageRole.USER) if row else Message.objects.none()
    last = said.order_by("-turn").values_list("pk", "turn", "created_at").first()
    if row is None or last is None:
        return 1
    pk, turn, at = last
    is_same = pk == message_id(principal, row, f"{conversation}:{turn}") and timezone.now() - at < REPEATED_WITHIN
    return turn if is_same else turn + 1
