"""Sessions: open and rename them, write their entries, end their tasks, and expire them.

Slots (L0) and entries (L1) change together in one transaction under the owner's lock. Nothing is noted for an erased
turn. The end of a task proposes each entry as a lasting memory once (`proposed_at`), through the normal write path. A
session expires in its own transaction and keeps its transcript. Nothing expires under a legal hold.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_LEARNED, MAX_TITLE_CHARACTERS, SLOT_CHARACTERS, TEMPORARY_LIFETIME
from memories.errors import Conflict, InvalidInput, MemoriesError, NotFound
from memories.hygiene.text import clean_text
from memories.models import EntryKind, Episode, Message, MessageState, Session, SessionEntry
from memories.selectors.erasure import on_hold
from memories.selectors.policies import Policy
from memories.selectors.sessions import own_session
from memories.services.erasure.forget import forget_session
from memories.services.facts.remember import remember_fact
from memories.services.screening import Screen
from memories.services.write import Write, write
from memories.slots import Noted, Plan, Slots, from_json, to_json
from memories.types import Importance, Source, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared
from memoryhub.leases import fault_of
from tenants.models import Membership
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.selectors import has_active_member

# Fits one line of the session list.
TITLE_CHARACTERS = 60


def start_session(
    principal: Principal, *, title: str = "", session_id: UUID | None = None, created_at: datetime | None = None
) -> Session:
    """Open a session. A `session_id` that this owner already has returns the existing session unchanged."""
    clean_text(title, field="title", limit=MAX_TITLE_CHARACTERS, required=False)
    title = Screen(principal).said(title).text[:MAX_TITLE_CHARACTERS]
    with write(principal) as w:
        if session_id and (existing := Session.objects.of(principal).filter(pk=session_id).first()):
            return existing
        return create_session(w, title=title, session_id=session_id, created_at=created_at)


def create_session(
    w: Write,
    *,
    title: str,
    session_id: UUID | None = None,
    created_at: datetime | None = None,
    external_id: str = "",
    temporary: bool = False,
) -> Session:
    """Insert a session and its audit event. A `temporary` one has no title."""
    principal = w.principal
    started = created_at or timezone.now()
    session = Session(
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        title="" if temporary else title,
        external_id=external_id or None,
        temporary=temporary,
        created_at=started,
        last_turn_at=started,
    )
    session.expires_at = started + policy_in(w, session).session_lifetime
    if session_id:
        session.pk = session_id
    session.save(force_insert=True)
    w.audit("session.created", target_kind="session", target_id=session.pk)
    return session


def policy_in(w: Write, session: Session) -> Policy:
    """The policy in a session: a temporary chat neither learns nor recalls, and ends soon."""
    if not session.temporary:
        return w.policy
    return replace(w.policy, learns=False, recalls=False, session_lifetime=TEMPORARY_LIFETIME)


def rename_session(principal: Principal, *, session_id: UUID, title: str) -> Session:
    """Change a session's title. Raises InvalidInput, NotFound, Forbidden."""
    clean_text(title, field="title", limit=MAX_TITLE_CHARACTERS)
    title = Screen(principal).said(title).text[:MAX_TITLE_CHARACTERS]
    with write(principal) as w:
        session = own_session(principal, session_id)
        session.title = title.strip()
        session.save(update_fields=["title"])
        w.audit("session.renamed", target_kind="session", target_id=session.pk)
        return session


def title_from(text: str) -> str:
    """A title of about `TITLE_CHARACTERS` from the first words of a message, cut at a word boundary."""
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"


class Writing:
    """A session being written: set `slots`, and call `enter` for each new entry."""

    def __init__(self, w: Write, session: Session, *, turn: int, at: datetime) -> None:
        self.session = session
        self.slots = from_json(session.working_memory)
        self.at = at
        self.turn = turn
        self.w = w
        places = _LAST_PLACE.values(session.pk)
        self._last: int = places[0][0] if places else 0

    def enter(self, kind: EntryKind, text: str, importance: Importance = Importance.NORMAL) -> Noted:
        """Store an entry; return it as a slot value. Raises Conflict for a program while memory is paused."""
        self.w.require_learning()
        self._last += 1
        SessionEntry.objects.create(
            session=self.session,
            tenant_id=self.w.principal.tenant_id,
            user_id=self.w.principal.user_id,
            turn=self.turn,
            place=self._last,
            kind=kind,
            importance=importance,
            text=text,
            created_at=self.at,
        )
        return Noted(text, self._last, self.turn, importance)


