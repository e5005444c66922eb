"""Episodes: what was said, verbatim, with its time. An episode is never edited.

An episode is acknowledged by its commit; its vector follows through the outbox. Each ordinal is assigned once, under
the owner's lock and in the order of the commits; consolidation moves its watermark along them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.consolidation.rules import is_all_questions, may_tell
from memories.constants import MAX_APP_CHARACTERS, MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput, NotFound
from memories.hygiene.text import clean_text, content_hash
from memories.models import Episode, EpisodeLedger, Message, Session
from memories.selectors.sessions import own_session
from memories.services.originals import keep_originals
from memories.services.screening import Said, Screen, joined, kept_out, note_masked
from memories.services.write import Write, app_of, write
from memories.types import Kind, Scope, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared
from memoryhub.jobs import wake_on_commit
from tenants.principal import Principal

# The job that consolidates owners who are due.
CONSOLIDATE = "memories.consolidate"


def turn_ended() -> None:
    """Wake the consolidation after the transaction that stores a turn's answer, if the mode is `turn`."""
    if settings.MEMORYHUB_CONSOLIDATE == "turn":
        wake_on_commit(CONSOLIDATE)


def ask_learning(w: Write, ordinal: int) -> None:
    """Have memories learned from the episodes up to `ordinal` as soon as a worker is free."""
    ledger = ledger_of(w.principal)
    ledger.asked = max(ledger.asked or 0, ordinal)
    ledger.save(update_fields=["asked"])
    if settings.MEMORYHUB_CONSOLIDATE != "off":
        wake_on_commit(CONSOLIDATE)


def ledger_of(principal: Principal) -> EpisodeLedger:
    """The owner's ledger, created if missing; the caller holds the owner's lock."""
    found = _LEDGER.first(principal.tenant_id, principal.user_id)
    return found or EpisodeLedger.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id)


def _ledger(tenant_id: UUID, user_id: UUID) -> QuerySet[EpisodeLedger]:
    return EpisodeLedger.objects.of_owner(tenant_id, user_id).order_by()


_LEDGER = Prepared(_ledger)


def count_episodes(principal: Principal, number: int, *, at: datetime) -> int:
    """Reserve the next `number` ordinals for episodes stored `at`; return the last ordinal before them (0 if none)."""
    if not number:
        return 0
    ledger = ledger_of(principal)
    before = ledger.stored
    ledger.stored = before + number
    ledger.waiting_since = ledger.waiting_since or at
    ledger.updated_at = at
    ledger.save(update_fields=["stored", "waiting_since", "updated_at"])
    return before


MAX_SPEAKER_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class EpisodeDraft:
    """An episode to store. `context` is an attachment's description; without an `app` it gets that of the principal.

    One that is not `recallable` stays in the transcript, and no recall returns it.
    """

    text: str
    happened_at: datetime | None = None
    speaker: str = ""
    context: str = ""
    episode_id: UUID = field(default_factory=uuid.uuid4)
    message_id: UUID | None = None
    sensitivity: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    app: str = ""
    original: str | None = field(default=None, repr=False)
    recallable: bool = True


