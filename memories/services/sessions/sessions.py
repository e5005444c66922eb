"""Sessions: open, rename, and forget one with all that was said in it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import NotFound
from memories.hygiene.text import clean_text
from memories.models import Session
from memories.services.screening import Screen
from memories.services.write import Write, write
from memoryhub.db.compiled_query import Prepared
from tenants.principal import Principal

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
