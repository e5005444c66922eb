"""Warming up: a process makes its first searches, which are slow at the cluster, before it reports that it is ready.

A process becomes ready whether or not the cluster answers; waiting for it is bounded.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.db import connections

from memories.constants import CANDIDATES_PER_SUB_QUERY, EMBEDDING_DIMENSIONS
from memories.errors import MemoriesError
from memories.types import ALL_KINDS, CandidateRequest
from memoryhub.elasticsearch import in_use
from tenants.errors import TenantsError
from tenants.principal import ActorKind, Principal, Role
from tenants.search_keys import invalidate, temporary_key

log = logging.getLogger(__name__)

# After a restart of the cluster some 20 requests took up to half a second each (measured, docs/scale.md).
SEARCHES = 20
LONGEST_SECONDS = 20.0
KEY_LIFETIME = timedelta(minutes=5)
_NOBODY = UUID(int=0)
_done = threading.Event()


def ready() -> bool:
    """Whether this process need not wait for its warming, or has waited long enough."""
    return not in_use() or _done.is_set()


def warm() -> int:
    """Search for nobody, with a key for nobody; return how often. Raises MemoriesError, TenantsError."""
    from memories.search.elasticsearch.plane import ElasticsearchPlane  # noqa: PLC0415 - as in memories.search

    key = temporary_key(_NOBODY, _NOBODY, lifetime=KEY_LIFETIME)
    plane = ElasticsearchPlane(lambda _principal: key)
    nobody = Principal(_NOBODY, _NOBODY, _NOBODY, Role.MEMBER, ActorKind.SYSTEM, None)
    anything = np.full(EMBEDDING_DIMENSIONS, EMBEDDING_DIMENSIONS**-0.5, np.float32)
    words = ("warm", "words")
    request = CandidateRequest(ALL_KINDS, words, lambda: anything, CANDIDATES_PER_SUB_QUERY, include_superseded=True)
    give_up = time.monotonic() + LONGEST_SECONDS
    made = 0
    try:
        while made < SEARCHES and time.monotonic() < give_up:
            plane.candidates(nobody, request)
            made += 1
    finally:
        invalidate([key.key_id])
    return made


def warm_up() -> None:
    """Warm the searches of a serving process, and let it become ready."""
    if not in_use():
        return
    try:
        warm()
    except (MemoriesError, TenantsError) as error:
        log.warning("The search cluster could not be warmed up: %s", error)
    finally:
        _done.set()
        connections.close_all()
