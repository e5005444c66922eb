"""The one place that builds Elasticsearch clients, and the names of this installation's indices.

The shared client carries no credential. Every caller names a service identity or brings a member's key; without that
credential there is no client, so no request falls through to another identity.
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

# A search that takes longer is worth less than an answer without it; the others are commands and background work.
SEARCH_SECONDS = 2.0
SERVICE_SECONDS = 30.0
CONNECTIONS = 32


class Identity(StrEnum):
    """Who talks to the cluster on the application's own behalf, each with the least that its work needs.

    The indexer writes and reads nothing; the minter makes, replaces and ends the members' keys; the manager makes
    templates, indices and aliases; the checker compares the indices with the database. Only the first two are needed
    to serve. `SETUP` makes the other four, once, and is given to `manage.py elasticsearch setup` alone.
    """

    INDEXER = "indexer"
    MINTER = "minter"
    MANAGER = "manager"
    CHECKER = "checker"
    SETUP = "setup"


class NoCredential(Exception):
    """A request to the cluster without the credential that it needs. It was not sent."""


def in_use() -> bool:
    """Whether this installation searches a cluster, and so has keys and indices to look after."""
    return bool(settings.MEMORYHUB_SEARCH == "elasticsearch")


def reading_alias(index_name: str) -> str:
    """The name by which members search the memories of a kind, or the archive; behind it is one index."""
    return f"{settings.ELASTICSEARCH_PREFIX}-{index_name}"


def reading_aliases() -> tuple[str, ...]:
    """All names that a member's key opens."""
    return tuple(reading_alias(index_name) for index_name in INDEX_NAMES)


def writing_alias(index_name: str) -> str:
    """The alias of every index that such changes must reach: two during a rebuild."""
    return f"{settings.ELASTICSEARCH_PREFIX}-{index_name}-writing"


def index_patterns() -> tuple[str, ...]:
    """What all indices and aliases of this installation match, and those of no other.

    One for each index: `memoryhub-*` alone would open `memoryhub-two-semantic`, which is another installation's.
    """
    return tuple(pattern for alias in reading_aliases() for pattern in (alias, f"{alias}-*"))


def writing_pattern() -> str:
    """All writing aliases, as a pattern: one that is missing is no error."""
    return ",".join(f"{writing_alias(index_name)}*" for index_name in INDEX_NAMES)


def index_pattern() -> str:
    """What all indices and aliases of this installation match, and perhaps others': for a cluster of one's own."""
    return f"{settings.ELASTICSEARCH_PREFIX}-*"


def key_client(api_key: str) -> Elasticsearch:
    """A client for searches with a member's key (its encoded form). Raises NoCredential for an empty one."""
    if not api_key:
        raise NoCredential("A search needs the key of a member.")
    return _with_key(_base(), api_key)


def service_client(identity: Identity) -> Elasticsearch:
    """A client for one of the application's own identities. Raises NoCredential if it is not configured."""
    credential = settings.ELASTICSEARCH_CREDENTIALS.get(identity.value, "")
    if not credential:
        raise NoCredential(f"Set ELASTICSEARCH_{identity.name} to the credential of the {identity.value}.")
    user, colon, password = credential.partition(":")
    if colon:
        return _base().options(basic_auth=(user, password), request_timeout=SERVICE_SECONDS)
    return _base().options(api_key=credential, request_timeout=SERVICE_SECONDS)


@functools.lru_cache(maxsize=256)
def _with_key(base: Elasticsearch, api_key: str) -> Elasticsearch:
    """Kept, for making one takes 0.6 ms. Whether a key may still be used is not decided here."""
    return base.options(api_key=api_key, request_timeout=SEARCH_SECONDS)


def is_configured(identity: Identity) -> bool:
    """Whether this process was given the credential of `identity`."""
    return bool(settings.ELASTICSEARCH_CREDENTIALS.get(identity.value))


def _base() -> Elasticsearch:
    if not settings.ELASTICSEARCH_URLS:
        raise ImproperlyConfigured("Set ELASTICSEARCH_URL to the address of the cluster.")
    return _connected(tuple(settings.ELASTICSEARCH_URLS), settings.ELASTICSEARCH_CA_CERTS)


@functools.cache
def _connected(urls: tuple[str, ...], ca_certs: str) -> Elasticsearch:
    """The connections of this process, without any credential. Retries are the callers' to decide."""
    # Half a second to import, and everything starts with this module, whether or not there is a cluster.
    from elastic_transport.client_utils import DEFAULT  # noqa: PLC0415
    from elasticsearch import Elasticsearch  # noqa: PLC0415
    from elasticsearch.serializer import NdjsonSerializer, OrjsonSerializer  # noqa: PLC0415

    class JsonLines(NdjsonSerializer):
        """Lines of JSON, written by orjson, which takes vectors as the arrays they are."""

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
