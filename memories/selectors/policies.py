"""The memory policy and expiry rules of a tenant, with defaults for everything that it did not decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from memories.constants import (
    AUTOMATIC_RECALL_ITEMS,
    AUTOMATIC_RECALL_TOKENS,
    CONSOLIDATE_AFTER,
    CONSOLIDATE_EVERY,
    ERASURE_DELAY,
    EXPORTS_DAILY,
    PINNED_REFRESH_TURNS,
    SESSION_LIFETIME,
)
from memories.hygiene.ageing import Lifetime
from memories.hygiene.sensitivity.findings import DECIDABLE, USUAL_HANDLING
from memories.models import ExpiryRule, MemberChoices, MemoryPolicy
from memories.types import Handling, RecallMode, SecondPerson, SensitiveKind
from memoryhub.db.compiled_query import Prepared
from memoryhub.env.limits import with_own
from tenants.models import Tenant
from tenants.principal import ActorKind, Principal


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force for one tenant's memories: fields of MemoryPolicy, with defaults applied.

    `policy_for` adds what a member decided: topics, and whether memory `learns` and `recalls`.
    """

    session_lifetime: timedelta = SESSION_LIFETIME
    consolidate_every: int = CONSOLIDATE_EVERY
    consolidate_after: timedelta = CONSOLIDATE_AFTER
    recall_mode: RecallMode = RecallMode.HYBRID
    recall_items: int = AUTOMATIC_RECALL_ITEMS
    recall_tokens: int = AUTOMATIC_RECALL_TOKENS
    recall_threshold: float | None = None
    pinned_refresh_turns: int = PINNED_REFRESH_TURNS
    keep_superseded: bool = False
    keep_originals: bool = False
    apps_apart: bool = False
    second_person: SecondPerson = SecondPerson.AUTOMATIC
    erasure_delay: timedelta = ERASURE_DELAY
    exports_daily: int = EXPORTS_DAILY
    looks_name_staff: bool = True
    provision_members: bool = False
    instructions: str = ""
    categories: tuple[str, ...] = ()
    never_words: tuple[str, ...] = ()
    never_topics: tuple[str, ...] = ()
    learns: bool = True
    recalls: bool = True
    apps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    handling: Mapping[SensitiveKind, Handling] = field(default_factory=lambda: USUAL_HANDLING)
    upstreams: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def in_app(self, app: str) -> Policy:
        """These rules with what the tenant decided for one of its apps: its categories, and more of all else."""
        own = self.apps.get(app)
        if own is None:
            return self
        lines = {name: lines_of(own.get(name, "")) for name in LINES}
        return replace(
            self,
            instructions="\n".join(filter(None, (self.instructions, own.get("instructions", "")))),
            categories=lines["categories"] or self.categories,
            never_words=(*self.never_words, *lines["never_words"]),
            never_topics=(*self.never_topics, *lines["never_topics"]),
        )


def policy_of(tenant_id: UUID) -> Policy:
    """The policy of a tenant: its own values where set, otherwise the defaults."""
    row = _POLICY.first(tenant_id)
    if row is None:
        return Policy()
    own: dict[str, Any] = {name: getattr(row, name) for name in _AS_STORED}
    own["session_lifetime"] = None if row.session_hours is None else timedelta(hours=row.session_hours)
    own["consolidate_after"] = None if row.consolidate_hours is None else timedelta(hours=row.consolidate_hours)
    own["erasure_delay"] = None if row.erasure_delay_hours is None else timedelta(hours=row.erasure_delay_hours)
    own["second_person"] = SecondPerson(row.second_person) if row.second_person else None
    own["recall_mode"] = RecallMode(row.recall_mode) if row.recall_mode else None
    own |= {name: lines_of(getattr(row, name)) for name in LINES}
    decided = {name: value for name, value in own.items() if value is not None}
    return Policy(**decided, handling=_handling(row.handling))


def policy_for(principal: Principal) -> Policy:
    """The policy of the member's tenant, with what the member decided."""
    policy, own = policy_of(principal.tenant_id), choices_of(principal)
    topics = (*policy.never_topics, *lines_of(own.never_topics))
    return replace(policy, never_topics=topics, learns=own.learns, recalls=own.recalls)


def choices_of(principal: Principal) -> MemberChoices:
    """What a member decided about their memory; the defaults, unsaved, if nothing."""
    return _CHOICES.first(principal.membership_id) or MemberChoices(membership_id=principal.membership_id)


# Those that a member switches off; the member in person and staff still read.
_PROGRAMS = (ActorKind.AGENT, ActorKind.TOKEN, ActorKind.KEY)


def may_recall(principal: Principal) -> bool:
    """Whether memories may come up for this caller: not in a temporary chat, nor if the member switched recall off."""
    if principal.recalls is not None:
        return principal.recalls
    return principal.actor_kind not in _PROGRAMS or choices_of(principal).recalls


def wants_reason(tenant: Tenant) -> bool:
    """Whether staff of the tenant state a reason to look; no query if `memory_policy` came with the tenant."""
    policy: MemoryPolicy | None = getattr(tenant, "memory_policy", None)
    return policy is not None and policy.reason_to_look


_AS_STORED = (
    "consolidate_every", "recall_items", "recall_tokens", "recall_threshold", "pinned_refresh_turns",
    "keep_superseded", "keep_originals", "exports_daily", "looks_name_staff",
    "provision_members", "instructions", "apps_apart", "apps", "upstreams",
)  # fmt: skip
# Columns with an entry on each line.
LINES = ("categories", "never_words", "never_topics")


def lines_of(text: str) -> tuple[str, ...]:
    """The entries of a column in LINES."""
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def limits_with(own: Mapping[str, int]) -> dict[str, int]:
    """The limits of use in force, by name, for a tenant with these of its own."""
    return with_own(settings.MEMORYHUB_LIMITS, own)


def keeps_apps_apart(tenant_id: UUID) -> bool:
    """Whether a call that names an app sees only the memories of that app and of none."""
    policy = _POLICY.first(tenant_id)
    return policy is not None and policy.apps_apart


def max_token_days(tenant_id: UUID) -> int | None:
    """The days that a new API token of the tenant may last; None if it did not decide."""
    return MemoryPolicy.objects.filter(tenant_id=tenant_id).values_list("max_token_days", flat=True).first()


def _policy(tenant_id: UUID) -> QuerySet[MemoryPolicy]:
    return MemoryPolicy.objects.filter(tenant_id=tenant_id).order_by()


def _choices(membership_id: UUID) -> QuerySet[MemberChoices]:
    return MemberChoices.objects.filter(membership_id=membership_id).order_by()


def _rules(tenant_id: UUID) -> QuerySet[ExpiryRule, Any]:
    rows = ExpiryRule.objects.filter(tenant_id=tenant_id).order_by()
    return rows.values_list("category", "soft_days", "hard_days", "review_days")


_POLICY = Prepared(_policy)
_CHOICES = Prepared(_choices)
_RULES = Prepared(_rules)


def _handling(decided: Mapping[str, str]) -> Mapping[SensitiveKind, Handling]:
    own = {kind: Handling(decided[kind.value]) for kind in DECIDABLE if kind.value in decided}
    return {**USUAL_HANDLING, **own}


def expiry_rules_of(tenant_id: UUID | None) -> dict[str, Lifetime]:
    """The tenant's lifetimes of facts, by casefolded class or category; empty for None."""
    if tenant_id is None:
        return {}
    return {category.casefold(): Lifetime(*days) for category, *days in _RULES.values(tenant_id)}
