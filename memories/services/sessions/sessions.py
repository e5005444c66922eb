"""Sessions: open and rename one, write its entries, end its task, and let it expire.

Slots (L0) and entries (L1) change together, in one transaction under the owner's lock; nothing is noted of a turn that
was erased. The end of a task proposes each entry as lasting memory once (`proposed_at`), by the normal write path. A
session expires as a whole, in a transaction of its own; its transcript stays. Nothing expires under a legal hold.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import MAX_LEARNED, MAX_TITLE_CHARACTERS, SLOT_CHARACTERS
from memories.errors import Conflict, InvalidInput, MemoriesError, NotFound
from memories.hygiene.text import clean_text
from memories.models import EntryKind, Episode, Message, MessageState, Session, SessionEntry
from memories.selectors.erasure import on_hold
from memories.services.facts.remember import remember_fact
from memories.services.screening import Screen
from memories.services.write import Write, write
from memories.slots import Noted, Plan, Slots, from_json, to_json
from memories.types import Importance, Source, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared
from tenants.errors import TenantsError
from tenants.models import Membership
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.selectors import has_active_member

# What fits a line of the list of sessions.
TITLE_CHARACTERS = 60


def start_session(
    principal: Principal, *, title: str = "", session_id: UUID | None = None, created_at: datetime | None = None
) -> Session:
    """Open a session. With a `session_id` that this owner already has, return that one unchanged."""
    clean_text(title, field="title", limit=MAX_TITLE_CHARACTERS, required=False)
    title = Screen(principal).said(title).text[:MAX_TITLE_CHARACTERS]
    with write(principal) as w:
        if session_id and (existing := Session.objects.of(principal).filter(pk=session_id).first()):
            return existing
        return create_session(w, title=title, session_id=session_id, created_at=created_at)


def create_session(
    w: Write, *, title: str, session_id: UUID | None = None, created_at: datetime | None = None
) -> Session:
    """Insert a session and its audit event."""
    principal = w.principal
    started = created_at or timezone.now()
    session = Session(
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        title=title,
        created_at=started,
        last_turn_at=started,
        expires_at=started + w.policy.session_lifetime,
    )
    if session_id:
        session.pk = session_id
    session.save(force_insert=True)
    w.audit("session.created", target_kind="session", target_id=session.pk)
    return session


def locked_session(principal: Principal, session_id: UUID) -> Session:
    """The owner's session; the caller holds the owner's lock. Raises NotFound."""
    session = _SESSION.first(principal.tenant_id, principal.user_id, session_id)
    if session is None:
        raise NotFound("session")
    return session


def _session(tenant_id: UUID, user_id: UUID, session_id: UUID) -> QuerySet[Session]:
    return Session.objects.of_owner(tenant_id, user_id).filter(pk=session_id).order_by()


_SESSION = Prepared(_session)


def rename_session(principal: Principal, *, session_id: UUID, title: str) -> Session:
    """Give a session another title."""
    clean_text(title, field="title", limit=MAX_TITLE_CHARACTERS)
    title = Screen(principal).said(title).text[:MAX_TITLE_CHARACTERS]
    with write(principal) as w:
        session = locked_session(principal, session_id)
        session.title = title.strip()
        session.save(update_fields=["title"])
        w.audit("session.renamed", target_kind="session", target_id=session.pk)
        return session


def title_from(text: str) -> str:
    """A title of some `TITLE_CHARACTERS` from the first words of a message, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"


class Writing:
    """A session being written to: set `slots`, and `enter` each new entry."""

    def __init__(self, w: Write, session: Session, *, turn: int, at: datetime) -> None:
        self.session = session
        self.slots = from_json(session.working_memory)
        self.at = at
        self.turn = turn
        self.w = w
        places = _LAST_PLACE.values(session.pk)
        self._last: int = places[0][0] if places else 0

    def enter(self, kind: EntryKind, text: str, importance: Importance = Importance.NORMAL) -> Noted:
        """Add an entry; return it as it goes into a slot."""
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
def writing(
    principal: Principal, session_id: UUID, *, turn: int, action: str, at: datetime | None = None
) -> Iterator[Writing]:
    """Write to a session, in one transaction with its audit event. Raises NotFound, Conflict, Forbidden."""
    with write(principal) as w:
        session = locked_session(principal, session_id)
        if turn and _ERASED.any(session.pk, turn):
            raise Conflict("These words were erased meanwhile; nothing is noted of them.")
        work = Writing(w, session, turn=turn, at=at or timezone.now())
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
    """Words for a slot, without the spaces around them; a value that is not stored is masked. Raises InvalidInput."""
    clean_text(text, field=field, limit=SLOT_CHARACTERS, required=required)
    return Screen(principal).said(text).text.strip()