@contextmanager
def writing(principal: Principal, session_id: UUID, *, turn: int, action: str) -> Iterator[Writing]:
    """Write to a session in one transaction with its audit event. Raises NotFound, Conflict, Forbidden."""
    with write(principal) as w:
        session = own_session(principal, session_id)
        if turn and _ERASED.any(session.pk, turn):
            raise Conflict(_("These words were erased meanwhile; nothing is noted of them."))
        work = Writing(w, session, turn=turn, at=timezone.now())
        yield work
        session.working_memory = to_json(work.slots)
        session.save(update_fields=["working_memory", "expires_at", "expired_at", "ended_at"])
        w.audit(action, target_kind="session", target_id=session.pk)


def _last_place(session_id: UUID) -> QuerySet[SessionEntry, Any]:
    return (
        SessionEntry.objects.unscoped("rows of a session under the lock")
        .filter(session_id=session_id)
        .order_by("-place")
        .values_list("place")[:1]
    )


def _erased(session_id: UUID, turn: int) -> QuerySet[Message, Any]:
    erased = Message.objects.unscoped("rows of a session under the lock").filter(
        session_id=session_id, turn=turn, state=MessageState.REDACTED
    )
    return erased.order_by().values_list("pk")[:1]


_LAST_PLACE = Prepared(_last_place)
_ERASED = Prepared(_erased)


def checked_words(principal: Principal, text: str, *, field: str, required: bool = True) -> str:
    """Validate a slot text, mask forbidden values, cut what the labels add, and strip it. Raises InvalidInput."""
    clean_text(text, field=field, limit=SLOT_CHARACTERS, required=required)
    return Screen(principal).said(text).text[:SLOT_CHARACTERS].strip()


log = logging.getLogger(__name__)

CATEGORY = "task"
# The latest decisions that a summary lists, and the most episodes that support a proposal.
_DECISIONS = 10
_SUPPORT = 20
_LASTING = (EntryKind.OBSERVATION, EntryKind.DECISION, EntryKind.CONSTRAINT)


@dataclass(frozen=True, slots=True)
class EndedSession:
    """The memories that the end of a task or session proposed, with the outcome of each write."""

    session_id: UUID
    ended_at: datetime
    goal: str
    proposed: tuple[WriteOutcome, ...]


def end_session(
    principal: Principal, *, session_id: UUID, outcome: str = "", learned: Sequence[str] = (), turn: int = 0
) -> EndedSession:
    """End the task of a session, or the session: propose its important entries and clear the working memory.

    `outcome` says how the task went, `learned` what to remember next time; both are optional. The entries stay until
    the session expires, and the session may continue. A repeated call proposes nothing twice. Raises InvalidInput,
    NotFound, Conflict, Forbidden.
    """
    outcome = checked_words(principal, outcome, field="outcome", required=False)
    if len(learned) > MAX_LEARNED:
        raise InvalidInput(
            "learned", _("are too many: at most %(max_learned)s are allowed.") % {"max_learned": MAX_LEARNED}
        )
    lessons = [checked_words(principal, text, field="learned") for text in learned]
    with writing(principal, session_id, turn=turn, action="session.ended") as work:
        goal = work.slots.goal.text if work.slots.goal else ""
        if outcome:
            work.enter(EntryKind.PROGRESS, outcome)
        for text in lessons:
            work.enter(EntryKind.OBSERVATION, text, Importance.IMPORTANT)
        proposed = _propose(work.w, work.session, outcome=outcome, at=work.at)
        work.slots = Slots()
        work.session.ended_at = work.at
        if work.session.expired_at is not None or _expires(work.w, work.session, work.at):
            _erase_entries(work.session, work.at)
    return EndedSession(session_id, work.at, goal, proposed)


def expire_session(principal: Principal, *, session_id: UUID, now: datetime | None = None) -> bool:
    """Expire a session that is due: propose its important entries, then erase them. Returns whether it expired.

    A temporary chat is deleted.
    """
    now = now or timezone.now()
    with write(principal) as w:
        session = Session.objects.of(principal).filter(pk=session_id).first()
        if session is None or not _expires(w, session, now):
            return False
        if session.temporary:
            forget_session(principal, session_id=session_id)
        else:
            _expire(w, session, now)
        return True


def renew(w: Write, session: Session, *, at: datetime) -> bool:
    """Extend a session from `at`; return whether it starts anew. The caller saves it.

    An overdue session that was not swept yet is expired first. Raises NotFound for an overdue temporary chat.
    """
    overdue = _expires(w, session, at)
    if overdue and session.temporary:
        raise NotFound("session")
    if overdue:
        _expire(w, session, at)
    began_anew = overdue or session.expired_at is not None
    session.expires_at = at + policy_in(w, session).session_lifetime
    session.expired_at = session.ended_at = None
    return began_anew


def _expires(w: Write, session: Session, now: datetime) -> bool:
    """Whether the session is due and not under a legal hold.

    Imported sessions have no `expires_at` and never expire.
    """
    due = session.expires_at is not None and session.expires_at <= now and session.expired_at is None
    return due and not on_hold(w.owner)


