"""Entity tags: `If-None-Match` saves a download, `If-Match` keeps two writers from overwriting each other.

A tag is "<state>-<content>". The state is made from the row and changes with every change of it; the content is a
digest of the answer, which also changes with what the row refers to. If-Match compares states, so that the tag of any
answer about a row serves for all changes of it; If-None-Match compares the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.http import HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags, quote_etag
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from memories.errors import existing
from memories.models.guard import DERIVED_COLUMNS
from memories.selectors.erasure import erasure_in_tenant, hold_in_tenant
from memories.selectors.items import find_item
from memories.selectors.memories import find_memory
from memories.selectors.operations import get_operation
from memories.selectors.reviews import get_review
from memories.selectors.runs import get_run
from memories.selectors.sessions import get_session
from memories.services.erasure.proposals import find_proposal
from tenants.models import AuditEvent
from tenants.principal import Principal


def _event(caller: Principal, event_id: UUID) -> AuditEvent:
    return existing(AuditEvent.objects.filter(tenant_id=caller.tenant_id, pk=event_id).first(), "event")


# How the row that an address names is found, by the parameter of the address; only after the view found it, if the
# address is of a tenant. Raises NotFound.
FINDERS: Mapping[str, Callable[[Principal, UUID], Model]] = {
    "memory_id": find_memory,
    "session_id": get_session,
    "proposal_id": find_proposal,
    "review_id": get_review,
    "run_id": get_run,
    "operation_id": get_operation,
    "event_id": _event,
    "erasure_id": erasure_in_tenant,
    "hold_id": hold_in_tenant,
    "item_id": find_item,
}
_CHARACTERS = 16


class PreconditionFailed(Exception):
    """The row changed since the caller read it."""

    def __init__(self) -> None:
        super().__init__(
            "It changed since you read it, so nothing was done. Read it again, look at what changed, and send your"
            " change with its new ETag in If-Match."
        )


def state_of(principal: Principal, ids: Mapping[str, UUID]) -> str:
    """The state of the row that an address names, empty if it names none. Raises NotFound."""
    for name, finder in FINDERS.items():
        if name in ids:
            return state_of_row(finder(principal, ids[name]))
    return ""


def state_of_row(row: Model) -> str:
    """A digest of the row's columns, without those that a recall or the search plane changes."""
    left_out = row.get_deferred_fields() | DERIVED_COLUMNS
    names = [field.attname for field in row._meta.concrete_fields if field.attname not in left_out]
    columns = [(name, str(getattr(row, name))) for name in names]
    return hashlib.sha256(repr(columns).encode()).hexdigest()[:_CHARACTERS]


def tagged(request: Request, state: str, data: Any) -> HttpResponse:
    """The answer with its tag, or 304 if the caller has it."""
    content = JSONRenderer().render(data)
    tag = quote_etag(f"{state}-{hashlib.sha256(content).hexdigest()[:_CHARACTERS]}")
    wanted = [each.removeprefix("W/") for each in parse_etags(request.headers.get("If-None-Match", ""))]
    if request.method in ("GET", "HEAD") and (tag in wanted or "*" in wanted):
        return HttpResponseNotModified(headers={"ETag": tag})
    return HttpResponse(content, content_type="application/json", headers={"ETag": tag})


def require_match(request: Request, state: str) -> None:
    """Raise PreconditionFailed unless `state` is one that If-Match names."""
    wanted = parse_etags(request.headers["If-Match"])
    if not state or not ("*" in wanted or state in {each.strip('"').partition("-")[0] for each in wanted}):
        raise PreconditionFailed
