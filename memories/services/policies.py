"""Policies: what a tenant's administrators decide about its members' memory; recorded in the tenant's audit log.

Invariant: a policy that is stored is one that the rest of the system can follow. Rules of expiry count for facts that
are written or confirmed from then on: dates that were promised before stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memories.constants import MAX_KEY_CHARACTERS, MAX_RECALL_LIMIT
from memories.errors import InvalidInput, NotFound
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.sensitivity.findings import DECIDABLE
from memories.hygiene.text import clean_text
from memories.models import ExpiryRule, MemoryPolicy
from memories.types import Handling, RecallMode
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.models import User
from tenants.principal import Actor, ActorKind, Principal, Right, Role
from tenants.selectors import administers

_HOURS_A_YEAR = 24 * 365
MAX_DAYS = 100 * 365
# Whole numbers, from and to.
_BOUNDS = {
    "session_hours": (1, _HOURS_A_YEAR),
    "consolidate_every": (1, 10_000),
    "consolidate_hours": (1, _HOURS_A_YEAR),
    "recall_items": (0, MAX_RECALL_LIMIT),
    "recall_tokens": (1, 100_000),
    "pinned_refresh_turns": (1, 1_000),
}
POLICY_FIELDS = (
    *_BOUNDS,
    "recall_mode",
    "recall_threshold",
    "keep_superseded",
    "handling",
    "keep_originals",
    "erasure_needs_second",
)
_DAYS = ("soft_days", "hard_days", "review_days")


def set_policy(by: Principal | Actor, *, tenant_id: UUID, **decisions: object) -> MemoryPolicy:
    """Decide what `decisions` name (see POLICY_FIELDS); None and an empty mode: as by default. The rest stays.

    Raises InvalidInput, and Forbidden for whoever does not administer the tenant.
    """
    actor = administrator(by, tenant_id)
    decided = checked_policy(decisions)
    with transaction.atomic():
        _lock(tenant_id)
        policy = MemoryPolicy.objects.filter(tenant_id=tenant_id).first() or MemoryPolicy(tenant_id=tenant_id)
        before = {name: getattr(policy, name) for name in decided}
        changed = {name: value for name, value in decided.items() if value != before[name]}
        for name, value in changed.items():
            setattr(policy, name, value)
        if changed or policy.pk is None:
            policy.save()
            told = {name: before[name] for name in changed}
            draft = EventDraft("policy.changed", "tenant", tenant_id, before=told, after=changed)
            record_tenant_event(actor, tenant_id, draft)
        return policy


def checked_policy(decisions: Mapping[str, object]) -> dict[str, object]:
    """`decisions` as they are stored. Raises InvalidInput naming the one that cannot be followed."""
    return {name: _checked(name, value) for name, value in decisions.items()}


def set_expiry_rule(
    by: Principal | Actor,
    *,
    tenant_id: UUID,
    category: str,
    soft_days: int | None = None,
    hard_days: int | None = None,
    review_days: int | None = None,
) -> ExpiryRule:
    """Decide how long facts of a category, or of a class (see `hygiene/ageing.py`), live; None: for good.

    Raises InvalidInput, Forbidden.
    """
    actor = administrator(by, tenant_id)
    days = {"soft_days": soft_days, "hard_days": hard_days, "review_days": review_days}
    name = checked_rule(category, days)
    with transaction.atomic():
        _lock(tenant_id)
        rule = ExpiryRule.objects.filter(tenant_id=tenant_id, category=name).first()
        before = {column: getattr(rule, column) for column in days} if rule else None
        if before == days and rule is not None:
            return rule
        rule = rule or ExpiryRule(tenant_id=tenant_id, category=name)
        for column, value in days.items():
            setattr(rule, column, value)
        rule.save()
        _tell_of_rule(actor, tenant_id, "expiry_rule.set", name, before, days)
        return rule


def drop_expiry_rule(by: Principal | Actor, *, tenant_id: UUID, category: str) -> None:
    """Let the default count again. Raises NotFound, Forbidden."""
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        _lock(tenant_id)
        rule = ExpiryRule.objects.filter(tenant_id=tenant_id, category=category.casefold()).first()
        if rule is None:
            raise NotFound("expiry rule")
        before = {column: getattr(rule, column) for column in _DAYS}
        rule.delete()
        _tell_of_rule(actor, tenant_id, "expiry_rule.dropped", rule.category, before, None)


def checked_rule(category: str, days: Mapping[str, int | None]) -> str:
    """The name under which a rule is stored. Raises InvalidInput."""
    clean_text(category, field="category", limit=MAX_KEY_CHARACTERS)
    if holds_secrets(category):
        raise InvalidInput("category", "holds what is not stored, such as a key or a card number.")
    for column, value in days.items():
        if value is not None:
            _whole(column, value, 1, MAX_DAYS)
    soft, hard = days.get("soft_days"), days.get("hard_days")
    if soft is not None and hard is not None and hard < soft:
        raise InvalidInput("hard_days", "is less than soft_days: a fact would be gone before it is to be confirmed.")
    return category.strip().casefold()


def administrator(by: Principal | Actor, tenant_id: UUID) -> Actor:
    """The administrator, platform staff or system that decides, for the audit log. Raises Forbidden."""
    if isinstance(by, Principal):
        by.require(Right.WRITE)
        in_person = by.role is Role.ADMIN and by.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN)
        allowed = by.tenant_id == tenant_id and (in_person or by.actor_kind is ActorKind.SYSTEM)
        actor = Actor(by.actor_kind, by.actor_id, by.request_id)
    else:
        user = User.objects.filter(pk=by.id, is_active=True).first() if by.id else None
        allowed = by.kind is ActorKind.SYSTEM or (
            by.kind is ActorKind.STAFF and user is not None and (user.is_superuser or administers(user, tenant_id))
        )
        actor = by
    if not allowed:
        raise Forbidden("Only an administrator decides how a tenant's memory is kept.")
    return actor


def _lock(tenant_id: UUID) -> None:
    if not wait_for_tenant(tenant_id):
        raise NotFound("tenant")


def _checked(name: str, value: object) -> object:
    if name in _BOUNDS:
        return None if value is None else _whole(name, value, *_BOUNDS[name])
    match name:
        case "recall_mode":
            if value not in ("", *RecallMode):
                raise InvalidInput(name, f"must be one of {', '.join(RecallMode)}, or empty.")
            return str(value)
        case "recall_threshold":
            if value is None:
                return None
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InvalidInput(name, "must be a number.")
            return float(value)
        case "keep_superseded" | "erasure_needs_second":
            return _yes_or_no(name, value)
        case "keep_originals":
            if _yes_or_no(name, value) and settings.PRODUCTION and not settings.MEMORYHUB_ORIGINAL_KEYS:
                raise InvalidInput(name, "needs MEMORYHUB_ORIGINAL_KEYS, which is not set on this installation.")
            return value
        case "handling":
            return _handling(name, value)
        case _:
            raise InvalidInput(name, f"is nothing to decide; known are {', '.join(POLICY_FIELDS)}.")


def _yes_or_no(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(name, "must be true or false.")
    return value


def _handling(name: str, value: object) -> dict[str, str]:
    """What becomes of sensitive values of low severity, by kind; a kind that is left out is flagged."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, "must map kinds to allow, mask or block.")
    decided: dict[str, str] = {}
    for kind, wanted in value.items():
        if kind not in DECIDABLE:
            raise InvalidInput(name, f"decides on {', '.join(DECIDABLE)} alone; all others are always blocked.")
        if wanted not in tuple(Handling):
            raise InvalidInput(name, f"must be one of {', '.join(Handling)} for each kind.")
        decided[str(kind)] = str(wanted)
    return decided


def _whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(name, f"must be a whole number from {least:,} to {most:,}.")
    return value


def _tell_of_rule(
    actor: Actor,
    tenant_id: UUID,
    action: str,
    category: str,
    before: Mapping[str, int | None] | None,
    after: Mapping[str, int | None] | None,
) -> None:
    draft = EventDraft(action, "tenant", tenant_id, category, before=before, after=after)
    record_tenant_event(actor, tenant_id, draft)
