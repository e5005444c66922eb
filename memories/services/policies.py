"""A tenant's memory policy, expiry rules and recall threshold (proposals and daily tuning).

Changes are recorded in the tenant's audit log.

A changed expiry rule applies to facts written or confirmed afterwards; dates that were already set stay.

Recall thresholds are proposed from the tenant's recorded recalls, using numbers only. A proposal changes no policy
until it is applied. Each proposal is applied or dismissed once.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_APP_CHARACTERS, MAX_KEY_CHARACTERS, MAX_RECALL_LIMIT
from memories.errors import Conflict, InvalidInput, MemoriesError, NotFound, existing
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.sensitivity.findings import DECIDABLE
from memories.hygiene.text import clean_text
from memories.models import ExpiryRule, MemoryPolicy, Mention, RecallTrace, Relation, ThresholdProposal
from memories.recall.tuning import propose
from memories.selectors.policies import LINES, lines_of, policy_of
from memories.services.upstreams import checked_upstreams, recorded_upstreams, sealed_upstreams
from memories.types import Handling, RecallMode, SecondPerson
from memories.words import words
from memoryhub.env.limits import DEFAULT_LIMITS, MAX_LIMIT, OPEN_TURNS, Level
from memoryhub.languages import number
from memoryhub.leases import fault_of
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.models import Tenant, User
from tenants.principal import SYSTEM, Actor, ActorKind, KeyHolder, Principal, Right, Role
from tenants.selectors import administers
from tenants.tokens import MAX_TOKEN_DAYS

log = logging.getLogger(__name__)

_HOURS_A_YEAR = 24 * 365
MAX_DAYS = 100 * 365
# Inclusive bounds of whole numbers.
POLICY_BOUNDS = {
    "session_hours": (1, _HOURS_A_YEAR),
    "consolidate_every": (1, 10_000),
    "consolidate_hours": (1, _HOURS_A_YEAR),
    "recall_items": (0, MAX_RECALL_LIMIT),
    "recall_tokens": (1, 100_000),
    "pinned_refresh_turns": (1, 1_000),
    "erasure_delay_hours": (0, 24 * 30),
    "exports_daily": (0, 1_000),
    "max_token_days": (1, MAX_TOKEN_DAYS),
}
_MAX_OPEN_TURNS = 100
# Characters of what a tenant tells the extractor: it is part of every prompt.
POLICY_TEXTS = {"instructions": 4_000, "categories": 4_000, "never_words": 4_000, "never_topics": 4_000}
MAX_LINES = 100
# What one tenant decides for single apps: how many, and characters together. Each write reads all of it.
MAX_APPS, _APPS_CHARACTERS = 50, 64_000
POLICY_FIELDS = (
    *POLICY_BOUNDS,
    *POLICY_TEXTS,
    "apps",
    "recall_mode",
    "recall_threshold",
    "keep_superseded",
    "handling",
    "keep_originals",
    "apps_apart",
    "second_person",
    "reason_to_look",
    "looks_name_staff",
    "limits",
    "provision_members",
    "upstreams",
    "caller_keys",
)
# What a backend key does not change: who approves and looks, what is kept of masked values, the life of keys, and where
# words are sent.
PEOPLES = (
    "second_person", "erasure_delay_hours", "exports_daily", "reason_to_look", "looks_name_staff", "keep_originals",
    "handling", "max_token_days", "limits", "upstreams", "caller_keys",
)  # fmt: skip
_CHOICES: dict[str, tuple[str, ...]] = {"recall_mode": ("", *RecallMode), "second_person": ("", *SecondPerson)}
_SWITCHES = {
    *("keep_superseded", "keep_originals", "apps_apart", "reason_to_look"),
    *("looks_name_staff", "provision_members", "caller_keys"),
}
_DAYS = ("soft_days", "hard_days", "review_days")


def set_policy(by: Principal | Actor | KeyHolder, *, tenant_id: UUID, **decisions: object) -> MemoryPolicy:
    """Set the policy fields in `decisions` (see POLICY_FIELDS). None or an empty mode restores the default.

    Raises InvalidInput, and Forbidden unless the caller administers the tenant. Limits of the whole tenant protect the
    other tenants, so only platform staff change them; PEOPLES protect people from programs, so no key changes them.
    """
    actor = _program(by, tenant_id, decisions) if isinstance(by, KeyHolder) else administrator(by, tenant_id)
    decided = checked_policy(decisions)
    with transaction.atomic():
        _lock(tenant_id)
        policy = MemoryPolicy.objects.filter(tenant_id=tenant_id).first() or MemoryPolicy(tenant_id=tenant_id)
        before = {name: getattr(policy, name) for name in decided}
        if "upstreams" in decided:
            decided["upstreams"] = sealed_upstreams(tenant_id, decided["upstreams"], policy.upstreams)
        changed = {name: value for name, value in decided.items() if value != before[name]}
        if "limits" in changed and _of_tenant(changed["limits"]) != _of_tenant(before["limits"]):
            _require_operator(actor)
        for name, value in changed.items():
            setattr(policy, name, value)
        if changed or policy.pk is None:
            policy.save()
            previous = _as_audited({name: before[name] for name in changed})
            draft = EventDraft("policy.changed", "tenant", tenant_id, before=previous, after=_as_audited(changed))
            record_tenant_event(actor, tenant_id, draft)
        return policy


def _as_audited(decided: Mapping[str, Any]) -> dict[str, Any]:
    """Decisions as the audit log keeps them."""
    return {name: recorded_upstreams(value) if name == "upstreams" else value for name, value in decided.items()}


def checked_policy(decisions: Mapping[str, object]) -> dict[str, Any]:
    """Validate `decisions` and return them as stored. Raises InvalidInput naming the field."""
    return {
        name: _words(name, value) if name in POLICY_TEXTS else _checked(name, value)
        for name, value in decisions.items()
    }


def set_expiry_rule(
    by: Principal | Actor,
    *,
    tenant_id: UUID,
    category: str,
    soft_days: int | None = None,
    hard_days: int | None = None,
    review_days: int | None = None,
) -> ExpiryRule:
    """Set the lifetime of facts of a category or class (see `hygiene/ageing.py`), in days; None: no limit.

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
        draft = EventDraft("expiry_rule.set", "tenant", tenant_id, name, before=before, after=days)
        record_tenant_event(actor, tenant_id, draft)
        return rule


