"""Admin forms for a tenant's memory policy and expiry rules."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from itertools import product
from typing import Any, TypeVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from memories.errors import InvalidInput, NotFound
from memories.hygiene.sensitivity.findings import DECIDABLE, USUAL_HANDLING, short, with_article
from memories.models import ExpiryRule, MemoryPolicy
from memories.selectors.policies import Policy
from memories.services.admin_requests import confirm_policy
from memories.services.policies import (
    POLICY_FIELDS,
    checked_policy,
    checked_rule,
    drop_expiry_rule,
    limit_field,
    set_expiry_rule,
    set_policy,
)
from memories.staff.base import REFUSALS
from memories.types import Handling, SensitiveKind
from memoryhub.env.limits import DEFAULT_LIMITS, OPEN_TURNS, Bucket, Level, limit_name
from memoryhub.languages import gettext_lazy, number
from tenants.admin.scoping import TenantScopedAdmin, acting, signed_in
from tenants.tokens import MAX_TOKEN_DAYS, TOKEN_DAYS

Decided = TypeVar("Decided", bound=Model)


class DecidingAdmin(TenantScopedAdmin[Decided]):
    """Rows of the tenants that the reader administers; `fixed` fields cannot be changed after creation."""

    fixed: tuple[str, ...] = ("tenant",)
    refusals = REFUSALS

    def get_readonly_fields(self, request: HttpRequest, obj: Decided | None = None) -> list[Any]:  # noqa: ARG002
        return [] if obj is None else [*self.fixed]


def field_error(error: InvalidInput) -> ValidationError:
    """Attach a service's refusal to its form field; a dot leads into the field's value."""
    name, __, inside = error.field.partition(".")
    subject = inside or _("This")
    return ValidationError({name: f"{subject} {error.reason}"})


_USUAL = Policy()
_HOUR = timedelta(hours=1)


# The form has one choice for each kind of sensitive value; the model stores them as JSON. Upstreams are set by the API.
_JSON = ("handling", "limits", "upstreams")
_COLUMNS = tuple(name for name in POLICY_FIELDS if name not in _JSON)
_CHOICES = {
    Handling.ALLOW: gettext_lazy("keep it, flagged"),
    Handling.MASK: gettext_lazy("take it out of the words"),
    Handling.BLOCK: gettext_lazy("refuse the memory"),
}


_SENSITIVE = gettext_lazy(
    "How sensitive values are handled in memories. If a memory is refused, the conversation keeps the message with the "
    "value masked. Passwords, keys, and card, bank account and ID numbers are always refused."
)


_CHOSEN = {"recall_mode", "second_person"}
_STAFF_RULES = ("second_person", "erasure_delay_hours", "exports_daily", "reason_to_look", "looks_name_staff")
_LINES_SHOWN = 4
_LEARNING = ("instructions", "categories", "never_words", "never_topics", "apps")
_OPENING = gettext_lazy(
    "How memory works for everybody in the organisation. Every field has a default that works: change only what you "
    "need."
)
_LOOSENED = gettext_lazy(
    "What an administrator loosens here counts a day later: no second person less, no shorter delay, no more exports "
    "until then."
)
_LIMITS = gettext_lazy(
    "How much may be used; beyond that a request is refused with the time to wait, and nothing is lost. Platform staff "
    "decide for all members together."
)


def _with_default(text: str, default: int) -> StrOrPromise:
    return format_lazy("{} {}", text, format_lazy(gettext_lazy("Empty: {default}."), default=_counted(default)))


def _question(kind: SensitiveKind) -> str:
    return _("If the text contains %(value)s") % {"value": with_article(kind)}


_question_of, _counted = lazy(_question, str), lazy(number, str)


def _field_of(kind: SensitiveKind) -> str:
    return f"handling_{kind.value}"


class HandlingForm(forms.ModelForm[MemoryPolicy]):
    """The handling of each kind of sensitive value."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in DECIDABLE:
            self.initial.setdefault(_field_of(kind), self.instance.handling.get(kind.value, ""))

    def handling(self) -> dict[str, str]:
        """The chosen handling by kind, without the kinds left at the default."""
        chosen = {kind.value: self.cleaned_data.get(_field_of(kind), "") for kind in DECIDABLE}
        return {kind: wanted for kind, wanted in chosen.items() if wanted}


