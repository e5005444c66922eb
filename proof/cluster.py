"""Raw requests to the cluster with the key of a member, as a thief of the key could send them.

A request carries the key that it is given and no other credential. Its response is read as a whole, errors included.
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
from proof.world import EndedKey, Persona, Resident, World
from tenants.errors import NoSearchKey
from tenants.models import RetiredKey
from tenants.search_keys import invalidate, provision, revoke_waiting, rotate, search_key, temporary_key

PLANE: Final = "elasticsearch"
UNAUTHORIZED: Final = 401
MISSING: Final = 404
_REFUSED_FROM: Final = 400
# A proof sends many searches at once; whether they are answered counts, and not when.
_TIMEOUT_SECONDS = 30.0
_ENDS_WITHIN_SECONDS = 30.0
_JSON = {"accept": "application/json", "content-type": "application/json"}
_LINES = {"accept": "application/json", "content-type": "application/x-ndjson"}


class KeysMissing(MemoriesError):
    """A member got no search key, or a key that was taken away still opens the cluster."""


@dataclass(frozen=True, slots=True)
class ClusterReply:
    """Status and decoded body of a response of the cluster."""

    status: int
    body: Any

    @property
    def refused(self) -> bool:
        """True for an error."""
        return self.status >= _REFUSED_FROM

    @property
    def text(self) -> str:
        """The body as JSON."""
        return json.dumps(self.body, default=str)

    @property
    def hits(self) -> list[dict[str, Any]]:
        """The documents that a search returned; none of an error."""
        return [] if self.refused else list(self.body["hits"]["hits"])

    @property
    def total(self) -> int:
        """The number of documents that matched; 0 for an error."""
        return 0 if self.refused else int(self.body["hits"]["total"]["value"])


def key_of(resident: Resident) -> str:
    """The key that the product uses for searches of this member."""
    return search_key(resident.principal).encoded


def key_id_of(resident: Resident) -> str:
    """The id of that key."""
    return search_key(resident.principal).key_id


def ask(encoded: str, method: str, path: str, body: Any = None) -> ClusterReply:
    """Send a request with a key; a body that is a list goes as NDJSON."""
    client = key_client(encoded).options(request_timeout=_TIMEOUT_SECONDS)
    headers = _LINES if isinstance(body, list) else _JSON if body is not None else {"accept": "application/json"}
    try:
        reply = client.perform_request(method, path, headers=headers, body=body)
    except ApiError as error:
        return ClusterReply(error.meta.status, error.body)
    return ClusterReply(reply.meta.status, reply.body)


def search(encoded: str, index: str, body: Any) -> ClusterReply:
    """Search the memories of a kind, or the archive."""
    return ask(encoded, "POST", f"/{reading_alias(index)}/_search", body)


def with_keys(world: World) -> World:
    """Give everybody a search key, and end some of the keys: a replaced, an invalidated and those of ghosts.

    Raises KeysMissing; SearchKeysUnavailable.
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
    """The version of the cluster; "unknown" without the manager's credential."""
    try:
        return str(service_client(Identity.MANAGER).info()["version"]["number"])
    except NoCredential:
        return "unknown"


def end_all(membership_ids: Iterable[object]) -> None:
    """End the keys of these members of deactivated tenants at the cluster. Raises KeysMissing if one does not end."""
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
    """Invalidation takes effect within seconds; the attacks report what a key still opens after that."""
    deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
    while time.monotonic() < deadline:
        revoke_waiting()
        if all(ask(key.encoded, "GET", "/_security/_authenticate").status == UNAUTHORIZED for key in ended):
            return
        time.sleep(0.5)
