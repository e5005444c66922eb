"""What is recalled for a request to a model, and what is stored after its answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from django.db import DatabaseError

from memories.agent.context import context_of
from memories.api.dropin.wires import Json, Spoken, Wire
from memories.constants import MAX_MESSAGE_CHARACTERS
from memories.errors import InvalidInput, MemoriesError, SearchForbidden
from memories.selectors.policies import policy_for
from memories.selectors.sessions import find_session
from memories.services.admission import admit_length
from memories.services.sessions.exchanges import record_exchange
from memories.services.sessions.messages import check_session_id
from memories.types import RecallMode
from memoryhub.env.limits import Bucket
from tenants.errors import TenantsError
from tenants.principal import Principal, Right

log = logging.getLogger(__name__)

MEMORY_FIELD, MEMORY_HEADER = "memory", "X-Memoryhub-Memory"
SESSION_HEADER, NOTE_HEADER = "X-Memoryhub-Session", "X-Memoryhub-Note"
# Of longer words, the beginning and the end are searched for.
_QUERY_HALF = 4_000


class MemoryMode(StrEnum):
    """What a call does with memory: nothing, recall, or recall and store."""

    OFF = "off"
    READ = "read"
    FULL = "full"


class RecallState(StrEnum):
    """What became of a recall. None: there was nothing to ask; unavailable: the answer was made without."""

    NONE = "none"
    OK = "ok"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class AugmentedRequest:
    """A request with what was recalled for it. `new_session`: storing it will begin one."""

    body: Json
    mode: MemoryMode
    spoken: Spoken | None = None
    session: str = ""
    new_session: bool = False
    recall: RecallState = RecallState.NONE
    recalled: tuple[str, ...] = ()

    @property
    def headers(self) -> Mapping[str, str]:
        """What the answer says about it."""
        said = {MEMORY_HEADER: self.mode.value, "X-Memoryhub-Recall": self.recall.value}
        if self.recalled:
            said["X-Memoryhub-Recalled"] = ",".join(self.recalled)
        if self.session and self.session.isascii() and self.session.isprintable():
            said[SESSION_HEADER] = self.session
        return said

    @property
    def note(self) -> bytes:
        """The same as a comment of a stream of events, which clients skip."""
        said = {"memory": self.mode, "recall": self.recall, "recalled": self.recalled, "session": self.session}
        return f": memoryhub {json.dumps(said)}\n\n".encode()


def mode_of(headers: Mapping[str, str], body: Json) -> MemoryMode:
    """The mode that a call asks for, in the body, which loses it, or else in the header. Raises InvalidInput."""
    wanted = headers.get(MEMORY_HEADER, MemoryMode.FULL)
    if isinstance(body.get(MEMORY_FIELD), str):  # anything else is a member of the model's own API
        wanted = body.pop(MEMORY_FIELD)
    if wanted not in tuple(MemoryMode):
        raise InvalidInput(MEMORY_FIELD, f"must be one of {', '.join(MemoryMode)}.")
    return MemoryMode(wanted)


def augment(principal: Principal, wire: Wire, body: Json, mode: MemoryMode, session: str = "") -> AugmentedRequest:
    """Recall what bears on the user's latest words, and put it into the request.

    Raises InvalidInput (the session's id), Forbidden, LimitExceeded (words that are too many at once).
    """
    check_session_id(session)
    for right in {MemoryMode.OFF: (), MemoryMode.READ: (Right.READ,)}.get(mode, (Right.READ, Right.WRITE)):
        principal.require(right)
    spoken = wire.spoken(body)
    if mode is MemoryMode.OFF or spoken is None:
        return AugmentedRequest(body, mode)
    admit_length(principal, Bucket.TURNS, len(spoken.text))
    policy = policy_for(principal)
    if len(spoken.text) > MAX_MESSAGE_CHARACTERS or not policy.learns:
        mode = MemoryMode.READ
    session = session or f"chat-{spoken.opening[:24]}{'-' if principal.app else ''}{principal.app}"
    row = find_session(principal, session)
    request = AugmentedRequest(body, mode, spoken, session, new_session=row is None and mode is MemoryMode.FULL)
    if policy.recall_mode is RecallMode.PULL or not policy.recall_items or not policy.recalls:
        return request
    return _recalled(principal, wire, request, spoken)


def _recalled(principal: Principal, wire: Wire, request: AugmentedRequest, spoken: Spoken) -> AugmentedRequest:
    body, query = request.body, spoken.text
    if len(query) > 2 * _QUERY_HALF:
        query = f"{query[:_QUERY_HALF]}\n{query[-_QUERY_HALF:]}"
    state, ids = RecallState.UNAVAILABLE, []
    try:
        found = context_of(principal, query)
    except (SearchForbidden, InvalidInput, DatabaseError) as error:
        log.warning("A drop-in is answered without a recall: %s", type(error).__name__)
    else:
        state = RecallState.DEGRADED if found.recall.degraded else RecallState.OK
        ids = list(dict.fromkeys([*(str(item.id) for item in found.items), *(str(fact.pk) for fact in found.profile)]))
        body = wire.with_record(body, spoken, found.text) if ids or found.external else body
    return replace(request, body=body, recall=state, recalled=tuple(ids))


def store(principal: Principal, request: AugmentedRequest, answer: str) -> bool:
    """Store the user's words and the answer, if the call wants that; False if it was not possible."""
    spoken = request.spoken
    if request.mode is not MemoryMode.FULL or spoken is None:
        return True
    try:
        record_exchange(
            principal,
            session=request.session,
            conversation=spoken.conversation,
            said=spoken.text if spoken.is_new else "",
            name=spoken.name,
            answer=answer,
        )
    except (MemoriesError, TenantsError, DatabaseError) as error:
        # The model has answered: the client gets that, and the log says what was not stored.
        log.warning("An answered request of a drop-in was not stored: %s", type(error).__name__)
        return False
    return True