for _kind in DECIDABLE:
    HandlingForm.base_fields[_field_of(_kind)] = forms.ChoiceField(
        label=_question_of(_kind),
        required=False,
        widget=forms.Select,
        choices=[("", gettext_lazy("Default")), *((each.value, words) for each, words in _CHOICES.items())],
        help_text=format_lazy(gettext_lazy("Default: {handling}."), handling=_CHOICES[USUAL_HANDLING[_kind]]),
    )


_LIMITED = {
    Bucket.READS: gettext_lazy("reads a minute (pages, lists, recalls)"),
    Bucket.WRITES: gettext_lazy("changes a minute"),
    Bucket.ENTRIES: gettext_lazy("entries of batches and imports an hour"),
    Bucket.TURNS: gettext_lazy("messages a minute"),
    Bucket.SESSIONS: gettext_lazy("new conversations a day"),
    Bucket.MODEL_TOKENS: gettext_lazy("tokens of the language model a day"),
}
_ANYBODY = {
    Level.TOKEN: gettext_lazy("One API token"),
    Level.MEMBER: gettext_lazy("One member"),
    Level.TENANT: gettext_lazy("All members together"),
}


class LimitsForm(HandlingForm):
    """The limits of use. `operator`: platform staff fill it in, who alone decide on those of the whole tenant."""

    operator = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for limit in DEFAULT_LIMITS:
            field = self.fields[limit_field(limit)]
            field.disabled = limit.startswith(Level.TENANT) and not self.operator
            usual = {"number": number(settings.MEMORYHUB_LIMITS.get(limit, DEFAULT_LIMITS[limit]))}
            if limit.startswith(Level.TOKEN):
                field.help_text = _("Empty: %(number)s, and at most half of one member's.") % usual
            else:
                field.help_text = _("Empty: %(number)s.") % usual
            self.initial.setdefault(limit_field(limit), self.instance.limits.get(limit))

    def limits(self) -> dict[str, int]:
        """The numbers that were filled in, by limit."""
        chosen = {limit: self.cleaned_data.get(limit_field(limit)) for limit in DEFAULT_LIMITS}
        return {limit: most for limit, most in chosen.items() if most is not None}


for _level, _bucket in product(Level, Bucket):
    LimitsForm.base_fields[limit_field(limit_name(_level, _bucket))] = forms.IntegerField(
        label=format_lazy("{}: {}", _ANYBODY[_level], _LIMITED[_bucket]), required=False, widget=forms.TextInput
    )
LimitsForm.base_fields[limit_field(OPEN_TURNS)] = forms.IntegerField(
    label=gettext_lazy("One member: messages that are answered at the same time (of several, API tokens leave one)"),
    required=False,
    widget=forms.TextInput,
)


