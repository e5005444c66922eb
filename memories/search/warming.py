"""Warms up the search cluster: a process makes its first, slow searches before it reports that it is ready.

The wait is limited: a process becomes ready even if the cluster does not respond.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.db import connections

from memories.constants import CANDIDATES_PER_SUB_QUERY
from memories.embedding import encoder_dimensions
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
    """True if the warm-up is done or not needed."""
    return not in_use() or _done.is_set()


def warm() -> int:
    """Run searches with a temporary key that matches no owner; return their number.

    Raises MemoriesError or TenantsError.
    """
    from memories.search.elasticsearch.plane import ElasticsearchPlane  # noqa: PLC0415 - as in memories.search

    key = temporary_key(_NOBODY, _NOBODY, lifetime=KEY_LIFETIME)
    plane = ElasticsearchPlane(lambda _principal: key)
    nobody = Principal(_NOBODY, _NOBODY, _NOBODY, Role.MEMBER, ActorKind.SYSTEM, None)
    anything = np.full(encoder_dimensions(), encoder_dimensions() ** -0.5, np.float32)
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
    """Warm up the searches of a serving process, and mark it as ready in any case."""
    if not in_use():
        return
    try:
        warm()
    except (MemoriesError, TenantsError) as error:
        log.warning("The search cluster could not be warmed up: %s", error)
    finally:
        _done.set()
        connections.close_all()
