"""Views of batches: entries that are stored each with a result of its own, and each for its member.

A token, and a backend key that names a user for the whole call, store all entries for that member. A key that names
nobody acts, entry by entry, for the user that the entry names, in that user's database scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from rest_framework.exceptions import ValidationError

from memories.api.acting import USER_FIELD, Acts, acting_for, user_of_entry
from memories.api.authentication import READ_WRITE
from memories.api.problems import members_of, problem_of
from memories.api.serializers.bulk import (
    BatchRequest,
    BatchResponse,
    ConversationRequest,
    MessagesBatchRequest,
    MessagesBatchResponse,
)
from memories.api.views.base import ApiView, checked, operation
from memories.api.views.calls import CALLS_A_MODEL, record
from memories.api.views.memories import new_memory, status_of
from memories.errors import InvalidInput, MemoriesError
from memories.services.admission import admit_more, units_of
from memories.services.apps import in_app
from memories.services.batches import BatchEntry, remember_batch
from memories.types import WriteOutcome
from memoryhub.env.limits import Bucket
from tenants.errors import Forbidden, TenantsError
from tenants.principal import KeyHolder, Principal

Numbered = Mapping[int, Any]
_ONE_MEMBER = "Only a backend key that names no user for the whole batch names one in an entry."


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of an entry that was stored, as the single call answers it."""

    status: int
    answer: Mapping[str, Any]


EntryResult = Stored | Exception
# Stores the entries of one member; the outcome of each.
Store = Callable[[Principal, Numbered], Mapping[int, EntryResult]]


class EntriesView(ApiView):
    """Base of batches."""

    acts = Acts.FOR_EITHER
    limits_length = False

    def stored(self, entries: Sequence[Any], store: Store, nothing: Mapping[str, Any]) -> dict[str, Any]:
        """The results of the entries, in order; one that was refused has the fields `nothing` and a problem."""
        found = self._for_users(entries, store) if isinstance(self.caller, KeyHolder) else self._own(entries, store)
        results = [self._shown(found[number], nothing) for number in range(len(entries))]
        refused = sum(each["problem"] is not None for each in results)
        return {"stored": len(results) - refused, "refused": refused, "results": results}

    def acting(self, principal: Principal, app: str) -> Principal:
        """The principal in the app of an entry, or else in that of the call. Raises InvalidInput."""
        app = app or self.app
        return in_app(principal, app) if app else principal

    def _own(self, entries: Sequence[Any], store: Store) -> dict[int, EntryResult]:
        numbered = dict(enumerate(entries))
        named = [number for number, each in numbered.items() if isinstance(each, dict) and USER_FIELD in each]
        found: dict[int, EntryResult] = dict.fromkeys(named, Forbidden(_ONE_MEMBER))
        rest = {number: each for number, each in numbered.items() if number not in found}
        return found | dict(store(cast("Principal", self.request.auth), rest))

    def _for_users(self, entries: Sequence[Any], store: Store) -> dict[int, EntryResult]:
        faults: dict[int, Exception] = {}
        of_user: dict[str, dict[int, Any]] = {}
        for number, each in enumerate(entries):
            try:
                user_id, rest = user_of_entry(each)
                of_user.setdefault(user_id, {})[number] = rest
            except InvalidInput as error:
                faults[number] = error
        if not of_user:
            raise faults[0]
        found: dict[int, EntryResult] = {**faults}
        self.commit_attempt()
        for user_id, some in of_user.items():
            try:
                with acting_for(self.key, user_id) as principal:
                    found |= store(principal, some)
            except (MemoriesError, TenantsError) as error:
                found |= dict.fromkeys(some, error)
        return found

    def _shown(self, outcome: EntryResult, nothing: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(outcome, Stored):
            return {"status": outcome.status, **outcome.answer, "problem": None}
        problem = problem_of(outcome, stores=True)
        if problem is None:  # no refusal, but a fault
            raise outcome
        return {"status": problem.status, **nothing, "problem": members_of(self.request._request, problem)}


class BatchView(EntriesView):
    """Many memories in one call."""

    @operation("memories_batch", READ_WRITE, takes=BatchRequest, gives=BatchResponse)
    def post(self, memories: Sequence[Any]) -> dict[str, Any]:
        """Store up to 1,000 memories, each with a result of its own. One that is refused stops no other."""
        return self.stored(memories, self._store, {"id": None, "result": None, "superseded_ids": [], "reason": ""})

    def _store(self, principal: Principal, memories: Numbered) -> dict[int, EntryResult]:
        admit_more(principal, Bucket.ENTRIES, sum(units_of(len(str(each))) for each in memories.values()))
        found: dict[int, EntryResult] = {}
        entries: dict[int, BatchEntry] = {}
        acting: dict[str, Principal] = {}
        for number, each in memories.items():
            try:
                kind, app, fields = new_memory(each)
                if app not in acting:
                    acting[app] = self.acting(principal, app)
                entries[number] = BatchEntry(acting[app], kind, fields)
            except (ValidationError, MemoriesError) as error:
                found[number] = error
        for number, outcome in remember_batch(principal, entries).items():
            found[number] = _written(outcome) if isinstance(outcome, WriteOutcome) else outcome
        return found


def _written(outcome: WriteOutcome) -> Stored:
    shown = {"id": outcome.memory_id, "result": outcome.result, "superseded_ids": outcome.superseded_ids}
    return Stored(status_of(outcome), shown | {"reason": outcome.reason})


class MessagesBatchView(EntriesView):
    """Messages of several conversations in one call."""

    @operation(
        "messages_batch", READ_WRITE, takes=MessagesBatchRequest, gives=MessagesBatchResponse, also=CALLS_A_MODEL
    )
    def post(self, conversations: Sequence[Any]) -> dict[str, Any]:
        """Store the messages of up to 100 conversations or turns, each with a result of its own.

        They are stored in this order for each user. One that is refused stops no other.
        """
        return self.stored(conversations, self._store, {"answer": None})

    def _store(self, principal: Principal, conversations: Numbered) -> dict[int, EntryResult]:
        found: dict[int, EntryResult] = {}
        entries: dict[int, dict[str, Any]] = {}
        for number, each in conversations.items():
            try:
                entries[number] = checked(ConversationRequest, each)
            except ValidationError as error:
                found[number] = error
        admit_more(principal, Bucket.MODEL_TOKENS, 0)  # a key's call was admitted for the tenant alone
        messages = chain.from_iterable(each["messages"] for each in entries.values())
        admit_more(principal, Bucket.ENTRIES, sum(units_of(len(str(each))) for each in messages))
        self.commit_attempt()
        for number, fields in entries.items():
            try:
                status, answer = record(self.acting(principal, fields.pop("app")), **fields)
                found[number] = Stored(status, {"answer": answer})
            except (MemoriesError, TenantsError) as error:
                found[number] = error
        return found