def remember_episode(
    principal: Principal,
    *,
    session_id: UUID,
    text: str,
    speaker: str = "",
    context: str = "",
    happened_at: datetime | None = None,
    message_id: UUID | None = None,
    episode_id: UUID | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> WriteOutcome:
    """Store one episode at the end of a session. A repeated `episode_id` changes nothing.

    Raises InvalidInput and NotFound (session, message).
    """
    draft = EpisodeDraft(
        text, happened_at, speaker, context, episode_id or uuid.uuid4(), message_id, metadata=metadata or {}
    )
    stored = remember_episodes(principal, session_id=session_id, drafts=[draft])
    result = WriteResult.CREATED if stored else WriteResult.MERGED
    return WriteOutcome(result, Kind.EPISODIC, draft.episode_id)


def remember_episodes(principal: Principal, *, session_id: UUID, drafts: Sequence[EpisodeDraft]) -> list[UUID]:
    """Store episodes in order at the end of a session; return the ids that were new."""
    for draft in drafts:
        check_episode(draft)
    screen = Screen(principal)
    drafts = [screened_episode(draft, screen) for draft in drafts]
    with write(principal) as w:
        session = own_session(principal, session_id)
        known = set(
            Episode.objects.of(principal)
            .filter(pk__in=[draft.episode_id for draft in drafts])
            .values_list("pk", flat=True)
        )
        message_ids = {draft.message_id for draft in drafts if draft.message_id}
        if message_ids and session.messages.filter(pk__in=message_ids).count() != len(message_ids):
            raise NotFound("message")
        fresh = [draft for draft in drafts if draft.episode_id not in known]
        return [row.pk for row in append_episodes(w, session, fresh)]


def check_episode(draft: EpisodeDraft) -> None:
    """Raise InvalidInput if `draft` cannot be stored."""
    clean_text(draft.text, field="text", limit=MAX_MESSAGE_CHARACTERS, required=not draft.context)
    clean_text(draft.context, field="context", limit=MAX_MESSAGE_CHARACTERS, required=False)
    clean_text(draft.speaker, field="speaker", limit=MAX_SPEAKER_CHARACTERS, required=False)
    clean_text(draft.app, field="app", limit=MAX_APP_CHARACTERS, required=False)
    if draft.happened_at is not None and timezone.is_naive(draft.happened_at):
        raise InvalidInput("happened_at", _("needs a time zone."))


def screened_episode(draft: EpisodeDraft, screen: Screen) -> EpisodeDraft:
    """`draft` with sensitive values masked, and the unmasked text in `original`. Raises InvalidInput (metadata)."""
    text, context, speaker = screen.said(draft.text), screen.said(draft.context), screen.said(draft.speaker)
    metadata, marks = screen.metadata(draft.metadata, said=True) if draft.metadata else ({}, {})
    return replace(
        draft,
        text=text.text,
        context=context.text,
        speaker=speaker.text[:MAX_SPEAKER_CHARACTERS],
        sensitivity=joined(text.marks, context.marks, speaker.marks, marks),
        metadata=metadata,
        app=screen.said(draft.app).text[:MAX_APP_CHARACTERS],
        original=text.original if text.original is not None else context.original,
    )


def append_episodes(
    w: Write, session: Session, drafts: Sequence[EpisodeDraft], *, after_sequence: int | None = None
) -> list[Episode]:
    """Insert checked drafts with their audit events and outbox entries, but for those that the policy keeps out.

    None is stored of a temporary chat, nor while the member paused memory. `after_sequence` is the last sequence, if
    known.
    """
    if session.temporary or not w.policy.learns:
        return []
    drafts = [
        draft for draft in drafts if not kept_out(w.policy.in_app(draft.app or app_of(w)), draft.text, draft.context)
    ]
    last = after_sequence
    if last is None:
        sequences = _LAST_SEQUENCE.values(session.pk)
        last = sequences[0][0] if sequences else 0
    now = timezone.now()
    principal = w.principal
    stored = count_episodes(principal, len(drafts), at=now)
    rows = [
        Episode(
            pk=draft.episode_id,
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            scope=Scope.USER,
            session=session,
            message_id=draft.message_id,
            sequence=last + offset,
            ordinal=stored + offset,
            speaker=draft.speaker,
            text=draft.text,
            context=draft.context,
            content_hash=content_hash(draft.text, draft.context),
            sensitivity=dict(draft.sensitivity),
            metadata=dict(draft.metadata),
            app=draft.app or app_of(w),
            happened_at=draft.happened_at or now,
            recallable=draft.recallable,
        )
        for offset, draft in enumerate(drafts, start=1)
    ]
    Episode.objects.bulk_create(rows, batch_size=500)
    for row in rows:
        w.audit("episode.created", row)
    note_masked(w, {row.pk: row.sensitivity for row in rows}, kind=Kind.EPISODIC)
    originals = {draft.episode_id: draft.original for draft in drafts if draft.original is not None}
    keep_originals(w, originals, kind=Kind.EPISODIC)
    w.index(*(row for row in rows if row.is_indexed))
    return rows


def create_episode(w: Write, session: Session, *, said: Said, message: Message, after_sequence: int) -> UUID | None:
    """Store the episode of a chat turn, whose text was checked and screened. None if the policy keeps it out.

    It is not recalled if the rule set is certain that the text only asks or greets.
    """
    draft = EpisodeDraft(
        said.text,
        message.created_at,
        message.speaker,
        message_id=message.pk,
        sensitivity=said.marks,
        original=said.original,
        recallable=may_tell(said.text),
    )
    stored = append_episodes(w, session, [draft], after_sequence=after_sequence)
    return stored[0].pk if stored else None


def leave_questions_out(w: Write, read: Collection[UUID]) -> None:
    """Keep chat messages out of recall that only ask: a consolidation `read` them, and nothing was learned from them.

    A question may hold news ("I moved to Leeds, did I tell you?"), so in no language its form alone is enough.
    """
    of_owner = Episode.objects.of(w.principal)
    # What another person says after a question is its answer.
    others = of_owner.filter(session=OuterRef("session")).exclude(speaker=OuterRef("speaker"))
    rows = of_owner.filter(~Exists(others), pk__in=read, recallable=True, context="", message__own=True)
    asked = [row for row in rows.filter(message__learn=None) if is_all_questions(row.text)]
    of_owner.filter(pk__in=[row.pk for row in asked]).update(recallable=False)
    w.unindex(*asked)


def _last_sequence(session_id: UUID) -> QuerySet[Episode, Any]:
    return (
        Episode.objects.unscoped("rows of a session under the lock")
        .filter(session_id=session_id)
        .order_by("-sequence")
        .values_list("sequence")[:1]
    )


_LAST_SEQUENCE = Prepared(_last_sequence)
