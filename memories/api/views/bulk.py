"""Views of export and import. Batches are in `batches.py`, erasing all in `MemoriesView`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from memories.api.authentication import READ, READ_WRITE
from memories.api.problems import BodyTooLarge
from memories.api.serializers.bulk import ImportQuery, ImportResponse
from memories.api.views.base import IMPORTING_SECONDS, ApiView, StreamRenderer, operation
from memories.constants import MAX_IMPORT_BYTES
from memories.importing.formats import ExportFormat, parse_export
from memories.importing.records import record_line
from memories.selectors.operations import view_of
from memories.services.admission import admit_more, units_of
from memories.services.portability.exports_import import Imported, import_export, size_of
from memories.services.portability.memories_export import export_memories
from memories.services.sessions.messages import Learn
from memoryhub.env.limits import Bucket
from tenants.errors import Forbidden
from tenants.principal import ActorKind

_SHOWN_REFUSALS = 100


_LINES = "application/x-ndjson"


class LinesRenderer(StreamRenderer):
    """For an export."""

    media_type = _LINES
    format = "ndjson"


class ExportView(ApiView):
    """The caller's own memories, to take along."""

    renderer_classes = [JSONRenderer, LinesRenderer]

    @operation(
        "export",
        READ,
        gives=OpenApiResponse(OpenApiTypes.STR, "A line for each memory and item, as POST /import/ takes them."),
        also=(Bucket.WRITES,),
        media=_LINES,
    )
    def get(self) -> StreamingHttpResponse:
        """Export the own memories in every status and the own items, as JSON lines. The audit log records it."""
        if self.principal.actor_kind is ActorKind.KEY:
            raise Forbidden("A backend key asks for a member's memory by POST /members/{user_id}/export/.")
        records = export_memories(self.principal)

        def lines() -> Iterator[bytes]:
            with closing(records):
                for record in records:
                    yield record_line(record).encode(errors="surrogatepass") + b"\n"

        named = {"Content-Disposition": 'attachment; filename="memories.ndjson"'}
        return StreamingHttpResponse(lines(), content_type=_LINES, headers=named)


class FileParser(BaseParser):
    """Reads a file as it is, whatever its type is called."""

    media_type = "*/*"

    def parse(self, stream: IO[Any], *_: object, **__: object) -> Any:
        """Return the bytes. Raises BodyTooLarge."""
        body: bytes = stream.read(MAX_IMPORT_BYTES + 1)
        if len(body) > MAX_IMPORT_BYTES:
            raise BodyTooLarge(f"The file is larger than {MAX_IMPORT_BYTES:,} bytes: divide it.")
        return body


class ImportView(ApiView):
    """Memories, items and conversations from an export, of memoryhub or another product."""

    parser_classes = [FileParser]

    @operation(
        "import",
        READ_WRITE,
        query=ImportQuery,
        takes={"application/octet-stream": OpenApiTypes.BINARY},
        gives=ImportResponse,
        statuses=(200, 202),
    )
    def post(self, *, format: ExportFormat | None, source_user: str, dry_run: bool, learn: str) -> Response:  # noqa: A002 - the name of the parameter
        """Import the file in the body, or with `dry_run` say what would come.

        202: conversations are stored, and learned from in the background; 200: all is done. A repeated import adds
        nothing twice, and goes on where an earlier one was cut off.
        """
        data: object = self.request.data
        body = data if isinstance(data, bytes) else b""
        found, export = parse_export(body, format, source_user)
        admit_more(self.principal, Bucket.ENTRIES, max(size_of(export), units_of(len(body))))
        done = import_export(
            self.principal,
            found,
            export,
            dry_run=dry_run,
            learn=Learn(learn) is not Learn.OFF,
            seconds=IMPORTING_SECONDS,
        )
        shown = _shown(done) | {"format": found, "dry_run": dry_run}
        shown["operation"] = view_of(self.principal, done.operation) if done.operation else None
        return Response(ImportResponse(shown).data, status=202 if done.operation else 200)


def _shown(done: Imported) -> dict[str, Any]:
    report = done.report
    numbers: dict[str, Any] = {
        name: getattr(report, name) for name in ("sessions", "messages", "merged", "known", "forgotten", "masked")
    }
    return numbers | {
        "complete": done.complete,
        "added": {kind.value: count for kind, count in report.added.items() if count},
        "refused_count": len(done.refused),
        "refused": done.refused[:_SHOWN_REFUSALS],
        "examples": [{"kind": kind, "text": text} for kind, text in done.examples],
    }
