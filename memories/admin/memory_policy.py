"""How a tenant's memory works, where it differs from the defaults."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from memories.admin.deciding import DecidingAdmin, said_of
from memories.errors import InvalidInput
from memories.models import MemoryPolicy
from memories.selectors.policies import Policy
from memories.services.policies import POLICY_FIELDS, checked_policy, set_policy
from tenants.admin.scoping import acting

_USUAL = Policy()
_HOUR = timedelta(hours=1)


class MemoryPolicyForm(forms.ModelForm[MemoryPolicy]):
    """Empty fields are as by default."""

    class Meta:
        model = MemoryPolicy
        fields = ["tenant", *POLICY_FIELDS]
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
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            checked_policy({name: self.cleaned_data[name] for name in POLICY_FIELDS if name in self.cleaned_data})
        except InvalidInput as error:
            raise said_of(error) from error
        return cleaned


@admin.register(MemoryPolicy)
class MemoryPolicyAdmin(DecidingAdmin[MemoryPolicy]):
    """One policy for each tenant that decided anything."""

    form = MemoryPolicyForm
    list_display = ["tenant", *POLICY_FIELDS, "updated_at"]
    list_select_related = ["tenant"]

    def save_model(self, request: HttpRequest, obj: MemoryPolicy, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        decisions = {name: form.cleaned_data[name] for name in POLICY_FIELDS}
        obj.pk = set_policy(acting(request), tenant_id=obj.tenant_id, **decisions).pk