def drop_expiry_rule(by: Principal | Actor, *, tenant_id: UUID, category: str) -> None:
    """Restore the default lifetime of a category. Raises NotFound, Forbidden."""
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        _lock(tenant_id)
        rule = existing(
            ExpiryRule.objects.filter(tenant_id=tenant_id, category=category.casefold()).first(), "expiry rule"
        )
        before = {column: getattr(rule, column) for column in _DAYS}
        rule.delete()
        draft = EventDraft("expiry_rule.dropped", "tenant", tenant_id, rule.category, before=before)
        record_tenant_event(actor, tenant_id, draft)


def checked_rule(category: str, days: Mapping[str, int | None]) -> str:
    """The name under which a rule is stored. Raises InvalidInput."""
    clean_text(category, field="category", limit=MAX_KEY_CHARACTERS)
    if holds_secrets(category):
        raise InvalidInput("category", _("holds what is not stored, such as a key or a card number."))
    for column, value in days.items():
        if value is not None:
            _whole(column, value, 1, MAX_DAYS)
    soft, hard = days.get("soft_days"), days.get("hard_days")
    if soft is not None and hard is not None and hard < soft:
        raise InvalidInput("hard_days", _("is less than soft_days: a fact would be gone before it is to be confirmed."))
    return category.strip().casefold()


def administrator(by: Principal | Actor, tenant_id: UUID) -> Actor:
    """The acting administrator, platform staff or system, for the audit log. Raises Forbidden."""
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
        raise Forbidden(_("Only an administrator decides how a tenant's memory is kept."))
    return actor


def _program(key: KeyHolder, tenant_id: UUID, decisions: Mapping[str, object]) -> Actor:
    """The key as the actor of a change of the policy. Raises Forbidden."""
    key.require(Right.ADMINISTER)
    if key.tenant_id != tenant_id or any(name in PEOPLES for name in decisions):
        raise Forbidden(
            _("A backend key does not change %(names)s; an administrator does.") % {"names": ", ".join(PEOPLES)}
        )
    return key.actor


