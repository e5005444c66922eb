"""Raw requests to the cluster with the key of a member: what somebody could ask who got hold of one.

Invariant: a request carries the key that it was given and nothing else, and its answer is read as a whole, errors too.
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
from proof.residents import EndedKey, Part, Resident, World
from tenants.errors import NoSearchKey
from tenants.models import RetiredKey
from tenants.search_keys import invalidate, provision, revoke_waiting, rotate, search_key, temporary_key

PLANE: Final = "elasticsearch"
REFUSED_FROM: Final = 400
UNAUTHORIZED: Final = 401
MISSING: Final = 404
# Searches of a proof are many and at once; only whether they are answered counts, not when.
_SECONDS = 30.0
_ENDS_WITHIN_SECONDS = 30.0
_JSON = {"accept": "application/json", "content-type": "application/json"}
_LINES = {"accept": "application/json", "content-type": "application/x-ndjson"}


class KeysMissing(MemoriesError):
    """Somebody got no search key, or one that was taken away still opens the cluster."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the cluster said."""

    status: int
    body: Any

    @property
    def refused(self) -> bool:
        """Whether it was an error."""
        return self.status >= REFUSED_FROM

    @property
    def text(self) -> str:
        """Everything in it."""
        return json.dumps(self.body, default=str)

    @property
    def total(self) -> int:
        """How many documents matched."""
        return int(self.body["hits"]["total"]["value"]) if not self.refused else 0


def key_of(resident: Resident) -> str:
    """The key that the product would search with for this member."""
    return search_key(resident.principal).encoded


def ask(encoded: str, method: str, path: str, body: Any = None) -> Answer:
    """Send anything with a key; a list as a body goes as lines."""
    client = key_client(encoded).options(request_timeout=_SECONDS)
    headers = _LINES if isinstance(body, list) else _JSON if body is not None else {"accept": "application/json"}
    try:
        answer = client.perform_request(method, path, headers=headers, body=body)
    except ApiError as error:
        return Answer(error.meta.status, error.body)
    return Answer(answer.meta.status, answer.body)


def search(encoded: str, shelf: str, body: Any) -> Answer:
    """Search the memories of a kind, or the archive."""
    return ask(encoded, "POST", f"/{reading_alias(shelf)}/_search", body)


def key_id_of(resident: Resident) -> str:
    """The id of that key."""
    return search_key(resident.principal).key_id


def prepared(world: World) -> World:
    """See that everybody has a key, and take some away again that should open nothing from now on.

    Raises KeysMissing; SearchKeysUnavailable.
    """
    for resident in world.residents:
        if resident.part is not Part.GHOST:
            _require_key(resident)
    first = world.of(Part.RESIDENT)[0]
    replaced = EndedKey(first, "replaced", key_of(first))
    rotate(first.membership, grace=timedelta(0))
    taken = temporary_key(first.principal.tenant_id, first.principal.user_id, lifetime=timedelta(hours=1))
    invalidate([taken.key_id])
    ended = (*world.ended_keys, replaced, EndedKey(first, "invalidated", taken.encoded))
    _await_end(ended)
    return replace(world, ended_keys=ended)


def version() -> str:
    """The version of the cluster, if the manager is configured here."""
    try:
        return str(service_client(Identity.MANAGER).info()["version"]["number"])
    except NoCredential:
        return "unknown"


def remembered(resident: Resident) -> EndedKey:
    """The key of somebody who is about to be deactivated, kept by them."""
    _require_key(resident)
    return EndedKey(resident, "deactivated", key_of(resident))


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
    """Taking a key away takes effect within seconds; what it still opens after that is reported by the attacks."""
    deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
    while time.monotonic() < deadline:
        revoke_waiting()
        if all(ask(key.encoded, "GET", "/_security/_authenticate").status == UNAUTHORIZED for key in ended):
            return
        time.sleep(0.5)
