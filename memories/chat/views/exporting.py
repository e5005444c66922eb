"""Taking one's memory along: everything as JSON lines, in the form that the import reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memories.chat.pages import member_page
from memories.importing.records import record_line
from memories.services.portability.memories_export import export_memories
from tenants.principal import Principal


@require_POST
@member_page
def export(_request: HttpRequest, principal: Principal) -> StreamingHttpResponse:
    """A download of the member's events, facts and how-tos, what was replaced among them. It is recorded."""
    records = export_memories(principal)

    def lines() -> Iterator[str]:
        with closing(records):
            for record in records:
                yield f"{record_line(record)}\n"

    name = f"memories-{timezone.localdate():%Y-%m-%d}.jsonl"
    return StreamingHttpResponse(
        lines(),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