def _require_operator(actor: Actor) -> None:
    """Raise Forbidden unless the actor is the system or platform staff."""
    user = User.objects.filter(pk=actor.id, is_active=True).first() if actor.id else None
    is_operator = actor.kind is ActorKind.STAFF and user is not None and user.is_superuser
    if actor.kind is not ActorKind.SYSTEM and not is_operator:
        raise Forbidden(_("Only platform staff change what all members of a tenant may use together."))


def _of_tenant(limits: Any) -> dict[str, int]:
    return {name: number for name, number in limits.items() if name.startswith(Level.TENANT)}


def _lock(tenant_id: UUID) -> None:
    if not wait_for_tenant(tenant_id):
        raise NotFound("tenant")


def _checked(name: str, value: object) -> object:
    if name in POLICY_BOUNDS:
        return None if value is None else _whole(name, value, *POLICY_BOUNDS[name])
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            names = {"names": ", ".join(filter(None, _CHOICES[name]))}
            raise InvalidInput(name, _("must be one of %(names)s, or empty.") % names)
        return str(value)
    match name:
        case "recall_threshold":
            if value is None:
                return None
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InvalidInput(name, _("must be a number."))
            return float(value)
        case _ if name in _SWITCHES:
            if not isinstance(value, bool):
                raise InvalidInput(name, _("must be true or false."))
            if name == "keep_originals" and value and settings.PRODUCTION and not settings.MEMORYHUB_ORIGINAL_KEYS:
                raise InvalidInput(name, _("needs MEMORYHUB_ORIGINAL_KEYS, which is not set on this installation."))
            return value
        case "handling" | "limits" | "apps" | "upstreams":
            of_name = {"handling": _handling, "limits": _limits, "apps": _apps, "upstreams": checked_upstreams}
            return of_name[name](name, value)
        case _:
            names = {"names": ", ".join(POLICY_FIELDS)}
            raise InvalidInput(name, _("is nothing to decide; known are %(names)s.") % names)


def _words(name: str, value: object) -> str:
    """A text for the extractor, or a list with an entry on each line."""
    text = clean_text(value, field=name, limit=POLICY_TEXTS[name], required=False)
    if holds_secrets(text):
        raise InvalidInput(name, _("holds what is not stored, such as a key or a card number."))
    if name not in LINES:
        return text.strip()
    lines = lines_of(text)
    if len(lines) > MAX_LINES:
        counts = {"count": len(lines), "max_lines": MAX_LINES}
        raise InvalidInput(name, _("has %(count)s lines; at most %(max_lines)s are allowed.") % counts)
    for line in lines:
        entry = line if name == "never_words" else line.partition(":")[0]
        clean_text(entry, field=name, limit=MAX_KEY_CHARACTERS)
        if not words(entry):
            raise InvalidInput(name, _("needs a word on each line: one has none."))
    return "\n".join(lines)


def _apps(name: str, value: object) -> dict[str, dict[str, str]]:
    """What single apps add to POLICY_TEXTS, by the name of the app; what is empty is left out."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(own, Mapping) for own in value.values()):
        raise InvalidInput(name, _("must map names of apps to %(names)s.") % {"names": ", ".join(POLICY_TEXTS)})
    if len(value) > MAX_APPS:
        counts = {"count": len(value), "max_apps": MAX_APPS}
        raise InvalidInput(name, _("names %(count)s apps; at most %(max_apps)s are allowed.") % counts)
    decided: dict[str, dict[str, str]] = {}
    for app, own in value.items():
        clean_text(app, field=name, limit=MAX_APP_CHARACTERS)
        if holds_secrets(app):
            raise InvalidInput(name, _("has a name that is not stored, such as a key or a card number."))
        if unknown := sorted(set(map(str, own)) - set(POLICY_TEXTS)):
            found = {"names": ", ".join(POLICY_TEXTS), "count": len(unknown)}
            raise InvalidInput(name, _("decides for an app on %(names)s alone, not on %(count)s more.") % found)
        try:
            texts = {field: _words(field, text) for field, text in own.items()}
        except InvalidInput as error:
            raise InvalidInput(f"{name}.{app}.{error.field}", error.reason) from None
        decided[app] = {field: text for field, text in texts.items() if text}
    if sum(len(text) for own in decided.values() for text in own.values()) > _APPS_CHARACTERS:
        raise InvalidInput(
            name,
            _("is too long: at most %(apps_characters)s characters are allowed for all apps together.")
            % {"apps_characters": number(_APPS_CHARACTERS)},
        )
    return decided


def _handling(name: str, value: object) -> dict[str, str]:
    """The handling of low-severity sensitive values by kind. Kinds that are left out are flagged."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, _("must map kinds to allow, mask or block."))
    if not set(value) <= set(DECIDABLE):
        raise InvalidInput(
            name, _("decides on %(names)s alone; all others are always blocked.") % {"names": ", ".join(DECIDABLE)}
        )
    if any(wanted not in tuple(Handling) for wanted in value.values()):
        raise InvalidInput(name, _("must be one of %(names)s for each kind.") % {"names": ", ".join(Handling)})
    return {str(kind): str(wanted) for kind, wanted in value.items()}


