"""The catalog: shared knowledge, global or of a tenant. Members read it; administrators and commands write it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.translation import gettext as _

from memories.constants import MAX_APP_CHARACTERS, MAX_MEMORY_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text, content_hash
from memories.models import CatalogEntry
from memories.services.facts.gates import same_app
from memories.services.screening import Screen, joined
from memories.services.write import owner_columns, write
from memories.types import Kind, Scope, WriteOutcome, WriteResult
from tenants.principal import Principal


def remember_catalog_entry(
    principal: Principal,
    *,
    title: str,
    text: str,
    source_url: str = "",
    scope: Scope = Scope.TENANT,
    entry_id: UUID | None = None,
    screen: Screen | None = None,
    metadata: Mapping[str, Any] | None = None,
    app: str = "",
) -> WriteOutcome:
    """Store a catalog entry of the principal's tenant (or global, for the system). An equal entry is kept unchanged.

    Raises InvalidInput, Blocked, and Forbidden unless the principal is an administrator or the system.
    """
    clean_text(title, field="title", limit=MAX_TITLE_CHARACTERS)
    clean_text(text, field="text", limit=MAX_MEMORY_CHARACTERS)
    _check_url(source_url)
    if scope not in (Scope.TENANT, Scope.GLOBAL):
        raise InvalidInput("scope", _("a catalog entry is shared: its scope is tenant or global."))
    clean_text(app, field="app", limit=MAX_APP_CHARACTERS, required=False)
    screen = screen or Screen(principal)
    words, marks = screen.memory({"title": title, "text": text, "source_url": source_url, "app": app})
    title, text, source_url = words["title"], words["text"], words["source_url"]
    described, more = screen.metadata(metadata or {})
    with write(principal, scope) as w:
        columns = owner_columns(principal, scope, "")
        digest = content_hash(title, text)
        same = CatalogEntry.objects.in_place(columns)
        known = same.filter(pk=entry_id).first() if entry_id else None
        app = words["app"] or principal.app
        equal = known or next(iter(same_app(w, app, same.current().filter(content_hash=digest))), None)
        if equal is not None:
            return WriteOutcome(WriteResult.MERGED, Kind.CATALOG, equal.pk, reason="It is stored already.")
        entry = CatalogEntry(
            pk=entry_id or uuid.uuid4(),
            title=title,
            text=text,
            source_url=source_url,
            sensitivity=joined(marks, more),
            metadata=described,
            app=app,
            content_hash=digest,
            **columns,
        )
        entry.save(force_insert=True)
        w.audit(".created", entry, after={"title": title, "text": text})
        w.index(entry)
        return WriteOutcome(WriteResult.CREATED, Kind.CATALOG, entry.pk)


def _check_url(url: str) -> None:
    if not url:
        return
    try:
        URLValidator(schemes=["http", "https"])(url)
    except ValidationError as error:
        raise InvalidInput("source_url", _("must be a full http or https address.")) from error
