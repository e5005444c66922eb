"""The parameters of a recall: validated, and masked by the tenant's policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import DEFAULT_RECALL_LIMIT, FIRST_YEAR, LAST_YEAR, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.embedding import encoder_name
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import scan
from memories.hygiene.sensitivity.findings import judged
from memories.hygiene.text import clean_text
from memories.selectors.policies import policy_of
from memories.types import ALL_KINDS, Filter, Kind, Recalled
from tenants.principal import Principal

MAX_TASK_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Request:
    """A query and its limits. `cost` returns the tokens of an item; the default is its number of word pieces.

    `encoder`: only vectors of this encoder are loaded.
    """

    query: str
    kinds: tuple[Kind, ...]
    now: datetime
    limit: int = DEFAULT_RECALL_LIMIT
    task: str = ""
    include_superseded: bool = False
    as_of: datetime | None = None
    session_id: UUID | None = None
    exclude: frozenset[UUID] = frozenset()
    token_budget: int | None = None
    threshold: float | None = None
    cost: Callable[[Recalled], int] | None = None
    filters: Filter | None = None
    encoder: str = field(default_factory=encoder_name)

    @property
    def alive_after(self) -> datetime:
        """The time after which a memory must expire to be recalled: the later of now and `as_of`."""
        return self.now if self.as_of is None else max(self.now, self.as_of)


class RecallOptions(TypedDict, total=False):
    """Optional parameters of a recall.

    `include_superseded` adds superseded memories, marked as such. `as_of` answers with the memories that were current
    then. `session_id` is stored in the trace. `exclude_episode_ids` are omitted, so that a turn does not recall itself.
    `token_budget` limits all items together, in tokens as counted by `cost`, or else in word pieces. Items scoring
    below `threshold` are omitted. Ages are relative to `as_of`, or else to `now`. `stored`: the query is a stored
    text, which was screened when it was stored. It is not screened again, and it is cut instead of refused, because the
    labels of masked values are longer than the values. `filters` narrows what is recalled.
    """

    types: Iterable[Kind | str]
    limit: int
    task: str
    include_superseded: bool
    as_of: datetime | None
    session_id: UUID | None
    exclude_episode_ids: Sequence[UUID]
    token_budget: int | None
    threshold: float | None
    cost: Callable[[Recalled], int] | None
    stored: bool
    now: datetime | None
    filters: Filter | None


def checked(principal: Principal, query: str, **options: Unpack[RecallOptions]) -> Request:
    """Validate the parameters and mask sensitive values in the texts. Raises InvalidInput naming the argument."""
    limits: dict[str, Any] = {**options}
    kinds = _kinds(limits.pop("types", ALL_KINDS))
    excluded = frozenset(limits.pop("exclude_episode_ids", ()))
    now = limits.pop("now", None) or timezone.now()
    task = screened(principal, limits.pop("task", ""), limit=MAX_TASK_CHARACTERS)
    query = query[:MAX_QUERY_CHARACTERS] if limits.pop("stored", False) else screened(principal, query)
    request = Request(query, kinds, now, task=task, exclude=excluded, **limits)
    clean_text(request.query, field="query", limit=MAX_QUERY_CHARACTERS)
    clean_text(request.task, field="task", limit=MAX_TASK_CHARACTERS, required=False)
    if not 1 <= request.limit <= MAX_RECALL_LIMIT:
        raise InvalidInput(
            "limit", _("must be between 1 and %(max_recall_limit)s.") % {"max_recall_limit": MAX_RECALL_LIMIT}
        )
    if request.as_of is not None and request.as_of.tzinfo is None:
        raise InvalidInput("as_of", _("needs a time zone."))
    if request.as_of is not None and not FIRST_YEAR <= request.as_of.year <= LAST_YEAR:
        raise InvalidInput(
            "as_of",
            _("lies outside the years %(first_year)s to %(last_year)s.")
            % {"first_year": FIRST_YEAR, "last_year": LAST_YEAR},
        )
    if request.token_budget is not None and request.token_budget < 1:
        raise InvalidInput("token_budget", _("must be at least 1."))
    if request.threshold is not None and not math.isfinite(request.threshold):
        raise InvalidInput("threshold", _("must be a number."))
    return request


def _kinds(types: Iterable[Kind | str]) -> tuple[Kind, ...]:
    try:
        wanted = {Kind(kind) for kind in types}
    except ValueError as error:
        raise InvalidInput("types", _("must be among %(names)s.") % {"names": ", ".join(ALL_KINDS)}) from error
    if not wanted:
        raise InvalidInput("types", _("name at least one of %(names)s.") % {"names": ", ".join(ALL_KINDS)})
    return tuple(kind for kind in Kind if kind in wanted)


def screened(principal: Principal, query: str, *, limit: int = MAX_QUERY_CHARACTERS) -> str:
    """Mask values in `query` that the tenant's policy does not store, and cut what the labels add to `limit`.

    `checked` rejects a query that is too long by itself.
    """
    findings = scan(query) if len(query) <= limit else ()
    return judged(query, findings, policy_of(principal.tenant_id).handling).text[:limit] if findings else query
