"""Imports conversations: sessions, transcripts and episodes at their original times, in one transaction.

Texts are masked before rows are built. Existing messages keep their position, and later messages of the source are
appended. A turn whose message exists counts as imported, even if its episode was erased since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text, content_hash
from memories.importing.conversations import ConversationSession, ConversationTurn, at_place
from memories.models import Episode, Message, MessageRole, Session
from memories.selectors.history.rows import record_of
from memories.services.originals import keep_originals
from memories.services.portability.imports import (
    Advance,
    ImportReport,
    forgotten_ids,
    owner_id,
    unwatched,
)
from memories.services.screening import Screen, kept_out, masked_kinds, note_masked
from memories.services.sessions.episodes import EpisodeDraft, check_episode, count_episodes, screened_episode
from memories.services.sessions.sessions import title_from
from memories.services.write import Write, write
from memories.types import Kind, Scope
from memoryhub.db.statements import in_statements
from tenants.audit.chain import EventDraft
from tenants.principal import Principal

# The assistant's replies are no memories, so they may be longer.
MAX_TRANSCRIPT_CHARACTERS = 1_000_000
ROWS_PER_STATEMENT = 500


@dataclass(slots=True)
class _Rows:
    """The rows to insert, and the report."""

    sessions: list[Session] = field(default_factory=list)
    continued: list[Session] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    report: ImportReport = field(default_factory=ImportReport)
    learn: bool | None = None
    originals: dict[UUID, str] = field(default_factory=dict)


@dataclass(slots=True)
class _SessionEnd:
    """The last turn, step and episode sequence of a session."""

    turn: int = 0
    step: int = 0
    sequence: int = 0


def import_sessions(
    principal: Principal,
    sessions: Sequence[ConversationSession],
    *,
    source: str,
    advance: Advance = unwatched,
    learn: bool | None = None,
) -> ImportReport:
    """Store the sessions of one `source`, the name of its format. The report's `ids` are keyed by the turns' keys.

    `learn` says whether memories may be learned from them; None: on schedule, as from the chat. Raises InvalidInput
    naming the place in the source, Conflict (memory is paused), and Forbidden; then nothing is stored.
    """
    for session in sessions:
        check_session(session)
    with write(principal) as w:
        w.require_learning(by_hand=False)
        return store_sessions(w, sessions, source=source, advance=advance, learn=learn)


def check_session(session: ConversationSession) -> None:
    """Raise InvalidInput with the place in the source if a turn cannot be stored."""
    seen: dict[str, str] = {}
    with at_place(session.turns[0].place if session.turns else "conversation"):
        clean_text(session.title, field="title", limit=MAX_TRANSCRIPT_CHARACTERS, required=False)
    for turn in session.turns:
        if turn.key in seen:
            raise InvalidInput(turn.place, _("has the same id as %(value)s.") % {"value": seen[turn.key]})
        seen[turn.key] = turn.place
        with at_place(turn.place):
            if turn.remembered:
                check_episode(_draft(turn))
            else:
                clean_text(turn.text, field="text", limit=MAX_TRANSCRIPT_CHARACTERS)


def _draft(turn: ConversationTurn) -> EpisodeDraft:
    return EpisodeDraft(turn.text, turn.happened_at, turn.speaker, turn.context, metadata=turn.metadata, app=turn.app)


def store_sessions(
    w: Write,
    sessions: Sequence[ConversationSession],
    *,
    source: str,
    advance: Advance = unwatched,
    learn: bool | None = None,
) -> ImportReport:
    """Screen and insert checked sessions."""
    principal = w.principal
    rows = _Rows(learn=learn)
    forgotten = forgotten_ids(principal)
    screen = Screen(principal)
    for session in sessions:
        _add_session(principal, session, source, forgotten, rows, screen)
    Session.objects.bulk_create(rows.sessions, batch_size=ROWS_PER_STATEMENT)
    for start in range(0, len(rows.messages), ROWS_PER_STATEMENT):
        part = rows.messages[start : start + ROWS_PER_STATEMENT]
        Message.objects.bulk_create(part)
        advance(len(part))
    counted = count_episodes(principal, len(rows.episodes), at=timezone.now())
    for ordinal, episode in enumerate(rows.episodes, start=counted + 1):
        episode.ordinal = ordinal
    Episode.objects.bulk_create(rows.episodes, batch_size=ROWS_PER_STATEMENT)
    Session.objects.bulk_update(rows.continued, ["last_turn_at"], batch_size=ROWS_PER_STATEMENT)
    w.audit_drafts(list(_events(rows, source)))
    note_masked(w, {episode.pk: episode.sensitivity for episode in rows.episodes}, kind=Kind.EPISODIC)
    keep_originals(w, rows.originals, kind=Kind.EPISODIC)
    w.index(*rows.episodes)
    rows.report.sessions, rows.report.messages = len(rows.sessions), len(rows.messages)
    rows.report.added[Kind.EPISODIC] = len(rows.episodes)
    return rows.report


def _add_session(
    principal: Principal,
    session: ConversationSession,
    source: str,
    forgotten: frozenset[UUID],
    rows: _Rows,
    screen: Screen,
) -> None:
    session_id = owner_id(principal, source, session.key)
    existing = Session.objects.of(principal).filter(pk=session_id).first()
    if existing is None and session_id in forgotten:
        rows.report.forgotten += len(session.turns)
        return
    session = replace(session, turns=tuple(_as_allowed(turn, screen) for turn in session.turns))
    turn_ids = {turn.key: owner_id(principal, source, session.key, turn.key) for turn in session.turns}
    known = _known(principal, list(turn_ids.values())) if existing else frozenset()
    episode_ids = {turn.key: episode_id(principal, turn_ids[turn.key]) for turn in session.turns if turn.remembered}
    rows.report.ids |= {key: pk for key, pk in episode_ids.items() if pk not in forgotten}
    fresh = [turn for turn in session.turns if turn_ids[turn.key] not in known]
    rows.report.known += len(session.turns) - len(fresh)
    if not fresh:
        return
    row = existing or _session_row(principal, session_id, session, screen)
    (rows.continued if existing else rows.sessions).append(row)
    row.last_turn_at = max(row.last_turn_at, *(turn.happened_at for turn in fresh))
    place = _end_of(row) if existing else _SessionEnd()
    for turn in fresh:
        with at_place(turn.place):
            said = screened_episode(_draft(turn), screen)
        _add_turn(principal, row, turn, replace(said, message_id=turn_ids[turn.key]), place, rows)


def _as_allowed(turn: ConversationTurn, screen: Screen) -> ConversationTurn:
    """The turn, for the transcript alone if the policy keeps its words out of memory."""
    remembered = turn.remembered and not kept_out(screen.policy, turn.text, turn.context)
    return replace(turn, remembered=remembered)


def _add_turn(
    principal: Principal, session: Session, turn: ConversationTurn, said: EpisodeDraft, place: _SessionEnd, rows: _Rows
) -> None:
    if place.turn == 0 or not turn.from_assistant:
        place.turn, place.step = place.turn + 1, 0
    else:
        place.step += 1
    message = Message(
        pk=said.message_id,
        session=session,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        turn=place.turn,
        step=place.step,
        role=MessageRole.ASSISTANT if turn.from_assistant else MessageRole.USER,
        speaker=said.speaker or ("" if turn.from_assistant else principal.speaker),
        own=not (turn.from_assistant or said.speaker),
        learn=rows.learn,
        text=said.text,
        sensitivity=dict(said.sensitivity),
        created_at=turn.happened_at,
    )
    rows.messages.append(message)
    rows.report.masked += bool(masked_kinds(said.sensitivity))
    if turn.remembered:
        place.sequence += 1
        rows.episodes.append(_episode(principal, message, said, place.sequence))
        if said.original is not None:
            rows.originals[rows.episodes[-1].pk] = said.original


def _episode(principal: Principal, message: Message, said: EpisodeDraft, sequence: int) -> Episode:
    return Episode(
        pk=episode_id(principal, message.pk),
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        scope=Scope.USER,
        session=message.session,
        message=message,
        sequence=sequence,
        speaker=message.speaker,
        text=said.text,
        context=said.context,
        sensitivity=dict(said.sensitivity),
        metadata=dict(said.metadata),
        app=said.app or principal.app,
        content_hash=content_hash(said.text, said.context),
        happened_at=message.created_at,
    )


def episode_id(principal: Principal, message_id: UUID) -> UUID:
    """The id of an imported message's episode."""
    return owner_id(principal, "episode", str(message_id))


