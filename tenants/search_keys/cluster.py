"""Search keys and service identities at Elasticsearch: their names, their rights, and requests about keys.

Keys are named `<prefix>:<membership id>:<number>`, or `<prefix>:temporary:<random>`. A member's key may search the
reading aliases, each limited by a query. Elasticsearch gives a key with empty descriptors all rights of the minter, so
keys are never requested without descriptors. `mint` and `setup` send these descriptors; verification and `check`
compare with them. No error repeats Elasticsearch's answer or any part of a key.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.conf import settings

from memoryhub.elasticsearch import Identity, NoCredential, index_patterns, key_client, reading_aliases, service_client
from tenants.errors import SearchKeysUnavailable
from tenants.models import KeyTrouble

TEMPORARY = "temporary"


def installation() -> str:
    """The prefix of all names of this installation."""
    prefix: str = settings.ELASTICSEARCH_PREFIX
    return prefix


def member_key_name(membership_id: UUID, number: int) -> str:
    """The name of the member's `number`-th key."""
    return f"{installation()}:{membership_id}:{number}"


def temporary_key_name() -> str:
    """A random name for a key that belongs to no membership."""
    return f"{installation()}:{TEMPORARY}:{secrets.token_hex(8)}"


def is_temporary(name: str) -> bool:
    """Whether the name is that of a temporary key."""
    return name.startswith(f"{installation()}:{TEMPORARY}:")


def belongs_here(name: str) -> bool:
    """Whether the name is that of a key of this installation."""
    return name.startswith(f"{installation()}:")


ROLE = "member"
# Actions instead of the privilege `read`: it also allows term vectors, explanations and gets, which reveal documents
# that the query hides.
SEARCH_ACTIONS = ("indices:data/read/search", "indices:data/read/msearch")

Descriptors = Mapping[str, Mapping[str, Any]]


class UnlimitedKey(Exception):
    """A key would have more rights than searching one member's documents; it was not requested."""


def member_query(tenant_id: UUID, user_id: UUID) -> dict[str, Any]:
    """The documents that a member may find: their own, those shared in their tenant, those shared by all tenants.

    Every clause requires a term, so nobody finds a document without an owner (a tombstone).
    """
    tenant = {"term": {"tenant": str(tenant_id)}}
    own = [{"term": {"visibility": "user"}}, tenant, {"term": {"user": str(user_id)}}]
    shared = [{"term": {"visibility": "tenant"}}, tenant]
    return {
        "bool": {
            "should": [
                {"bool": {"filter": own}},
                {"bool": {"filter": shared}},
                {"term": {"visibility": "global"}},
            ],
            "minimum_should_match": 1,
        }
    }


def member_descriptors(aliases: Iterable[str], *, tenant_id: UUID, user_id: UUID) -> dict[str, dict[str, Any]]:
    """The role descriptors of a member's key: one entry for each alias, by exact name, each with `member_query`."""
    query = json.dumps(member_query(tenant_id, user_id))
    entries = [{"names": [alias], "privileges": list(SEARCH_ACTIONS), "query": query} for alias in aliases]
    return {ROLE: {"cluster": [], "indices": entries}}


def require_limited(descriptors: Descriptors, aliases: Iterable[str]) -> None:
    """Raise UnlimitedKey unless these descriptors allow only searches, one entry per alias, limited by a query."""
    if len(descriptors) != 1:
        raise UnlimitedKey("A member's key has exactly one role.")
    (role,) = descriptors.values()
    if role.get("cluster") or role.keys() - {"cluster", "indices"}:
        raise UnlimitedKey("A member's key has no rights but those on indices.")
    opened = sorted(name for entry in role.get("indices", ()) for name in entry.get("names", ()))
    if not opened or opened != sorted(aliases):
        raise UnlimitedKey("A member's key opens each reading alias once, and nothing else.")
    for entry in role["indices"]:
        if len(entry["names"]) != 1 or set(entry.get("privileges", ())) != set(SEARCH_ACTIONS):
            raise UnlimitedKey("A member's key may search, and nothing else.")
        if not _limits(entry.get("query")):
            raise UnlimitedKey("A member's key needs a query for each alias.")


def _limits(query: object) -> bool:
    try:
        parsed = json.loads(query) if isinstance(query, str) else query
    except ValueError:
        return False
    return isinstance(parsed, dict) and bool(parsed) and "match_all" not in parsed


SERVICES = (Identity.INDEXER, Identity.MINTER, Identity.MANAGER, Identity.CHECKER)

