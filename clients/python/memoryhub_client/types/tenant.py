"""The audit log, the memory policy, erasures and legal holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from memoryhub_client.types.accounts import Asked

Handling = Literal["allow", "mask", "block"]


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """An event of an audit log, without what was written. `fault` is why it does not verify."""

    id: str
    sequence: int
    at: datetime
    action: str
    what: str
    actor: str
    actor_kind: str
    actor_id: str | None
    target_kind: str
    target_id: str | None
    owner_id: str | None
    request_id: str
    erased: bool
    digest: str
    previous_digest: str
    fault: str


@dataclass(frozen=True, kw_only=True)
class AuditEvent(AuditEntry):
    """An event with what was written; empty once it is erased."""

    reason: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Whether a whole chain of events verifies; else `first_bad` and the `reason`."""

    ok: bool
    verified_up_to: int
    digest: str
    erased: int
    first_bad: int | None
    reason: str
    checked_at: datetime


class AppLearning(TypedDict, total=False):
    """What is learned from the words of one app."""

    instructions: str
    categories: Sequence[str]
    never_words: Sequence[str]
    never_topics: Sequence[str]


class _Upstream(TypedDict):
    url: str


class Upstream(_Upstream, total=False):
    """The endpoint of a model's API. A key that is left out stays, unless the url changes."""

    key: str


class ShownUpstream(TypedDict):
    """The endpoint of a model's API, and whether a key is stored for it."""

    url: str
    has_key: bool


class PolicyChange(AppLearning, total=False):
    """Decisions of a tenant; None brings back the default. A key does not change what protects people from programs."""

    apps: Mapping[str, AppLearning]
    recall_mode: Literal["", "push", "pull", "hybrid"]
    recall_threshold: float | None
    recall_items: int | None
    recall_tokens: int | None
    pinned_refresh_turns: int | None
    session_hours: int | None
    consolidate_every: int | None
    consolidate_hours: int | None
    keep_superseded: bool
    keep_originals: bool
    apps_apart: bool
    handling: Mapping[str, Handling]
    second_person: Literal["", "automatic", "always", "never"]
    reason_to_look: bool
    looks_name_staff: bool
    provision_members: bool
    upstreams: Mapping[str, Upstream]
    caller_keys: bool
    limits: Mapping[str, int]
    erasure_delay_hours: int | None
    exports_daily: int | None
    max_token_days: int | None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a tenant decided; None or empty where the default holds."""

    instructions: str
    categories: list[str]
    never_words: list[str]
    never_topics: list[str]
    apps: dict[str, AppLearning]
    recall_mode: str
    recall_threshold: float | None
    recall_items: int | None
    recall_tokens: int | None
    pinned_refresh_turns: int | None
    session_hours: int | None
    consolidate_every: int | None
    consolidate_hours: int | None
    keep_superseded: bool
    keep_originals: bool
    apps_apart: bool
    handling: dict[str, Handling]
    second_person: str
    reason_to_look: bool
    looks_name_staff: bool
    provision_members: bool
    upstreams: dict[str, ShownUpstream]
    caller_keys: bool
    limits: dict[str, int]
    erasure_delay_hours: int | None
    exports_daily: int | None
    max_token_days: int | None
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class MemberErasure(Asked):
    """The erasure of a member. `progress` is what is erased so far, by store."""

    user_id: str | None
    membership_id: str
    reason: str
    asked_by_key: str | None
    decided_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    on_hold: bool
    progress: dict[str, int]
    trouble: str
    has_receipt: bool


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A signed receipt of an erasure (Ed25519)."""

    receipt: dict[str, Any]
    digest: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class ReceiptCheck:
    """Whether a receipt is genuine and nothing of the member is left; `asked` is how many questions were asked."""

    ok: bool
    asked: int
    troubles: list[str]


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A legal hold on a member, or with neither `user_id` nor `owner_id` on the whole tenant."""

    id: str
    user_id: str | None
    owner_id: str | None
    reason: str
    placed_at: datetime
    released_at: datetime | None