def _session_row(principal: Principal, session_id: UUID, session: ConversationSession, screen: Screen) -> Session:
    """The row of an imported session, which has no `expires_at` because it is a past conversation."""
    title = screen.said(session.title).text[:MAX_TITLE_CHARACTERS]
    started = session.turns[0].happened_at
    return Session(
        pk=session_id,
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        title=title or title_from(screen.said(session.turns[0].text).text),
        created_at=started,
        last_turn_at=started,
        expires_at=None,
    )


def _known(principal: Principal, ids: Sequence[UUID]) -> frozenset[UUID]:
    messages = Message.objects.of(principal)
    return frozenset(
        pk for some in in_statements(ids) for pk in messages.filter(pk__in=some).values_list("pk", flat=True)
    )


def _end_of(session: Session) -> _SessionEnd:
    turn = int(session.messages.aggregate(last=Max("turn"))["last"] or 0)
    step = session.messages.filter(turn=turn).aggregate(last=Max("step"))["last"]
    sequence = session.episodes.aggregate(last=Max("sequence"))["last"]
    return _SessionEnd(turn, int(step or 0), int(sequence or 0))


def _events(rows: _Rows, source: str) -> Iterator[EventDraft]:
    """One event per session and episode, as if they had been written one by one."""
    reason = f"imported from {source}"
    for session in rows.sessions:
        yield EventDraft("session.created", "session", session.pk, reason=reason)
    for episode in rows.episodes:
        yield EventDraft("episode.created", Kind.EPISODIC.value, episode.pk, reason=reason, row=record_of(episode))