# Actions instead of the privilege `index`: with it an update can return the document, so the indexer could read
# everything, and it may change the mapping. A name also covers the action's parts on shards.
_WRITING = (
    "indices:data/write/bulk",
    "indices:data/write/index",
    "indices:data/write/delete",
    "indices:admin/aliases/get",
    "indices:admin/mappings/get",  # the mapping names the encoder of an index
    "maintenance",
)


@dataclass(frozen=True, slots=True)
class Rights:
    """Privileges on the cluster, and on indices by their exact names or patterns."""

    cluster: frozenset[str]
    indices: Mapping[str, frozenset[str]]

    @property
    def role(self) -> dict[str, Any]:
        """The role body of Elasticsearch's API."""
        grouped: dict[frozenset[str], list[str]] = {}
        for name, privileges in self.indices.items():
            grouped.setdefault(privileges, []).append(name)
        entries = [{"names": names, "privileges": sorted(privileges)} for privileges, names in grouped.items()]
        return {"cluster": sorted(self.cluster), "indices": entries}


def role_name(identity: Identity) -> str:
    """The name of an identity's role."""
    return f"{installation()}-{identity.value}"


def rights_of(identity: Identity) -> Rights:
    """The exact rights of a service identity. Raises ValueError for SETUP, which has no role here."""
    everything = index_patterns()
    match identity:
        case Identity.INDEXER:
            return _rights([], everything, _WRITING)
        case Identity.MINTER:
            # A key has the rights that both its maker and its descriptors have, so the minter needs the right to
            # search.
            return _rights(["manage_own_api_key"], reading_aliases(), SEARCH_ACTIONS)
        case Identity.MANAGER:
            reading = ["read_ilm"] if settings.ELASTICSEARCH_ARCHIVE_POLICY else []
            return _rights(["manage_index_templates", "monitor", *reading], everything, ["manage"])
        case Identity.CHECKER:
            return _rights([], everything, SEARCH_ACTIONS)
        case _:
            raise ValueError(f"The {identity.value} has no role of its own.")


def _rights(cluster: Sequence[str], names: Sequence[str], privileges: Sequence[str]) -> Rights:
    return Rights(frozenset(cluster), {name: frozenset(privileges) for name in names})


if TYPE_CHECKING:
    from elasticsearch import ApiError, Elasticsearch

# A user waits while a key is made; after this the next run of `mint_waiting` makes it.
MINT_SECONDS = 2.0
PAGE = 500
_OK, _UNAUTHORIZED, _FORBIDDEN, _MISSING = 200, 401, 403, 404
_PROOF = "responses.status,responses.error.reason"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Minted:
    """A new key; `encoded` is its secret."""

    key_id: str
    encoded: str = field(repr=False)
    minted_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key as Elasticsearch describes it, without its secret."""

    key_id: str
    name: str
    created_at: datetime
    expires_at: datetime | None
    invalidated: bool
    metadata: Mapping[str, Any]
    descriptors: Descriptors

    def is_valid_at(self, now: datetime) -> bool:
        """Whether Elasticsearch accepts the key."""
        return not self.invalidated and (self.expires_at is None or now < self.expires_at)


def mint(
    *, name: str, lifetime: timedelta, tenant_id: UUID, user_id: UUID, membership_id: UUID | None = None
) -> Minted:
    """Make a key for a member's searches. Raises UnlimitedKey before the request, SearchKeysUnavailable."""
    aliases = reading_aliases()
    descriptors = member_descriptors(aliases, tenant_id=tenant_id, user_id=user_id)
    require_limited(descriptors, aliases)
    whose = {"prefix": installation(), "tenant": tenant_id, "user": user_id, "membership": membership_id}
    seconds = max(1, int(lifetime.total_seconds()))
    answer = _asked(
        lambda: _minter(MINT_SECONDS).security.create_api_key(
            name=name,
            role_descriptors=descriptors,
            expiration=f"{seconds}s",
            metadata={key: str(value) for key, value in whose.items() if value},
            refresh=False,
        )
    )
    with _as_promised():
        expires_at = _moment(answer["expiration"])
        return Minted(answer["id"], answer["encoded"], expires_at - timedelta(seconds=seconds), expires_at)


def prove(encoded: str) -> None:
    """Search with a key as recall does. Raises SearchKeysUnavailable if an alias fails; a missing alias is allowed."""
    from elastic_transport import TransportError  # noqa: PLC0415 - as in _asked
    from elasticsearch import ApiError  # noqa: PLC0415

    searches = [line for alias in reading_aliases() for line in ({"index": alias}, {"size": 0})]
    try:
        answer = key_client(encoded).msearch(searches=searches, filter_path=_PROOF)
    except TransportError as error:
        raise unavailable(KeyTrouble.UNREACHABLE) from error
    except ApiError as error:
        raise unavailable(KeyTrouble.UNPROVEN) from error
    with _as_promised():
        failed = [each for each in answer["responses"] if each["status"] not in {_OK, _MISSING}]
        licence = any("license" in str(each.get("error")) for each in failed)
    if failed:
        raise unavailable(KeyTrouble.LICENCE if licence else KeyTrouble.UNPROVEN)


