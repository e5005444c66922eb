"""Values that cross layers: enumerations and frozen dataclasses.

This module imports nothing else of the project, so every layer may import it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:  # most of those who import this module need no arrays
    import numpy as np
    from numpy.typing import NDArray


class Kind(TextChoices):
    """What is stored and searched: the four kinds of memory, and the items that programs put."""

    EPISODIC = "episodic", _("episodic")
    SEMANTIC = "semantic", _("semantic")
    PROCEDURAL = "procedural", _("procedural")
    CATALOG = "catalog", _("catalog")
    ITEM = "item", _("item")


# The kinds of memory: what happened, what is true, how to do something, and the shared catalog. Items are no memories.
ALL_KINDS: tuple[Kind, ...] = tuple(kind for kind in Kind if kind is not Kind.ITEM)


class Scope(TextChoices):
    """Where a memory is visible. Readers also see the wider scopes: global > tenant > user > task."""

    GLOBAL = "global", _("global")
    TENANT = "tenant", _("tenant")
    USER = "user", _("user")
    TASK = "task", _("task")


class Status(TextChoices):
    """The state of a memory. Superseded and evicted memories are hidden from recall."""

    ACTIVE = "active", _("active")
    STALE = "stale", _("stale")
    SUPERSEDED = "superseded", _("superseded")
    EVICTED = "evicted", _("evicted")


CURRENT: tuple[Status, ...] = (Status.ACTIVE, Status.STALE)


class Source(TextChoices):
    """The origin of a fact. `CONFIDENCE_OF_SOURCE` gives its initial confidence."""

    USER_STATED = "user_stated", _("user stated")
    IMPORTED = "imported", _("imported")
    CONFIG_CHANGE = "config_change", _("config change")
    TASK_OUTCOME = "task_outcome", _("task outcome")
    AGENT_INFERRED = "agent_inferred", _("agent inferred")
    PATTERN = "pattern", _("pattern")


CONFIDENCE_OF_SOURCE: Mapping[Source, float] = {
    Source.USER_STATED: 1.0,
    Source.IMPORTED: 0.9,
    Source.CONFIG_CHANGE: 0.8,
    Source.TASK_OUTCOME: 0.7,
    Source.AGENT_INFERRED: 0.6,
    Source.PATTERN: 0.4,
}


class Contradiction(TextChoices):
    """How a fact ended: the world changed (natural), or it was never true (harsh)."""

    NATURAL = "natural", _("natural")
    HARSH = "harsh", _("harsh")


class Importance(TextChoices):
    """Importance of a working memory entry. Important and critical entries are proposed as lasting memories."""

    NORMAL = "normal", _("normal")
    IMPORTANT = "important", _("important")
    CRITICAL = "critical", _("critical")


class RecallMode(TextChoices):
    """How memories enter a turn: recalled automatically (push), requested by the agent (pull), or both (hybrid)."""

    PUSH = "push", _("push")
    PULL = "pull", _("pull")
    HYBRID = "hybrid", _("hybrid")


class SecondPerson(TextChoices):
    """Whether a second administrator approves an erasure or the export of a whole memory.

    Automatic: where the tenant has another administrator than the one who asks.
    """

    AUTOMATIC = "automatic", _("where there is another administrator")
    ALWAYS = "always", _("always")
    NEVER = "never", _("never: one administrator erases and exports alone")


class SensitiveKind(StrEnum):
    """Kinds of sensitive values; see `hygiene/sensitivity/`.

    `suspicious` resembles a secret but matches no known format.
    """

    SECRET = "secret"  # noqa: S105 - the name of a kind
    PRIVATE_KEY = "private_key"
    PAYMENT_CARD = "payment_card"
    NATIONAL_ID = "national_id"
    BANK_ACCOUNT = "bank_account"
    PHONE = "phone"
    EMAIL = "email"
    ADDRESS = "address"
    SUSPICIOUS = "suspicious"


# Always blocked. The tenant's policy decides about the other kinds.
HIGH_SEVERITY: frozenset[SensitiveKind] = frozenset(
    {
        SensitiveKind.SECRET,
        SensitiveKind.PRIVATE_KEY,
        SensitiveKind.PAYMENT_CARD,
        SensitiveKind.NATIONAL_ID,
        SensitiveKind.BANK_ACCOUNT,
    }
)


class Handling(StrEnum):
    """How a sensitive value is handled: stored and flagged, masked before storage, or the whole memory refused."""

    ALLOW = "allow"
    MASK = "mask"
    BLOCK = "block"


class WriteResult(StrEnum):
    """The result of a write."""

    CREATED = "created"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    BLOCKED = "blocked"
    QUEUED_FOR_REVIEW = "queued_for_review"


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The result of every writing service.

    `memory_id` is the memory that now holds the text; after a merge, the one that survived. `superseded_ids` are the
    facts or playbooks that it replaced.
    """

    result: WriteResult
    kind: Kind
    memory_id: UUID
    superseded_ids: tuple[UUID, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """The memories that an erasure removed, as (kind, id). Their rows no longer exist."""

    erased: tuple[tuple[Kind, UUID], ...]
    redacted_messages: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The (tenant, user) pair that owns a memory. `user_id` None: shared in the tenant. Both None: global."""

    tenant_id: UUID | None
    user_id: UUID | None


@dataclass(frozen=True, slots=True)
class TurnDocument:
    """What recall scores of an episode beside its vector: word pieces as stored, and its place in its session."""

    pieces: bytes
    session_id: UUID
    sequence: int
    speaker: str
    happened_at: datetime


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A memory as the search plane stores it. `vector` is that of the installation's encoder, in int8 (float x 127).

    `archived` memories were superseded long ago; only searches that include superseded memories read them. `tokens` are
    those of its attributes (`memories/attributes/evaluation.py`), by which filters find it. Episodes have a `turn`.
    """

    id: UUID
    kind: Kind
    version: int
    owner: Owner
    scope: Scope
    task: str
    status: Status
    text: str
    vector: bytes
    archived: bool = False
    tokens: tuple[str, ...] = ()
    turn: TurnDocument | None = None


class Candidate(NamedTuple):
    """A lexical hit, a vector hit or both.

    `lexical` is a positive BM25-like score, `dense` a cosine, `relevance` that of a reranker of the plane, 0 to 1; None
    means no hit.
    """

    id: UUID
    kind: Kind
    lexical: float | None
    dense: float | None
    relevance: float | None = None


class FilterOperator(StrEnum):
    """How a condition compares a field with its value."""

    IN = "in"
    CONTAINS = "contains"
    EXISTS = "exists"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"


Scalar = str | bool | int | float | datetime


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one field: its path, such as ("kind",) or ("metadata", "trip", "to").

    `values` is the list of IN, the one value of the other comparisons, and empty for EXISTS.
    """

    path: tuple[str, ...]
    operator: FilterOperator
    values: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Junction:
    """All of `parts`, or with `every` false any of them."""

    parts: tuple[Filter, ...]
    every: bool = True


@dataclass(frozen=True, slots=True)
class Negation:
    """What `part` does not match."""

    part: Filter


# `memories/attributes/filters.py` reads one from JSON, `memories/attributes/evaluation.py` says what it means.
Filter = Condition | Junction | Negation


@dataclass(frozen=True, slots=True)
class TurnsRequest:
    """A request for `Turns` without those that the caller leaves out.

    `undelivered`: what changed since it was delivered, which is read from the database. `excluded`: what the caller
    must not see; as a hit it still leads to the turns beside it.
    """

    undelivered: Collection[UUID] = ()
    excluded: Collection[UUID] = ()


@dataclass(frozen=True, slots=True)
class Turns:
    """The episodes that a search could find among the principal's own, as arrays, so that recall scores without rows.

    `place` orders the episodes by session and sequence (SESSION_STRIDE in constants.py); `sessions` has the number of a
    session by the bytes of its id. `visible` are indices by ascending place, `hits` those that were found. All other
    columns are by index: hex ids, vectors, word pieces as stored, speaker, time ("YYYY-MM-DD HH:MM:SS", UTC).
    """

    place: NDArray[np.int64]
    visible: NDArray[np.intp]
    hits: NDArray[np.intp]
    sessions: Mapping[bytes, int]
    ids: Sequence[str]
    vectors: NDArray[np.float32]
    pieces: Sequence[bytes]
    speakers: Sequence[str]
    moments: Sequence[str]
    stale: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """The recall pipeline's request to a search plane.

    `terms` are distinct content words in lower case, unstemmed. `vector` returns a float32 array of one dimension,
    L2-normalised, and `encoder` the name of its encoder (None: the installation's). Call them late, because they may
    wait for the encoder. With `vector` None the vector search is skipped. `per_sub_query` limits each sub-query of each
    kind. Superseded memories, archived ones included, are returned only with `include_superseded`. `filters` narrows
    what the principal may see. `text` is the query itself, for a plane that has models of its own. `turns`: the answer
    should have the principal's turns, if the plane holds them.
    """

    kinds: tuple[Kind, ...]
    terms: tuple[str, ...]
    vector: Callable[[], Any] | None
    per_sub_query: int
    task: str = ""
    include_superseded: bool = False
    filters: Filter | None = None
    encoder: Callable[[], str] | None = None
    text: str = ""
    turns: TurnsRequest | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """A search plane's hits for one principal. Documents of other owners never influence them.

    `hits` are unordered. `incomplete` names the owners (the user, the tenant, global) whose part of the index is
    missing; the caller must read their memories from the database. `without_archive` says that the archive was
    requested but could not be searched, so its memories must be read from the database too. `by_words_alone`: some
    documents have vectors of another encoder than the query's, so they were not searched by meaning. `turns` are the
    principal's own, as of this search; None if they were not wanted, or the plane does not hold them.
    """

    hits: tuple[Candidate, ...]
    incomplete: tuple[Owner, ...] = ()
    without_archive: bool = False
    by_words_alone: bool = False
    turns: Turns | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that a recall returns, and why.

    `signals` are the named numbers behind `score`, before and after adjustment. `reasons` say the same for people:
    "same words", "same meaning", "said just after", "about that time", "just written". `since` is when an episode
    happened or a fact was learned; `until` is when it stopped being believed. A fact was true in the world from
    `valid_from` to `valid_to`, if known. A `proposed` playbook is an agent's idea that nobody has accepted.
    """

    kind: Kind
    id: UUID
    text: str
    score: float
    since: datetime | None
    status: Status
    scope: Scope
    title: str = ""
    key: str = ""
    speaker: str = ""
    session_id: UUID | None = None
    until: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: UUID | None = None
    retracted: bool = False
    confidence: float | None = None
    steps: tuple[str, ...] = ()
    trigger: str = ""
    success_count: int = 0
    failure_count: int = 0
    proposed: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    app: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExternalRecord:
    """A hit in the index of the tenant's own that `source` names: no memory, and quoted as a catalog record."""

    source: str
    title: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer of `recall`, best items first. `degraded` says that the search plane did not answer.

    `rows` are the model instances behind the items, as read by this recall. `external` are hits in the tenant's own
    index, best first.
    """

    trace_id: UUID
    query: str
    items: tuple[Recalled, ...]
    degraded: bool
    took_ms: float
    as_of: datetime | None = None
    rows: Mapping[UUID, Any] = field(default_factory=dict, compare=False, repr=False)
    external: tuple[ExternalRecord, ...] = ()
