"""A tenant's own Elasticsearch index as external knowledge: read with the tenant's key, for its members alone.

The index is searched beside the memories, while these are found and scored. Its hits are no memories: they have no
score among them, are not stored, and reach a model as quoted catalog records that name their source. An index that
does not answer in time costs a recall no more than SECONDS, and then nothing for PAUSE_SECONDS; the trace says so.
Addresses follow the rules of `memoryhub/outgoing.py`, because a tenant names them.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.models import MemoryPolicy
from memories.recall.request import Request
from memories.types import ExternalRecord, Kind
from memoryhub.observability import tracing
from memoryhub.outgoing import Unreachable, send
from tenants.principal import Principal
from tenants.search_keys.claims import Undecipherable, unseal

log = logging.getLogger(__name__)

SECONDS = 1.5
PAUSE_SECONDS = 10.0
# A change holds in every process after this time: seconds.
KNOWN_SECONDS = 10.0
HITS = 3
MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS, MAX_URL_CHARACTERS = 1_200, 200, 500
MAX_QUERY_CHARACTERS = 1_000
MAX_ANSWER_BYTES = 2 * 2**20

_asking = ThreadPoolExecutor(max_workers=16, thread_name_prefix="external-index")
_known: dict[UUID, tuple[float, Mapping[str, str]]] = {}
_away_until: dict[UUID, float] = {}


@dataclass(frozen=True, slots=True)
class ExternalAnswer:
    """The hits, best first. `source` is empty if the tenant has no index; `fault` says why there is no answer."""

    source: str = ""
    records: tuple[ExternalRecord, ...] = ()
    fault: str = ""


class ExternalSearch:
    """A search that runs beside the recall."""

    def __init__(self, future: Future[ExternalAnswer] | None = None) -> None:
        self._future = future

    def answer(self, token_budget: int | None) -> ExternalAnswer:
        """Wait for the answer; the search itself is limited in time.

        Of a token budget, the hits take a quarter at most, at four characters a token.
        """
        found = ExternalAnswer() if self._future is None else self._future.result()
        if token_budget is None:
            return found
        kept: list[ExternalRecord] = []
        for record in found.records:
            token_budget -= len(record.title) + len(record.text) + len(record.url)
            if token_budget >= 0:
                kept.append(record)
        return replace(found, records=tuple(kept))


def begin(principal: Principal, request: Request) -> ExternalSearch:
    """Start the search of the tenant's index, if there is one and the recall asks for current shared knowledge."""
    wanted = Kind.CATALOG in request.kinds and request.as_of is None and request.filters is None
    if not (settings.MEMORYHUB_TENANT_INDEXES and wanted and request.query.strip()):
        return ExternalSearch()
    index = _index_of(principal.tenant_id)
    if not index:
        return ExternalSearch()
    asked = request.query[:MAX_QUERY_CHARACTERS]
    return ExternalSearch(_asking.submit(copy_context().run, _answer, principal.tenant_id, index, asked))


def search_index(tenant_id: UUID, index: Mapping[str, str], query: str) -> tuple[ExternalRecord, ...]:
    """Search an index as it is stored. Raises Unreachable, whose message is a word."""
    try:
        key = unseal(tenant_id, index["key"]) if index["key"] else ""
    except (Undecipherable, ImproperlyConfigured):
        raise Unreachable("key-unreadable") from None
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"ApiKey {key}"} if key else {})
    body = json.dumps(search_body(index, query)).encode()
    url = f"{index['url']}/{index['index']}/_search"
    received = send(url, body, headers, seconds=SECONDS, most=MAX_ANSWER_BYTES)
    try:
        hits = json.loads(received)["hits"]["hits"]
        found = [_record(index, hit) for hit in hits[:HITS]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreachable("unreadable") from None
    return tuple(record for record in found if record is not None)


def search_body(index: Mapping[str, str], query: str) -> dict[str, Any]:
    """Return the body of the search."""
    named = {name: index[name] for name in ("text_field", "title_field", "url_field") if index[name]}
    fields = [named["text_field"], *([f"{named['title_field']}^2"] if "title_field" in named else [])]
    return {
        "size": HITS,
        "query": {"multi_match": {"query": query, "fields": fields, "lenient": True}},
        "_source": [*named.values()],
        "timeout": f"{int(SECONDS * 1000)}ms",
        "track_total_hits": False,
    }


def forget_known(tenant_id: UUID) -> None:
    """Read the tenant's index anew on the next recall of this process."""
    _known.pop(tenant_id, None)
    _away_until.pop(tenant_id, None)


def _index_of(tenant_id: UUID) -> Mapping[str, str]:
    known = _known.get(tenant_id)
    if known is None or time.monotonic() - known[0] > KNOWN_SECONDS:
        stored = MemoryPolicy.objects.filter(tenant_id=tenant_id).values_list("external_index", flat=True).first()
        known = _known[tenant_id] = time.monotonic(), stored or {}
    return known[1]


def _answer(tenant_id: UUID, index: Mapping[str, str], query: str) -> ExternalAnswer:
    name = index["name"]
    if time.monotonic() < _away_until.get(tenant_id, 0.0):
        return ExternalAnswer(name, fault="away")
    try:
        with tracing.span("external"):
            return ExternalAnswer(name, search_index(tenant_id, index, query))
    except Unreachable as error:
        _away_until[tenant_id] = time.monotonic() + PAUSE_SECONDS
        log.warning("The external index of tenant %s: %s", tenant_id, error)
        return ExternalAnswer(name, fault=str(error))


def _record(index: Mapping[str, str], hit: Mapping[str, Any]) -> ExternalRecord | None:
    """A hit with its fields as clean text; None if it has no text."""
    source = hit["_source"]
    text = _text(source, index["text_field"], MAX_TEXT_CHARACTERS)
    url = _text(source, index["url_field"], MAX_URL_CHARACTERS)
    if urlsplit(url).scheme not in ("http", "https"):
        url = ""
    title = _text(source, index["title_field"], MAX_TITLE_CHARACTERS)
    return ExternalRecord(index["name"], title, text, url) if text else None


def _text(source: Mapping[str, Any], path: str, most: int) -> str:
    """The value of a field as text: its dots lead into objects, and of a list the first value counts."""
    value: Any = source.get(path) if path else None
    if value is None and path:
        value = source
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    return str(value).replace("\x00", "").encode("utf-8", "replace").decode()[:most].strip()
