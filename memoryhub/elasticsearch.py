"""Builds all Elasticsearch clients, and names this installation's indices.

The shared connections carry no credential. Every caller names a service identity or gives a member's key; without that
credential there is no client, so no request falls back to another identity.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memoryhub.env.values import INDEX_NAMES

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

# Recall answers without a search that takes longer. Services are commands and background jobs.
SEARCH_SECONDS = 2.0
SERVICE_SECONDS = 30.0
CONNECTIONS = 32


class Identity(StrEnum):
    """The service identities of the application at Elasticsearch, each with minimal rights.

    The indexer writes and cannot read; the minter makes and ends members' keys; the manager makes templates, indices
    and aliases; the checker compares the indices with the database. Serving needs only the first two. SETUP creates the
    other four and is given only to `manage.py elasticsearch setup`.
    """

    INDEXER = "indexer"
    MINTER = "minter"
    MANAGER = "manager"
    CHECKER = "checker"
    SETUP = "setup"


class NoCredential(Exception):
    """A request without the required credential, which was not sent."""


def in_use() -> bool:
    """Whether this installation searches with Elasticsearch."""
    return bool(settings.MEMORYHUB_SEARCH == "elasticsearch")


def reading_alias(index_name: str) -> str:
    """The alias that members search, for a kind of memory or the archive; it points to one index."""
    return f"{settings.ELASTICSEARCH_PREFIX}-{index_name}"


def reading_aliases() -> tuple[str, ...]:
    """All aliases that a member's key may search."""
    return tuple(reading_alias(index_name) for index_name in INDEX_NAMES)


def writing_alias(index_name: str) -> str:
    """The alias that changes are written to; during a rebuild it points to two indices."""
    return f"{settings.ELASTICSEARCH_PREFIX}-{index_name}-writing"


def index_patterns() -> tuple[str, ...]:
    """Patterns that match all indices and aliases of this installation and of no other.

    `memoryhub-*` alone would also match `memoryhub-two-semantic` of an installation named `memoryhub-two`.
    """
    return tuple(pattern for alias in reading_aliases() for pattern in (alias, f"{alias}-*"))


def writing_pattern() -> str:
    """A pattern of all writing aliases; unlike names, patterns that match nothing are no error."""
    return ",".join(f"{writing_alias(index_name)}*" for index_name in INDEX_NAMES)


def index_pattern() -> str:
    """A pattern that may match other installations' indices, too; only for a dedicated cluster."""
    return f"{settings.ELASTICSEARCH_PREFIX}-*"


def key_client(api_key: str) -> Elasticsearch:
    """A client that searches with a member's encoded key. Raises NoCredential if it is empty."""
    if not api_key:
        raise NoCredential("A search needs the key of a member.")
    return _with_key(_base(), api_key)


def service_client(identity: Identity) -> Elasticsearch:
    """A client of a service identity. Raises NoCredential if it is not configured."""
    credential = settings.ELASTICSEARCH_CREDENTIALS.get(identity.value, "")
    if not credential:
        raise NoCredential(f"Set ELASTICSEARCH_{identity.name} to the credential of the {identity.value}.")
    user, colon, password = credential.partition(":")
    if colon:
        return _base().options(basic_auth=(user, password), request_timeout=SERVICE_SECONDS)
    return _base().options(api_key=credential, request_timeout=SERVICE_SECONDS)


@functools.lru_cache(maxsize=256)
def _with_key(base: Elasticsearch, api_key: str) -> Elasticsearch:
    """Cached, since making a client takes 0.6 ms. Callers check whether the key is still valid."""
    return base.options(api_key=api_key, request_timeout=SEARCH_SECONDS)


def is_configured(identity: Identity) -> bool:
    """Whether this process has the credential of `identity`."""
    return bool(settings.ELASTICSEARCH_CREDENTIALS.get(identity.value))


def _base() -> Elasticsearch:
    if not settings.ELASTICSEARCH_URLS:
        raise ImproperlyConfigured("Set ELASTICSEARCH_URL to the address of the cluster.")
    return _connected(tuple(settings.ELASTICSEARCH_URLS), settings.ELASTICSEARCH_CA_CERTS)


@functools.cache
def _connected(urls: tuple[str, ...], ca_certs: str) -> Elasticsearch:
    """The connections of this process, without a credential. Callers retry."""
    # Imported here because it takes half a second, and every process loads this module.
    from elastic_transport.client_utils import DEFAULT  # noqa: PLC0415
    from elasticsearch import Elasticsearch  # noqa: PLC0415
    from elasticsearch.serializer import NdjsonSerializer, OrjsonSerializer  # noqa: PLC0415

    class JsonLines(NdjsonSerializer):
        """JSON lines by orjson, which serialises NumPy arrays."""

        def json_dumps(self, data: Any) -> bytes:
            return json.json_dumps(data)

    json = OrjsonSerializer()
    return Elasticsearch(
        list(urls),
        ca_certs=ca_certs or DEFAULT,
        max_retries=0,
        retry_on_timeout=False,
        connections_per_node=CONNECTIONS,
        serializers={json.mimetype: json, JsonLines.mimetype: JsonLines()},
    )