def _expire(w: Write, session: Session, now: datetime) -> None:
    _propose(w, session, outcome="", at=now)
    _erase_entries(session, now)
    session.working_memory = {}
    session.save(update_fields=["working_memory", "expired_at"])
    w.audit("session.expired", target_kind="session", target_id=session.pk)


def _erase_entries(session: Session, now: datetime) -> None:
    """Erase a session's entries and mark it as expired; the caller saves the session."""
    session.entries.all().delete()
    session.expired_at = now


def _propose(w: Write, session: Session, *, outcome: str, at: datetime) -> tuple[WriteOutcome, ...]:
    """Propose the important entries and a summary of the task; nothing of a temporary chat."""
    if session.temporary:
        return ()
    waiting = list(SessionEntry.objects.of(w.principal).filter(session=session, proposed_at=None).order_by("place"))
    written: list[WriteOutcome] = []
    for entry in waiting:
        if entry.kind in _LASTING and entry.importance != Importance.NORMAL:
            written += _remember(w, session, entry.text, [entry], at=at)
    goals = [entry for entry in waiting if entry.kind == EntryKind.GOAL]
    if goals:
        decided = [each for each in waiting if each.kind == EntryKind.DECISION and each.place > goals[0].place]
        text = summary(goals[-1].text, outcome, from_json(session.working_memory).plan, [each.text for each in decided])
        summarised = [*goals, *(each for each in decided if each.proposed_at is None)]
        if text:
            written += _remember(w, session, text, summarised, at=at)
        _mark(summarised, None, at)
    return tuple(written)


def summary(goal: str, outcome: str, plan: Plan, decisions: Sequence[str]) -> str:
    """A summary of a task in plain sentences; empty if only its goal is known."""
    parts = []
    if outcome:
        parts.append(f"Outcome: {_sentence(outcome)}")
    elif plan.done:
        left = f", left at: {_sentence(plan.current)}" if plan.current else "."
        parts.append(f"{plan.done} of {len(plan.steps)} steps done{left}")
    if decisions:
        parts.append(f"Decided: {_sentence('; '.join(text.rstrip('. ') for text in decisions[-_DECISIONS:]))}")
    return " ".join([f"Task: {_sentence(goal)}", *parts]) if parts else ""


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _remember(
    w: Write, session: Session, text: str, entries: Collection[SessionEntry], *, at: datetime
) -> list[WriteOutcome]:
    """Propose one text as the memory of `entries`. A refused text is not proposed again."""
    try:
        with w.savepoint():
            outcome = remember_fact(
                w.principal,
                text=text,
                category=CATEGORY,
                source=Source.TASK_OUTCOME,
                supporting_episode_ids=_episodes(w.principal, session, {entry.turn for entry in entries}),
                reason="kept at the end of a task",
            )
    except MemoriesError as error:
        log.info("What session %s proposed was refused: %s", session.pk, type(error).__name__)
        _mark(entries, None, at)
        return []
    stored = outcome.result is not WriteResult.BLOCKED
    _mark(entries, outcome.memory_id if stored else None, at)
    return [outcome]


def _mark(entries: Collection[SessionEntry], memory_id: UUID | None, at: datetime) -> None:
    """Mark entries as proposed, with the resulting memory. Entries marked earlier stay unchanged."""
    for entry in entries:
        if entry.proposed_at is None:
            entry.proposed_at, entry.memory_id = at, memory_id
            entry.save(update_fields=["proposed_at", "memory_id"])


def _episodes(principal: Principal, session: Session, turns: Collection[int]) -> list[UUID]:
    """The latest existing episodes of these turns, at most `_SUPPORT`."""
    said = Episode.objects.of(principal).filter(message__session=session, message__turn__in=turns)
    return list(said.order_by("-sequence").values_list("pk", flat=True)[:_SUPPORT])


@dataclass(frozen=True, slots=True)
class Sweep:
    """The number of sessions that expired, and of due ones that failed."""

    expired: int = 0
    failed: int = 0


def expire_sessions(now: datetime | None = None) -> Sweep:
    """Expire all due sessions of active members."""
    now = now or timezone.now()
    due = (
        Session.objects.unscoped("expiry of every session")
        .filter(has_active_member(), expires_at__lte=now, expired_at=None)
        .order_by("expires_at", "pk")
    )
    expired = failed = 0
    for session in list(due.only("pk", "tenant_id", "user_id")):
        try:
            expired += _expire_one(session, now)
        except Exception as error:  # noqa: BLE001 - one session's fault must not stop the others
            failed += 1
            log.warning("Session %s did not expire: %s. It is tried again.", session.pk, fault_of(error))
    return Sweep(expired, failed)


def _expire_one(session: Session, now: datetime) -> bool:
    membership = Membership.objects.select_related("tenant", "user").get(
        tenant_id=session.tenant_id, user_id=session.user_id
    )
    return expire_session(system_principal(membership), session_id=session.pk, now=now)
