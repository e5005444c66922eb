"""How a tenant's memory works, where it differs from the defaults."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from memories.admin.deciding import DecidingAdmin, said_of
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.findings import DECIDABLE, USUAL_HANDLING
from memories.hygiene.sensitivity.telling import short, with_article
from memories.models import MemoryPolicy
from memories.selectors.policies import Policy
from memories.services.policies import POLICY_FIELDS, checked_policy, set_policy
from memories.types import Handling, SensitiveKind
from tenants.admin.scoping import Select, acting

_USUAL = Policy()
_HOUR = timedelta(hours=1)


# One choice for each kind of sensitive value that is decided on, instead of the JSON that they are stored as.
_COLUMNS = tuple(name for name in POLICY_FIELDS if name != "handling")
_CHOICES = {
    Handling.ALLOW: "keep it, flagged",
    Handling.MASK: "take it out of the words",
    Handling.BLOCK: "refuse the memory",
}


_SENSITIVE = (
    "What becomes of what words hold. Where a memory would be refused, it is taken out of a conversation. "
    "Passwords, keys, card, bank account and id numbers are always refused."
)


def _field_of(kind: SensitiveKind) -> str:
    return f"handling_{kind.value}"


class HandlingForm(forms.ModelForm[MemoryPolicy]):
    """What becomes of sensitive values of each kind."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in DECIDABLE:
            self.initial.setdefault(_field_of(kind), self.instance.handling.get(kind.value, ""))

    def handling(self) -> dict[str, str]:
        """What was chosen; kinds that stay as by default are left out."""
        chosen = {kind.value: self.cleaned_data.get(_field_of(kind), "") for kind in DECIDABLE}
        return {kind: wanted for kind, wanted in chosen.items() if wanted}


for _kind in DECIDABLE:
    HandlingForm.base_fields[_field_of(_kind)] = forms.ChoiceField(
        label=f"If words hold {with_article(_kind)}",
        required=False,
        widget=Select,
        choices=[("", "as by default"), *((each.value, words) for each, words in _CHOICES.items())],
        help_text=f"Default: {_CHOICES[USUAL_HANDLING[_kind]]}.",
    )


class MemoryPolicyForm(HandlingForm):
    """Empty fields are as by default."""

    class Meta:
        model = MemoryPolicy
        fields = ["tenant", *_COLUMNS]
        help_texts = {
            "session_hours": f"So long after its last turn a session forgets what its task worked with. "
            f"Empty: {_USUAL.session_lifetime // _HOUR}.",
            "consolidate_every": f"After so many new episodes a member's are consolidated. "
            f"Empty: {_USUAL.consolidate_every}.",
            "consolidate_hours": f"Or once the oldest has waited so long. Empty: {_USUAL.consolidate_after // _HOUR}.",
            "recall_mode": "Push: the agent is given memories with each turn. Pull: it asks for them. Hybrid: both. "
            "Empty: hybrid.",
            "recall_items": f"Memories that a recall by itself brings at most. Empty: {_USUAL.recall_items}.",
            "recall_tokens": f"Tokens that they may take in a turn together. Empty: {_USUAL.recall_tokens:,}.",
            "pinned_refresh_turns": f"Pinned facts move up in the prompt every so many turns. "
            f"Empty: {_USUAL.pinned_refresh_turns}.",
            "recall_threshold": "Memories of a lower score are left out. Empty: none is.",
            "keep_superseded": "What was replaced is never archived, let go or erased by the collection.",
            "keep_originals": "Words in which a value is masked are also kept whole, encrypted; only the member "
            "in person can open them. Without this the value is gone.",
            "erasure_needs_second": "A member is erased only when another administrator than who asked approves.",
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            checked_policy({name: self.cleaned_data[name] for name in _COLUMNS if name in self.cleaned_data})
        except InvalidInput as error:
            raise said_of(error) from error
        return cleaned


@admin.register(MemoryPolicy)
class MemoryPolicyAdmin(DecidingAdmin[MemoryPolicy]):
    """One policy for each tenant that decided anything."""

    empty_words = "Memory works by the defaults until a policy says otherwise."
    form = MemoryPolicyForm
    fieldsets = [
        (None, {"fields": ["tenant", *(name for name in _COLUMNS if name != "keep_originals")]}),
        ("Sensitive values", {"fields": [*map(_field_of, DECIDABLE), "keep_originals"], "description": _SENSITIVE}),
    ]
    list_display = ["tenant", *_COLUMNS, "sensitive_values", "updated_at"]
    list_select_related = ["tenant"]

    @admin.display(description="sensitive values")
    def sensitive_values(self, policy: MemoryPolicy) -> str:
        """What was decided on them, in words."""
        decided = sorted(policy.handling.items())
        return ", ".join(f"{short(SensitiveKind(kind))}: {wanted}" for kind, wanted in decided) or "-"

    def save_model(self, request: HttpRequest, obj: MemoryPolicy, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        decisions = {name: form.cleaned_data[name] for name in _COLUMNS} | {"handling": form.handling()}
        obj.pk = set_policy(acting(request), tenant_id=obj.tenant_id, **decisions).pk
