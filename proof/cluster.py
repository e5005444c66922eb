"""Raw requests to Elasticsearch with a member's key, as a thief of the key could send them.

A request carries the given key and no other credential. Error responses are returned, not raised.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from elasticsearch import ApiError

from memories.errors import MemoriesError
from memoryhub.elasticsearch import Identity, NoCredential, key_client, reading_alias, service_client
from proof.requests import BUSY, Overloaded
from proof.world import EndedKey, Persona, Resident, World
from tenants.errors import NoSearchKey
from tenants.models import RetiredKey
from tenants.search_keys import invalidate, provision, revoke_waiting, rotate, search_key, temporary_key

PLANE: Final = "elasticsearch"
UNAUTHORIZED: Final = 401
MISSING: Final = 404
_REFUSED_FROM: Final = 400
_REJECTED: Final = frozenset({"es_rejected_execution_exception", "circuit_breaking_exception"})
# Many searches run at once; only their answers matter, not their time.
_TIMEOUT_SECONDS = 30.0
_ENDS_WITHIN_SECONDS = 30.0
_JSON = {"accept": "application/json", "content-type": "application/json"}
_LINES = {"accept": "application/json", "content-type": "application/x-ndjson"}


class KeysMissing(MemoriesError):
    """A member got no search key, or an ended key still works."""


@dataclass(frozen=True, slots=True)
class ClusterReply:
    """The status and decoded body of a response."""

    status: int
    body: Any

    @property
    def refused(self) -> bool:
        """True for status 400 and above."""
        return self.status >= _REFUSED_FROM

    @property
    def text(self) -> str:
        """The body as JSON."""
        return json.dumps(self.body, default=str)

    @property
    def hits(self) -> list[dict[str, Any]]:
        """The hits of a search; empty for an error."""
        return [] if self.refused else list(self.body["hits"]["hits"])

    @property
    def total(self) -> int:
        """The number of documents that matched; 0 for an error."""
        return 0 if self.refused else int(self.body["hits"]["total"]["value"])


def key_of(resident: Resident) -> str:
    """The member's search key, as the product uses it."""
    return search_key(resident.principal).encoded


def key_id_of(resident: Resident) -> str:
    """The id of the member's search key."""
    return search_key(resident.principal).key_id


def ask(encoded: str, method: str, path: str, body: Any = None) -> ClusterReply:
    """Send a request with a key; a list is sent as NDJSON. Raises Overloaded if the cluster did not do all of it."""
    client = key_client(encoded).options(request_timeout=_TIMEOUT_SECONDS)
    headers = _LINES if isinstance(body, list) else _JSON if body is not None else {"accept": "application/json"}
    try:
        reply = client.perform_request(method, path, headers=headers, body=body)
    except ApiError as error:
        if error.meta.status in BUSY:
            raise Overloaded(str(error.meta.status)) from error
        return ClusterReply(error.meta.status, error.body)
    if isinstance(reply.body, dict) and (reply.body.get("timed_out") or _shards_failed(reply.body)):
        raise Overloaded("partial")  # a part of an answer would count too little
    return ClusterReply(reply.meta.status, reply.body)


def _shards_failed(body: dict[str, Any]) -> bool:
    shards = body.get("_shards")
    return isinstance(shards, dict) and any(
        failure.get("status") in BUSY or failure.get("reason", {}).get("type") in _REJECTED
        for failure in shards.get("failures", [])
    )


def search(encoded: str, index: str, body: Any) -> ClusterReply:
    """Search the index of a kind, or the archive."""
    return ask(encoded, "POST", f"/{reading_alias(index)}/_search", body)


def with_keys(world: World) -> World:
    """Make everybody's search keys, and end some: a replaced one, an invalidated one, and the ghosts'.

    Raises KeysMissing, SearchKeysUnavailable.
    """
    for resident in world.residents:
        if resident.persona is not Persona.GHOST:
            _require_key(resident)
    first = world.of(Persona.RESIDENT)[0]
    replaced = EndedKey(first, key_of(first))
    rotate(first.membership, grace=timedelta(0))
    taken = temporary_key(first.principal.tenant_id, first.principal.user_id, lifetime=timedelta(hours=1))
    invalidate([taken.key_id])
    ended = (*world.ended_keys, replaced, EndedKey(first, taken.encoded))
    _await_end(ended)
    return replace(world, ended_keys=ended)


def ghost_key(resident: Resident) -> EndedKey:
    """The key of a member who is about to be deactivated."""
    _require_key(resident)
    return EndedKey(resident, key_of(resident))


def version() -> str:
    """Elasticsearch's version; "unknown" without the manager's credential."""
    try:
        return str(service_client(Identity.MANAGER).info()["version"]["number"])
    except NoCredential:
        return "unknown"


def end_all(membership_ids: Iterable[object]) -> None:
    """End these members' keys after their tenants were deactivated. Raises KeysMissing if one does not end in time."""
    wanted = list(membership_ids)
    deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
    while True:
        revoke_waiting()
        if not RetiredKey.objects.filter(membership_id__in=wanted).exists():
            return
        if time.monotonic() > deadline:
            raise KeysMissing("The cluster does not end the keys of the proof's members; run the proof again later.")
        time.sleep(0.5)


def _require_key(resident: Resident) -> None:
    provision(resident.membership)
    try:
        search_key(resident.principal)
    except NoSearchKey as error:
        raise KeysMissing(f"A new member got no search key: {error}") from error


def _await_end(ended: Iterable[EndedKey]) -> None:
    """Wait until the keys are invalid, which takes seconds; attacks report keys that still work after the deadline."""
    deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
    while time.monotonic() < deadline:
        revoke_waiting()
        if all(ask(key.encoded, "GET", "/_security/_authenticate").status == UNAUTHORIZED for key in ended):
            return
        time.sleep(0.5)
