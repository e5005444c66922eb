"""A member's feedback on an answer: thumbs up or down with an optional note, changed and withdrawn at will.

The audit log keeps the verdict and the place of the turn, never the note. An erasure of the turn, of its conversation
or of the member deletes the feedback; an erasure of a memory that the note repeats empties the note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from memories.constants import MAX_NOTE_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import Feedback, FeedbackVerdict, MessageState
from memories.selectors.sessions import find_turn
from memories.services.cases import open_complaint
from memories.services.screening import Screen
from memories.services.write import Write, require_person, write
from tenants.principal import Principal, Right


def give_feedback(principal: Principal, *, session_id: UUID, turn: int, verdict: str, note: str = "") -> Feedback:
    """Store or change the member's verdict (`up` or `down`) and note on the answer of a turn.

    A thumbs down opens a case for support. Giving the same feedback again writes nothing. Raises InvalidInput
    (`verdict`, `note`), NotFound, Forbidden (an agent gives no feedback), Conflict (the turn has no answer, or it was
    erased).
    """
    require_person(principal)
    if verdict not in FeedbackVerdict:
        raise InvalidInput("verdict", _("must be one of: %(names)s.") % {"names": ", ".join(FeedbackVerdict)})
    clean_text(note, field="note", limit=MAX_NOTE_CHARACTERS, required=False)
    said = Screen(principal).said(note.strip())
    wanted = {"verdict": verdict, "note": said.text[:MAX_NOTE_CHARACTERS]}
    with write(principal) as w:
        state = find_turn(principal, session_id, turn).answer_state
        if state is None or state is MessageState.REDACTED:
            raise Conflict(_("This turn has no answer to give feedback on."))
        row = _stored(principal, session_id, [turn]).get(turn)
        if row is not None and all(getattr(row, name) == value for name, value in wanted.items()):
            return row
        action = "feedback.changed" if row else "feedback.given"
        row = row or Feedback(
            tenant_id=principal.tenant_id, user_id=principal.user_id, session_id=session_id, turn=turn
        )
        for name, value in wanted.items():
            setattr(row, name, value)
        row.save()
        _audit(w, action, row)
        if row.verdict == FeedbackVerdict.DOWN:
            open_complaint(w, session_id=session_id, turn=turn)
        return row


def withdraw_feedback(principal: Principal, *, session_id: UUID, turn: int) -> bool:
    """Delete the member's feedback on a turn; False if there was none. Raises NotFound, Forbidden."""
    require_person(principal)
    with write(principal) as w:
        find_turn(principal, session_id, turn)
        row = _stored(principal, session_id, [turn]).get(turn)
        if row is None:
            return False
        _audit(w, "feedback.withdrawn", row)
        row.delete()
        return True


def feedback_on(principal: Principal, session_id: UUID, turns: Iterable[int]) -> Mapping[int, Feedback]:
    """The member's feedback by turn of one session; one query."""
    principal.require(Right.READ)
    return _stored(principal, session_id, turns)


def _stored(principal: Principal, session_id: UUID, turns: Iterable[int]) -> dict[int, Feedback]:
    rows = Feedback.objects.of(principal).filter(session=session_id, turn__in=list(turns))
    return {row.turn: row for row in rows}


def _audit(w: Write, action: str, row: Feedback) -> None:
    after = {"session_id": str(row.session_id), "turn": row.turn, "verdict": row.verdict}
    w.audit(action, target_kind="feedback", target_id=row.pk, after=after)