log = logging.getLogger(__name__)

CATEGORY = "task"
# Decisions that a summary names, latest first to stay; and the episodes that it leans on.
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
    """End the task of a session, or the session: propose what mattered, and empty the working memory.

    `outcome` says how it went, `learned` what is worth knowing next time; both are optional, and a plain summary is
    made without them. The entries stay until the session expires, and it may go on. Again it proposes nothing twice.
    Raises InvalidInput, NotFound, Forbidden.
    """
    outcome = checked_words(principal, outcome, field="outcome", required=False)
    if len(learned) > MAX_LEARNED:
        raise InvalidInput("learned", f"are too many: at most {MAX_LEARNED} are allowed.")
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
    """Expire a session if its time is over: propose what mattered, erase working memory and entries; say whether."""
    now = now or timezone.now()
    with write(principal) as w:
        session = Session.objects.of(principal).filter(pk=session_id).first()
        if session is None or not _expires(w, session, now):
            return False
        _expire(w, session, now)
        return True


def renew(w: Write, session: Session, *, at: datetime) -> bool:
    """Let a session live on from `at`, and say whether it begins anew; the caller saves it.

    One that expired has lost its working parts; where no sweep came yet, they go now.
    """
    overdue = _expires(w, session, at)
    if overdue:
        _expire(w, session, at)
    began_anew = overdue or session.expired_at is not None
    session.expires_at = at + w.policy.session_lifetime
    session.expired_at = session.ended_at = None
    return began_anew


def _expires(w: Write, session: Session, now: datetime) -> bool:
    """Whether it is due and nothing keeps it. Sessions without an end, such as imported ones, never are."""
    due = session.expires_at is not None and session.expires_at <= now and session.expired_at is None
    return due and not on_hold(w.owner)


def _expire(w: Write, session: Session, now: datetime) -> None:
    _propose(w, session, outcome="", at=now)
    _erase_entries(session, now)
    session.working_memory = {}
    session.save(update_fields=["working_memory", "expired_at"])
    w.audit("session.expired", target_kind="session", target_id=session.pk)


def _erase_entries(session: Session, now: datetime) -> None:
    """Erase the entries of an expired session; the caller saves the session."""
    session.entries.all().delete()
    session.expired_at = now


def _propose(w: Write, session: Session, *, outcome: str, at: datetime) -> tuple[WriteOutcome, ...]:
    """Propose the important entries and a summary of the task."""
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
    """The result of a task in plain sentences; empty if only its goal is known."""
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
    """Propose one text that `entries` stand for. One that is refused is not proposed again."""
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
    """Note that entries were proposed; a memory that they became already stays noted."""
    for entry in entries:
        if entry.proposed_at is None:
            entry.proposed_at, entry.memory_id = at, memory_id
            entry.save(update_fields=["proposed_at", "memory_id"])


def _episodes(principal: Principal, session: Session, turns: Collection[int]) -> list[UUID]:
    """The episodes of these turns that are still there."""
    said = Episode.objects.of(principal).filter(message__session=session, message__turn__in=turns)
    return list(said.order_by("-sequence").values_list("pk", flat=True)[:_SUPPORT])


@dataclass(frozen=True, slots=True)
class Sweep:
    """How many sessions expired, and how many were due and could not."""

    expired: int = 0
    failed: int = 0


def expire_sessions(now: datetime | None = None) -> Sweep:
    """Expire all sessions that are due, of members who are active; of others everything stays as it is."""
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
        except (MemoriesError, TenantsError, DatabaseError) as error:
            failed += 1
            log.warning("Session %s did not expire: %s. It is tried again.", session.pk, type(error).__name__)
    return Sweep(expired, failed)


def _expire_one(session: Session, now: datetime) -> bool:
    membership = Membership.objects.select_related("tenant", "user").get(
        tenant_id=session.tenant_id, user_id=session.user_id
    )
    return expire_session(system_principal(membership), session_id=session.pk, now=now)
