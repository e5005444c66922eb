"""Turns that are said again: an edited message, another answer, and the undo of what a turn saved.

Nothing is deleted. Replaced messages stay stored with `replaced_by`, for staff and exports; the member's page, prompts
and learning leave them out. Memories that only replaced words supported are undone, or marked as never true.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from memories.errors import Conflict, NotFound
from memories.models import Episode, Message, MessageRole, MessageState
from memories.selectors.sessions import find_turn
from memories.services.erasure.reach import supported_by_nothing_else
from memories.services.facts.closing import Supersedable, own_row
from memories.services.facts.undo import retract, undo
from memories.services.sessions.turns import Turn, begin_turn, clear_answer, stored_turn
from memories.services.write import Write, require_person, write
from memories.types import CURRENT, Kind, Scope, Status, WriteOutcome
from tenants.principal import Principal

# The reason of what the member undid in the chat.
TAKEN_BACK = "taken back by the owner"


def edit_turn(principal: Principal, *, session_id: UUID, turn: int, text: str, turn_id: UUID | None = None) -> Turn:
    """Begin a new turn with `text` in the place of `turn` and all later ones, and take back what those saved.

    A repeated `turn_id` changes nothing again. Raises NotFound, InvalidInput, Forbidden, Conflict (the turn was erased,
    or the same `turn_id` came with another text).
    """
    require_person(principal)
    with write(principal) as w:
        begun = begin_turn(principal, text=text, session_id=session_id, turn_id=turn_id)
        if begun.created:
            _require_said(principal, session_id, turn)
            later = Message.objects.of(principal).filter(
                session=session_id, turn__gte=turn, turn__lt=begun.turn, replaced_by=None
            )
            replaced = list(later.order_by("turn").values_list("turn", flat=True).distinct())
            episodes = list(
                Episode.objects.of(principal).current().filter(message__in=later.filter(step=0)).order_by("ordinal")
            )
            take_back(w, episodes)
            for row in episodes:
                row.status = Status.SUPERSEDED
                row.version += 1
                row.save(update_fields=["status", "version", "updated_at"])
                w.audit(".superseded", row, reason=TAKEN_BACK)
                w.index(row)
            later.update(replaced_by=begun.turn)
            _audit(w, "session.edited", session_id, turn=begun.turn, replaced=replaced)
        return begun


def answer_again(principal: Principal, *, session_id: UUID, turn: int) -> Turn:
    """Make room for another answer of the last turn. A complete answer stays stored, without being shown.

    Raises NotFound, Forbidden, Conflict (a later turn builds on the answer, or the turn was erased).
    """
    require_person(principal)
    with write(principal) as w:
        question = _require_said(principal, session_id, turn)
        messages = Message.objects.of(principal).filter(session=session_id, replaced_by=None)
        if messages.filter(turn__gt=turn).exists():
            raise Conflict(_("Only the last message can be answered again; edit an earlier one instead."))
        answered = find_turn(principal, session_id, turn).answer_state is MessageState.COMPLETE
        if not answered:
            return clear_answer(principal, session_id=session_id, turn=turn)
        messages.filter(turn=turn, step__gt=0).update(replaced_by=turn)
        _audit(w, "session.answered_again", session_id, turn=turn)
        return stored_turn(w, question)


def undo_saved(principal: Principal, *, session_id: UUID, turn: int) -> int:
    """Take back what the words of one turn saved; return how many memories. Raises NotFound, Forbidden, Conflict."""
    require_person(principal)
    with write(principal) as w:
        question = _require_said(principal, session_id, turn)
        count = take_back(w, list(Episode.objects.of(principal).filter(message=question)))
        if not count:
            raise Conflict(_("There is nothing left to undo here."))
        return count


def take_back_memory(principal: Principal, *, kind: Kind, memory_id: UUID) -> WriteOutcome:
    """Take back one memory that a turn saved, or restore one that it ended; see `undo`.

    Raises NotFound, Forbidden, Conflict (it cannot be restored).
    """
    with write(principal) as w:
        return _taken_back(w, own_row(w, kind, memory_id))


def take_back(w: Write, episodes: Sequence[Episode]) -> int:
    """Undo the member's current memories that only `episodes` support; return how many.

    What one of them replaced is current again, unless its place was taken since.
    """
    principal, count = w.principal, 0
    for row in reversed(supported_by_nothing_else(principal, episodes)):
        if row.status not in CURRENT or row.scope != Scope.USER:
            continue
        _taken_back(w, row)
        count += 1
    return count


def _taken_back(w: Write, row: Supersedable) -> WriteOutcome:
    kind = Kind(row.kind)
    try:
        with w.savepoint():
            return undo(w.principal, kind=kind, memory_id=row.pk, reason=TAKEN_BACK)
    except Conflict:
        if row.status not in CURRENT:
            raise
        # It replaced nothing, or something else has taken the place of what it replaced.
        return retract(w.principal, kind=kind, memory_ids=[row.pk], reason=TAKEN_BACK)


def _require_said(principal: Principal, session_id: UUID, turn: int) -> Message:
    """The member's own message of a turn that was not replaced. Raises NotFound, Conflict."""
    rows = Message.objects.of(principal).select_related("session", "episode")
    question = rows.filter(session=session_id, turn=turn, step=0, role=MessageRole.USER, replaced_by=None).first()
    if question is None:
        raise NotFound("turn")
    if question.state == MessageState.REDACTED:
        raise Conflict(_("This message was erased; it cannot be sent again."))
    if not question.own:
        raise Conflict(_("This message is somebody else's; only your own can be sent again."))
    return question


def _audit(w: Write, action: str, session_id: UUID, **after: object) -> None:
    w.audit(action, target_kind="session", target_id=session_id, after=after)
