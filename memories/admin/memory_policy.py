"""How a tenant's memory works, where it differs from the defaults."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from memories.admin.deciding import DecidingAdmin, said_of
from memories.errors import InvalidInput
from memories.models import MemoryPolicy
from memories.services.policies import POLICY_FIELDS, checked_policy, set_policy
from tenants.admin.scoping import acting


class MemoryPolicyForm(forms.ModelForm[MemoryPolicy]):
    """Empty fields are as by default."""

    class Meta:
        model = MemoryPolicy
        fields = ["tenant", *POLICY_FIELDS]

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
