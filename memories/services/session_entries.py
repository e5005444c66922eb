"""Writing through: what enters the working memory of a session (L0) is an entry of the session (L1) at once.

Invariant: slots and entries change together, in one transaction under the owner's lock, or not at all; nothing is
noted of a turn that was erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import SLOT_CHARACTERS
from memories.errors import Conflict
from memories.hygiene.text import clean_text
from memories.models import EntryKind, Message, MessageState, Session, SessionEntry
from memories.services.ownership import owner_lock
from memories.services.screening import Screen
from memories.services.sessions import locked_session
from memories.slots import Noted, from_json, to_json
from memories.types import Importance
from memoryhub.statements import Prepared
from tenants.audit import record_event
from tenants.principal import Principal


class Writing:
    """A session that is being written to: set `slots`, and `enter` what goes into them."""

    def __init__(self, principal: Principal, session: Session, *, turn: int, at: datetime) -> None:
        self.session = session
        self.slots = from_json(session.working_memory)
        self.at = at
        self.turn = turn
        self._principal = principal
        places = _LAST_PLACE.values(session.pk)
        self._last: int = places[0][0] if places else 0

    def enter(self, kind: EntryKind, text: str, importance: Importance = Importance.NORMAL) -> Noted:
        """Add an entry; return it as it goes into a slot."""
        self._last += 1
        SessionEntry.objects.create(
            session=self.session,
            tenant_id=self._principal.tenant_id,
            user_id=self._principal.user_id,
            turn=self.turn,
            place=self._last,
            kind=kind,
            importance=importance,
            text=text,
            created_at=self.at,
        )
        return Noted(text, self._last, self.turn, importance)


@contextmanager
def writing(
    principal: Principal, session_id: UUID, *, turn: int, action: str, at: datetime | None = None
) -> Iterator[Writing]:
    """Write to a session, in one transaction with its audit event. Raises NotFound, Conflict, Forbidden."""
    with owner_lock(principal):
        session = locked_session(principal, session_id)
        if turn and _ERASED.any(session.pk, turn):
            raise Conflict("These words were erased meanwhile; nothing is noted of them.")
        work = Writing(principal, session, turn=turn, at=at or timezone.now())
        yield work
        session.working_memory = to_json(work.slots)
        session.save(update_fields=["working_memory", "expires_at", "expired_at", "ended_at"])
        record_event(principal, action=action, target_kind="session", target_id=session.pk)


def _last_place(session_id: UUID) -> QuerySet[SessionEntry, Any]:
    return SessionEntry.objects.filter(session_id=session_id).order_by("-place").values_list("place")[:1]


def _erased(session_id: UUID, turn: int) -> QuerySet[Message, Any]:
    erased = Message.objects.filter(session_id=session_id, turn=turn, state=MessageState.REDACTED)
    return erased.order_by().values_list("pk")[:1]


_LAST_PLACE = Prepared(_last_place)
_ERASED = Prepared(_erased)


def checked_words(principal: Principal, text: str, *, field: str, required: bool = True) -> str:
    """Words for a slot, without the spaces around them; a value that is not stored is masked. Raises InvalidInput."""
    clean_text(text, field=field, limit=SLOT_CHARACTERS, required=required)
    return Screen(principal).said(text).text.strip()
