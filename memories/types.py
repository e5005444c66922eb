"""Values that cross layers: enumerations and frozen dataclasses, no Django, no I/O.

Nothing here imports another module of the project, so every layer may import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import TextChoices


class Kind(TextChoices):
    """What a memory is: what happened, what is true, what works, what is shared."""

    EPISODIC = "episodic", "episodic"
    SEMANTIC = "semantic", "semantic"
    PROCEDURAL = "procedural", "procedural"
    CATALOG = "catalog", "catalog"


ALL_KINDS: tuple[Kind, ...] = tuple(Kind)


class Scope(TextChoices):
    """Where a memory is visible; reads inherit downward: global > tenant > user > task."""

    GLOBAL = "global", "global"
    TENANT = "tenant", "tenant"
    USER = "user", "user"
    TASK = "task", "task"


class Status(TextChoices):
    """The state of a memory; superseded and evicted ones are hidden from recall."""

    ACTIVE = "active", "active"
    STALE = "stale", "stale"
    SUPERSEDED = "superseded", "superseded"
    EVICTED = "evicted", "evicted"


CURRENT: tuple[Status, ...] = (Status.ACTIVE, Status.STALE)


class Source(TextChoices):
    """Where a fact comes from; `CONFIDENCE_OF_SOURCE` gives each its first confidence."""

    USER_STATED = "user_stated", "user stated"
    IMPORTED = "imported", "imported"
    CONFIG_CHANGE = "config_change", "config change"
    TASK_OUTCOME = "task_outcome", "task outcome"
    AGENT_INFERRED = "agent_inferred", "agent inferred"
    PATTERN = "pattern", "pattern"


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

    NATURAL = "natural", "natural"
    HARSH = "harsh", "harsh"


class Importance(TextChoices):
    """How much an entry of the working memory matters; from important on it is proposed as a lasting memory."""

    NORMAL = "normal", "normal"
    IMPORTANT = "important", "important"
    CRITICAL = "critical", "critical"


class RecallMode(TextChoices):
    """How memories come into a turn: by themselves (push), by the agent's asking (pull), or both."""

    PUSH = "push", "push"
    PULL = "pull", "pull"
    HYBRID = "hybrid", "hybrid"


class SensitiveKind(StrEnum):
    """What should not lie in a memory; see `hygiene/sensitivity/`. `suspicious`: like a secret, of no known form."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    PRIVATE_KEY = "private_key"
    PAYMENT_CARD = "payment_card"
    NATIONAL_ID = "national_id"
    BANK_ACCOUNT = "bank_account"
    PHONE = "phone"
    EMAIL = "email"
    ADDRESS = "address"
    SUSPICIOUS = "suspicious"


# Blocked whatever a tenant decides; the others are handled as its policy says.
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
    """What becomes of a sensitive value: stored and flagged, masked before it is stored, or the memory is refused."""

    ALLOW = "allow"
    MASK = "mask"
    BLOCK = "block"


class WriteResult(StrEnum):
    """What a write did."""

    CREATED = "created"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    BLOCKED = "blocked"
    QUEUED_FOR_REVIEW = "queued_for_review"


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The answer of every writing service.

    `memory_id` is the memory that now holds what was said (the survivor, for a merge);
    `superseded_ids` are the facts or playbooks that it replaced.
    """

    result: WriteResult
    kind: Kind
    memory_id: UUID
    superseded_ids: tuple[UUID, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ForgetOutcome:
    """What an erasure removed, by kind; the ids are those of rows that no longer exist."""

    erased: tuple[tuple[Kind, UUID], ...]
    redacted_messages: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The (tenant, user) pair whose memory it is. `user_id` None: shared in the tenant; both None: global."""

    tenant_id: UUID | None
    user_id: UUID | None


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A memory as a search plane holds it. `vector` is int8 bytes (x 127), `EMBEDDING_DIMENSIONS` long.

    `archived`: it was superseded long ago, and only searches that include superseded memories look for it.
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit by words, by meaning, or both: `lexical` a positive BM25-like score, `dense` a cosine; None: no hit."""

    id: UUID
    kind: Kind
    lexical: float | None
    dense: float | None


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """What the recall pipeline asks a search plane.

    `terms` are content words (lower case, unstemmed, distinct); `vector` gives a float32 numpy array, L2-normalised,
    `EMBEDDING_DIMENSIONS` long (it may wait for the encoder: ask late), or is None to skip the search by meaning.
    `per_sub_query` bounds each sub-query of each kind. Superseded memories, archived ones among them, come back only if
    `include_superseded`.
    """

    kinds: tuple[Kind, ...]
    terms: tuple[str, ...]
    vector: Callable[[], Any] | None
    per_sub_query: int
    task: str = ""
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a search plane found for one principal, and nothing that another owner's documents could move.

    `hits` come in no particular order. `incomplete` names the owners (the principal, their tenant, or global) whose
    part of the plane is missing: their memories have to come from the database. `without_archive`: the archive was
    asked and could not be searched, so what may be in it has to come from there as well.
    """

    hits: tuple[Candidate, ...]
    incomplete: tuple[Owner, ...] = ()
    without_archive: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that a recall returns, with why.

    `signals` are the named numbers behind `score` (before and after adjustment); `reasons` are the same in words for
    people: "same words", "same meaning", "said just after", "about that time", "just written".
    `since` is when it happened (episodes) or when it was learned; `until` when it stopped being believed. A fact was
    true in the world from `valid_from` to `valid_to`, as far as that is known.
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
    signals: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer of `recall`: items best first; `degraded` says that the search plane did not answer.

    `rows` are the memories behind the items, as they were read.
    """

    trace_id: UUID
    query: str
    items: tuple[Recalled, ...]
    degraded: bool
    took_ms: float
    as_of: datetime | None = None
    rows: Mapping[UUID, Any] = field(default_factory=dict, compare=False, repr=False)