def _limits(name: str, value: object) -> dict[str, int]:
    """The limits of use by name. Those that are left out are the installation's."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, _("must map names of limits to numbers."))
    if not set(value) <= set(DEFAULT_LIMITS):
        raise InvalidInput(
            name, _("has a name that is none; known are %(names)s.") % {"names": ", ".join(DEFAULT_LIMITS)}
        )
    return {
        limit: _whole(limit_field(limit), number, 1, _MAX_OPEN_TURNS if limit == OPEN_TURNS else MAX_LIMIT)
        for limit, number in value.items()
    }


def limit_field(limit: str) -> str:
    """The name of a limit in forms and errors."""
    return f"limit_{limit}"


def _whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            name,
            _("must be a whole number from %(least)s to %(most)s.") % {"least": number(least), "most": number(most)},
        )
    return value


# The latest recalled memories that a proposal evaluates, and the traces read per query.
MOST_RECORDED = 20_000
_BATCH = 500


def propose_threshold(by: Principal | Actor, *, tenant_id: UUID) -> ThresholdProposal:
    """Evaluate the recorded recalls of a tenant and store a proposal, even if it proposes no value.

    It dismisses an earlier open proposal. Raises Forbidden, NotFound.
    """
    actor = administrator(by, tenant_id)
    return _store_proposal(actor, tenant_id, list(_recorded(tenant_id)))


def apply_proposal(by: Principal | Actor, *, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    """Set the tenant's threshold to the proposed value.

    Raises Forbidden, NotFound (also for another tenant's), Conflict (already decided, or without a value).
    """
    with _deciding(by, tenant_id, proposal_id, "threshold.applied") as (actor, proposal):
        if proposal.value is None:
            raise Conflict(_("This proposal names no threshold, so there is nothing to apply."))
        set_policy(by, tenant_id=tenant_id, recall_threshold=proposal.value)
        proposal.applied_at, proposal.applied_by = timezone.now(), actor.id
    return proposal


def dismiss_proposal(by: Principal | Actor, *, tenant_id: UUID, proposal_id: int) -> ThresholdProposal:
    """Dismiss a proposal; the policy stays. Raises Forbidden, NotFound, Conflict (already decided)."""
    with _deciding(by, tenant_id, proposal_id, "threshold.dismissed") as (__, proposal):
        proposal.dismissed_at = timezone.now()
    return proposal


@contextmanager
def _deciding(
    by: Principal | Actor, tenant_id: UUID, proposal_id: int, action: str
) -> Iterator[tuple[Actor, ThresholdProposal]]:
    """Yield an open proposal under the tenant's lock, then save and audit it."""
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        _lock(tenant_id)
        proposal = existing(
            ThresholdProposal.objects.filter(tenant_id=tenant_id, pk=proposal_id).first(), "threshold proposal"
        )
        if proposal.applied_at or proposal.dismissed_at:
            raise Conflict(_("This proposal was applied or dismissed already."))
        yield actor, proposal
        proposal.save(update_fields=["applied_at", "applied_by", "dismissed_at"])
        _record_proposal(actor, proposal, action)


def _store_proposal(actor: Actor, tenant_id: UUID, recorded: Sequence[tuple[UUID, float, bool]]) -> ThresholdProposal:
    verdict = propose([(score, used) for _, score, used in recorded])
    with transaction.atomic():
        _lock(tenant_id)
        now = timezone.now()
        ThresholdProposal.objects.filter(tenant_id=tenant_id, applied_at=None, dismissed_at=None).update(
            dismissed_at=now
        )
        proposal = ThresholdProposal.objects.create(
            tenant_id=tenant_id,
            value=verdict.value,
            previous=policy_of(tenant_id).recall_threshold,
            reason=verdict.reason,
            evidence={
                "recalls": len({trace_id for trace_id, _, _ in recorded}),
                "items": verdict.used + verdict.ignored,
                "used": verdict.used,
                "ignored": verdict.ignored,
                "hit_rate": round(verdict.hit_rate, 4),
                "ignored_rate": round(verdict.ignored_rate, 4),
                "values": [asdict(each) for each in verdict.values],
            },
            created_at=now,
        )
        _record_proposal(actor, proposal, "threshold.proposed")
    return proposal


def _record_proposal(actor: Actor, proposal: ThresholdProposal, action: str) -> None:
    after = {"value": proposal.value, "proposal": proposal.pk}
    draft = EventDraft(action, "tenant", proposal.tenant_id, after=after)
    record_tenant_event(actor, proposal.tenant_id, draft)


def _recorded(tenant_id: UUID) -> Iterator[tuple[UUID, float, bool]]:
    """The (trace id, score, used) of recalled memories whose use is known, from the latest `MOST_RECORDED` mentions."""
    rows = (
        Mention.objects.unscoped("tuning of a tenant")
        .filter(tenant_id=tenant_id, relation=Relation.RECALLED, used__isnull=False)
        .exclude(message__recall_id=None)
        .order_by("-id")
        .values_list("message__recall_id", "memory_id", "used")[:MOST_RECORDED]
    )
    used = {(trace_id, str(memory_id)): taken for trace_id, memory_id, taken in rows}
    traces = list(dict.fromkeys(trace_id for trace_id, _ in used))
    for start in range(0, len(traces), _BATCH):
        found = RecallTrace.objects.unscoped("tuning of a tenant").filter(
            tenant_id=tenant_id, pk__in=traces[start : start + _BATCH]
        )
        for trace_id, candidates in found.values_list("pk", "candidates"):
            for line in candidates:
                taken = used.get((trace_id, line.get("id")))
                if taken is not None:
                    yield trace_id, float(line["score"]), taken


def tune_daily() -> None:
    """Propose a new threshold to each tenant, and apply it if `MEMORYHUB_TUNE_RECALL` is "apply".

    A value is new if it differs from the tenant's threshold and from the last proposal, so a dismissed proposal does
    not return every day.
    """
    if settings.MEMORYHUB_TUNE_RECALL == "off":
        return
    for tenant_id in Tenant.objects.filter(is_active=True).order_by("id").values_list("id", flat=True):
        try:
            _tune(tenant_id)
        except MemoriesError as error:  # the proposal or tenant is gone, or an administrator decided first
            log.info("No threshold for tenant %s: %s", tenant_id, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - one tenant's fault must not stop the others
            log.error("No threshold for tenant %s: %s", tenant_id, fault_of(error))  # noqa: TRY400 - a message may quote a row


def _tune(tenant_id: UUID) -> None:
    recorded = list(_recorded(tenant_id))
    value = propose([(score, used) for _, score, used in recorded]).value
    last = ThresholdProposal.objects.filter(tenant_id=tenant_id).order_by("-created_at", "-pk").first()
    if value in (None, policy_of(tenant_id).recall_threshold, last.value if last else None):
        return
    with transaction.atomic():  # rolls back the proposal too if applying it fails
        proposal = _store_proposal(SYSTEM, tenant_id, recorded)
        if settings.MEMORYHUB_TUNE_RECALL == "apply":
            apply_proposal(SYSTEM, tenant_id=tenant_id, proposal_id=proposal.pk)
