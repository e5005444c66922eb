"""A member's items, which programs keep beside the memories, and the page of one with its history."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from memories.attributes.items import Labels, labels_in, path_of
from memories.errors import InvalidInput, existing
from memories.presenting.lines import did
from memories.presenting.memory import flags_of
from memories.presenting.reasons import reason_words
from memories.selectors.history.stories import event_reason
from memories.selectors.items import is_there
from memories.selectors.memories import history_of
from memories.selectors.staff.inspecting import inspected_items, namespaces_of
from memories.services.admin_requests import READINGS
from memories.staff.base import MemberView
from memories.types import Kind
from memoryhub.languages import gettext_lazy
from tenants.audit.sentences import actor_names
from tenants.errors import is_storable
from tenants.models import AuditEvent

PAGE_SIZE = 50
CHANGES_SHOWN = 20
MOST_NAMESPACES = 100
_LONGEST = 300


class Items(MemberView):
    """The items in every state, latest first; `?namespace=` is the path of a namespace, `?q=` searches."""

    reads = "items"
    tab = "items"
    title = gettext_lazy("Items")
    template_name = "admin/memories/member/items.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query, path = (request.GET.get(name, "").strip() for name in ("q", "namespace"))
        labels: Labels = ()
        try:
            labels = labels_in(path) if path else ()
        except InvalidInput as error:
            raise Http404 from error
        if not is_storable(query):
            raise Http404
        found = inspected_items(self.principal, query=query[:_LONGEST], inside=labels)
        page = self.page(found, limit=PAGE_SIZE)
        now = timezone.now()
        inside = namespaces_of(inspected_items(self.principal, inside=labels), limit=MOST_NAMESPACES)
        return self.render(
            query=query,
            path=path,
            labels=[(label, path_of(labels[: place + 1])) for place, label in enumerate(labels)],
            namespaces=[(each, path_of(each), count) for each, count in inside if each != labels],
            rows=[(row, path_of(row.labels), is_there(row, now), flags_of(row.sensitivity)) for row in page.rows],
            next_cursor=page.next_cursor,
        )


class ItemPage(MemberView):
    """One item, also a deleted one, and its changes with the value after each; another member's gives a 404."""

    tab = "items"
    title = gettext_lazy("One item")
    template_name = "admin/memories/member/item.html"

    def get(self, request: HttpRequest, item_id: UUID) -> HttpResponse:  # noqa: ARG002
        item = existing(inspected_items(self.principal, query=str(item_id)).first(), "item")
        self.note("item", target_kind=Kind.ITEM.value, target_id=item.pk)
        changes = history_of(self.principal, [item.pk]).exclude(action__in=READINGS).order_by("-sequence")
        page = self.page(changes, limit=CHANGES_SHOWN)
        names = actor_names(self.member.tenant_id, page.rows)
        return self.render(
            item=item,
            path=path_of(item.labels),
            there=is_there(item, timezone.now()),
            value=_shown(item.content) if item.value else "",
            flags=flags_of(item.sensitivity),
            changes=[
                (event, names.who(event), did(event.action), reason_words(event_reason(event)), _after(event))
                for event in page.rows
            ],
            next_cursor=page.next_cursor,
        )


def _after(event: AuditEvent) -> str:
    """The value after a change; empty after a deletion, and if the payload is gone."""
    payload = getattr(event, "payload", None)
    after = (payload.data.get("after") or {}).get("item") if payload else None
    return _shown(after["value"]) if after else ""


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
