"""Exports of memories as downloads: what was chosen, and the chain of a history page.

Invariant: nothing is sent before the trail tells of it; who may is decided by `services/portability`.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from memories.errors import NotFound
from memories.services.portability import ChainExport, export_chain
from memories.types import Kind
from memoryhub.signing.archive import TableFormat
from tenants.admin.audit_event import download
from tenants.admin.scoping import acting, signed_in
from tenants.errors import Forbidden

_KINDS = frozenset({Kind.SEMANTIC.value, Kind.PROCEDURAL.value})


def chosen_forms(given: Mapping[str, str]) -> list[TableFormat]:
    """The forms that a form of ours ticks; both where it ticks none."""
    return [form for form in TableFormat if given.get(form.value)] or list(TableFormat)


def export_history(request: HttpRequest, kind: str, memory_id: UUID) -> HttpResponseBase:
    """The chain of a fact or how-to as a signed archive: POST to `admin:memories_history_export`."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if kind not in _KINDS:
        raise Http404
    wanted = ChainExport(Kind(kind), memory_id)
    try:
        pieces = export_chain(wanted, staff=signed_in(request), actor=acting(request), forms=chosen_forms(request.POST))
    except NotFound as error:
        raise Http404 from error
    except Forbidden as error:
        raise PermissionDenied from error
    except ImproperlyConfigured as error:
        messages.error(request, f"Nothing was exported. {error}")
        return HttpResponseRedirect(reverse("admin:memories_history_chain", args=[kind, memory_id]))
    return download(pieces, "history")
