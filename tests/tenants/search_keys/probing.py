"""The cluster as its administrator sees it, and as the holder of a key does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

from elasticsearch import ApiError, Elasticsearch

from memoryhub.elasticsearch import Identity, key_client, reading_aliases, service_client, writing_alias
from tenants.models import Membership, SearchCredential
from tenants.principal import Principal
from tenants.search_keys import search_key
from tenants.search_keys.cluster import FoundKey, read
from tests.factories import own_principal


def root() -> Elasticsearch:
    """The administrator of the test cluster."""
    return service_client(Identity.SETUP)


def put(visibility: str, tenant_id: UUID | None = None, user_id: UUID | None = None, kind: str = "semantic") -> str:
    """Index a document that can be found at once; return its id."""
    id_ = str(uuid4())
    document = {"id": id_, "visibility": visibility, "status": "active"}
    document |= {"tenant": str(tenant_id)} if tenant_id else {}
    document |= {"user": str(user_id)} if user_id else {}
    root().index(index=writing_alias(kind), id=id_, document=document, refresh=True)
    return id_


def found_with(encoded: str) -> set[str]:
    """The ids of everything that a key finds."""
    hits = key_client(encoded).search(index=",".join(reading_aliases()), size=100)["hits"]["hits"]
    return {hit["_id"] for hit in hits}


def key_of(who: Membership | Principal) -> str:
    """The encoded key of a member."""
    principal = who if isinstance(who, Principal) else own_principal(who)
    return search_key(principal).encoded


def status_of(encoded: str) -> int:
    """How the cluster answers a search with a key."""
    try:
        key_client(encoded).search(index=reading_aliases()[0], size=0)
    except ApiError as error:
        return error.meta.status
    return 200


def status(call: Any, **arguments: Any) -> int:
    """How the cluster answers any call."""
    try:
        answer = call(**arguments)
    except ApiError as error:
        return error.meta.status
    return int(answer.meta.status)


def seen(*key_ids: str) -> dict[str, FoundKey]:
    """These keys as the cluster knows them, once it does: about a second after they were made."""
    for _ in range(60):
        if len(found := read(key_ids)) == len(key_ids):
            return found
        time.sleep(0.1)
    raise AssertionError("The cluster never showed these keys.")


def valid_keys(members: Iterable[Membership]) -> list[str]:
    """The ids of the keys that the cluster takes for these members, by what the keys themselves say."""
    wanted = [{"term": {"metadata.membership": str(member.id)}} for member in members]
    query = {"bool": {"should": wanted, "minimum_should_match": 1, "filter": [{"term": {"invalidated": False}}]}}
    return [key["id"] for key in root().security.query_api_keys(query=query, size=100)["api_keys"]]


def credential(who: Membership | Principal) -> SearchCredential:
    """The row, read anew."""
    membership_id = who.membership_id if isinstance(who, Principal) else who.id
    return SearchCredential.objects.get(membership_id=membership_id)