def invalidate(key_ids: Sequence[str]) -> set[str]:
    """Invalidate these keys; returns those that Elasticsearch reports as invalidated. Raises SearchKeysUnavailable.

    Missing from the answer are keys younger than about a second, which Elasticsearch does not find yet, and keys that
    had expired: `read` tells them apart.
    """
    answer = _asked(lambda: _minter(MINT_SECONDS).security.invalidate_api_key(ids=list(key_ids), owner=True))
    with _as_promised():
        return {*answer["invalidated_api_keys"], *answer["previously_invalidated_api_keys"]}


def read(key_ids: Sequence[str]) -> dict[str, FoundKey]:
    """The given keys as Elasticsearch describes them; unknown ones are left out. Raises SearchKeysUnavailable."""
    found: dict[str, FoundKey] = {}
    for start in range(0, len(key_ids), PAGE):
        query = {"ids": {"values": list(key_ids[start : start + PAGE])}}
        with _as_promised():
            found |= {key.key_id: key for key in map(_found, _page(query))}
    return found


def every_valid_key() -> Iterator[FoundKey]:
    """All keys of this installation that were not invalidated, oldest first. Raises SearchKeysUnavailable."""
    filters: list[dict[str, Any]] = [{"prefix": {"name": f"{installation()}:"}}, {"term": {"invalidated": False}}]
    sort: list[dict[str, Any]] = [{"creation": {"order": "asc"}}, {"name": {"order": "asc"}}]
    after: list[Any] | None = None
    while True:
        keys = _page({"bool": {"filter": filters}}, sort=sort, search_after=after)
        with _as_promised():
            found = [_found(key) for key in keys]
            after = keys[-1]["_sort"] if len(keys) == PAGE else None
        yield from (key for key in found if belongs_here(key.name))
        if after is None:
            return


def unavailable(trouble: KeyTrouble) -> SearchKeysUnavailable:
    """The error of a trouble."""
    return SearchKeysUnavailable(trouble.value, trouble.sentence)


def trouble_of(error: ApiError) -> KeyTrouble:
    """Classify an error response without repeating it."""
    reason = ""
    with suppress(KeyError, TypeError):
        reason = str(error.body["error"]["reason"])
    if "license" in reason or "no handler found" in str(error.body):
        return KeyTrouble.LICENCE
    if error.meta.status in {_UNAUTHORIZED, _FORBIDDEN}:
        return KeyTrouble.REFUSED
    return KeyTrouble.FAILED


def _asked(request: Callable[[], Answer]) -> Answer:
    # Imported here because it takes half a second, and services load this module even without Elasticsearch.
    from elastic_transport import TransportError  # noqa: PLC0415
    from elasticsearch import ApiError  # noqa: PLC0415

    try:
        return request()
    except NoCredential as error:
        raise unavailable(KeyTrouble.CONFIGURATION) from error
    except TransportError as error:
        raise unavailable(KeyTrouble.UNREACHABLE) from error
    except ApiError as error:
        raise unavailable(trouble_of(error)) from None


def _page(query: Mapping[str, Any], **options: Any) -> list[dict[str, Any]]:
    answer = _asked(lambda: _minter().security.query_api_keys(query=query, size=PAGE, **options))
    with _as_promised():
        keys: list[dict[str, Any]] = answer["api_keys"]
    return keys


@contextmanager
def _as_promised() -> Iterator[None]:
    """Guards reading an answer: a malformed one, for instance of a proxy, raises SearchKeysUnavailable."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise unavailable(KeyTrouble.FAILED) from None


def _minter(seconds: float | None = None) -> Elasticsearch:
    client = service_client(Identity.MINTER)
    return client if seconds is None else client.options(request_timeout=seconds)


def _found(key: Mapping[str, Any]) -> FoundKey:
    expiration = key.get("expiration")
    return FoundKey(
        key_id=key["id"],
        name=key["name"],
        created_at=_moment(key["creation"]),
        expires_at=None if expiration is None else _moment(expiration),
        invalidated=key["invalidated"],
        metadata=key.get("metadata") or {},
        descriptors=key.get("role_descriptors") or {},
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