class MemoryPolicyForm(LimitsForm):
    """The memory policy of a tenant; an empty field takes the default."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields.keys() & set(_LEARNING):
            self.fields[name].widget.attrs["rows"] = _LINES_SHOWN
        for name in self.fields.keys() & _CHOSEN:
            field: Any = self.fields[name]
            field.choices = [("", _("Default")), *field.choices[1:]]

    class Meta:
        model = MemoryPolicy
        fields = ["tenant", *_COLUMNS]
        labels = {
            "never_words": gettext_lazy("Words never remembered"),
            "never_topics": gettext_lazy("Topics never remembered"),
            "apps": gettext_lazy("What single apps add"),
        }
        help_texts = {
            "session_hours": _with_default(
                gettext_lazy("Hours after its last turn at which a session discards its working memory."),
                _USUAL.session_lifetime // _HOUR,
            ),
            "consolidate_every": _with_default(
                gettext_lazy("Consolidate a member's events once this many are new."), _USUAL.consolidate_every
            ),
            "consolidate_hours": _with_default(
                gettext_lazy("…or once the oldest has waited this many hours."), _USUAL.consolidate_after // _HOUR
            ),
            "recall_mode": gettext_lazy(
                "Push: the agent is given memories with each turn. Pull: it asks for them. Hybrid: both. Empty: hybrid."
            ),
            "recall_items": _with_default(
                gettext_lazy("The most memories that one automatic recall returns."), _USUAL.recall_items
            ),
            "recall_tokens": _with_default(
                gettext_lazy("The most tokens that all automatic recalls of a turn may use."), _USUAL.recall_tokens
            ),
            "pinned_refresh_turns": _with_default(
                gettext_lazy("Move the pinned facts forward in the prompt every this many turns."),
                _USUAL.pinned_refresh_turns,
            ),
            "recall_threshold": gettext_lazy("Memories that score below this are left out. Empty: no threshold."),
            "keep_superseded": gettext_lazy(
                "The garbage collection never archives, evicts or erases a replaced memory."
            ),
            "keep_originals": gettext_lazy(
                "When a value is masked, keep the original text too, encrypted; only the member can "
                "open it. Otherwise the value is lost."
            ),
            "apps_apart": gettext_lazy(
                "An agent that names itself (app) sees only the memories that it wrote, and those of no "
                "app. Otherwise all agents of the tenant share a member's memory."
            ),
            "second_person": gettext_lazy(
                "Whether another administrator approves an erasure, or the export of a whole memory. "
                "Empty: where there is one. Always: a lone administrator needs platform staff. Never: one "
                "administrator, or whoever has their password, erases any member."
            ),
            "erasure_delay_hours": _with_default(
                gettext_lazy(
                    "Hours between the approval of an erasure and its beginning; until then it can be withdrawn. "
                    "0: it begins at once."
                ),
                _USUAL.erasure_delay // _HOUR,
            ),
            "exports_daily": _with_default(
                gettext_lazy("Whole memories that one person may ask for in 24 hours."), _USUAL.exports_daily
            ),
            "reason_to_look": gettext_lazy(
                "Support, auditors and administrators state a reason before they open a member's memory; "
                "it holds for an hour, and the member sees it."
            ),
            "looks_name_staff": gettext_lazy(
                "Members see the names of those who looked at their memory; otherwise only the roles."
            ),
            "provision_members": gettext_lazy(
                "A backend key makes a member on first use of an id that nobody has. Otherwise such "
                "an id is unknown until the member was made."
            ),
            "caller_keys": gettext_lazy(
                "A program may send a model key of its own with a request to /v1/… "
                "(X-Memoryhub-Upstream-Key). "
                "The model endpoints themselves are set by the API (PATCH /api/v1/tenant/policy/)."
            ),
            "instructions": gettext_lazy(
                "What matters when memories are learned, in words for the model that does it: “We sell "
                "bicycles. Note sizes, brands and repairs.” It narrows the rules and replaces none."
            ),
            "categories": gettext_lazy(
                "The categories that learned facts get, one on each line, each with a colon and what it is "
                "for: “repairs: what was mended, and when”. Empty: those of the model or the rule set."
            ),
            "never_words": gettext_lazy(
                "Words or phrases, one on each line. What holds one, in any case, is kept out of memory: a "
                "message stays in its transcript only, a fact or how-to is refused. Memories from before stay."
            ),
            "never_topics": gettext_lazy(
                "Topics, one on each line, with terms after a colon: “health: doctor, back pain”. A text "
                "with all words of a topic or of a term, in any order, is kept out likewise. The models are asked to "
                "remember nothing of the topics, in whatever words; a model may err."
            ),
            "apps": gettext_lazy(
                "For each agent of yours that names itself (app): its categories in place of these, and more "
                'instructions, words and topics. {"planner": {"never_topics": "health", "categories": "trips"}}'
            ),
            "max_token_days": format_lazy(
                gettext_lazy(
                    "The most days that a new API token works. Empty: {most}; a token without a date gets {days}."
                ),
                most=_counted(MAX_TOKEN_DAYS),
                days=TOKEN_DAYS,
            ),
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            checked_policy({name: self.cleaned_data[name] for name in _COLUMNS if name in self.cleaned_data})
            checked_policy({"limits": self.limits()})
        except InvalidInput as error:
            raise field_error(error) from error
        return cleaned


@admin.register(MemoryPolicy)
class MemoryPolicyAdmin(DecidingAdmin[MemoryPolicy]):
    """The policies, at most one for each tenant; a tenant without one uses the defaults."""

    empty_words = gettext_lazy("No policy yet: every tenant uses the defaults.")
    form = MemoryPolicyForm
    fieldsets = [
        (None, {"fields": ["tenant"], "description": _OPENING}),
        (gettext_lazy("Erasures, exports and looks"), {"fields": _STAFF_RULES, "description": _LOOSENED}),
        (gettext_lazy("What is learned"), {"fields": _LEARNING}),
        (gettext_lazy("Limits of use"), {"fields": [*map(limit_field, DEFAULT_LIMITS)], "description": _LIMITS}),
        (
            gettext_lazy("Sensitive values"),
            {"fields": [*map(_field_of, DECIDABLE), "keep_originals"], "description": _SENSITIVE},
        ),
        (
            gettext_lazy("Sessions, recall and programs"),
            {"fields": [name for name in _COLUMNS if name not in ("keep_originals", *_STAFF_RULES, *_LEARNING)]},
        ),
    ]
    confirmed = True
    list_display = [
        *("tenant", "recall_mode", "recall_threshold", "second_person", "sensitive_values", "limits_of_use"),
        "updated_at",
    ]
    list_select_related = ["tenant"]

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Let only platform staff change the limits of a whole tenant."""
        form: Any = super().get_form(request, *args, **kwargs)
        form.operator = signed_in(request).is_superuser
        return form

    @admin.display(description=gettext_lazy("limits of use"))
    def limits_of_use(self, policy: MemoryPolicy) -> str:
        """The limits that differ from the installation's, as a list."""
        return ", ".join(f"{limit}: {number(most)}" for limit, most in sorted(policy.limits.items())) or "-"

    @admin.display(description=gettext_lazy("sensitive values"))
    def sensitive_values(self, policy: MemoryPolicy) -> str:
        """The handling that the tenant chose for each kind, as a list."""
        decided = sorted(policy.handling.items())
        return ", ".join(f"{short(SensitiveKind(kind))}: {wanted}" for kind, wanted in decided) or "-"

    def save_model(self, request: HttpRequest, obj: MemoryPolicy, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        stored = MemoryPolicy.objects.filter(tenant_id=obj.tenant_id).values()
        before = list(stored)
        decisions = {name: form.cleaned_data[name] for name in _COLUMNS}
        decisions |= {"handling": form.handling(), "limits": form.limits()}
        obj.pk = set_policy(acting(request), tenant_id=obj.tenant_id, **decisions).pk
        if list(stored.all()) == before:
            confirm_policy(acting(request), tenant_id=obj.tenant_id)


_DAYS = ("soft_days", "hard_days", "review_days")


class ExpiryRuleForm(forms.ModelForm[ExpiryRule]):
    """Days for a category of facts or for a class (preference, task_learning or entity); empty days mean no limit."""

    class Meta:
        model = ExpiryRule
        fields = ["tenant", "category", *_DAYS]
        help_texts = {
            "category": gettext_lazy("A category of facts, or a class: preference, task_learning, entity."),
            "soft_days": gettext_lazy("Rank an unconfirmed fact lower after this many days. Empty: never."),
            "hard_days": gettext_lazy(
                "After this many days without confirmation a fact is evicted, and 30 days later erased. Empty: never."
            ),
            "review_days": gettext_lazy("Ask the owner to confirm a fact after this many days. Empty: never."),
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        days = {name: self.cleaned_data[name] for name in _DAYS if name in self.cleaned_data}
        try:
            name = checked_rule(self.cleaned_data.get("category", self.instance.category), days)
        except InvalidInput as error:
            raise field_error(error) from error
        if "category" in self.cleaned_data:
            self.cleaned_data["category"] = name
        return cleaned


@admin.register(ExpiryRule)
class ExpiryRuleAdmin(DecidingAdmin[ExpiryRule]):
    """The expiry rules; a fact without a rule for its category or class follows the default."""

    empty_words = gettext_lazy("No rules yet: all facts use the default lifetimes.")
    form = ExpiryRuleForm
    fixed = ("tenant", "category")
    list_display = ["tenant", "category", *_DAYS]
    list_select_related = ["tenant"]

    def has_delete_permission(self, request: HttpRequest, obj: ExpiryRule | None = None) -> bool:  # noqa: ARG002
        """Allow deletion, which restores the default."""
        return self.may_enter(request)

    def save_model(self, request: HttpRequest, obj: ExpiryRule, form: Any, change: bool) -> None:  # noqa: FBT001
        category = obj.category if change else form.cleaned_data["category"]
        days = {name: form.cleaned_data[name] for name in _DAYS}
        obj.pk = set_expiry_rule(acting(request), tenant_id=obj.tenant_id, category=category, **days).pk

    def delete_model(self, request: HttpRequest, obj: ExpiryRule) -> None:
        with suppress(NotFound):  # somebody else dropped the rule meanwhile: it is gone, as the page then says
            drop_expiry_rule(acting(request), tenant_id=obj.tenant_id, category=obj.category)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ExpiryRule]) -> None:
        for rule in queryset:
            self.delete_model(request, rule)
