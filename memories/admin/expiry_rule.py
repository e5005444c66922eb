"""How long facts live in a tenant, by class or category."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from memories.admin.deciding import DecidingAdmin, said_of
from memories.errors import InvalidInput
from memories.models import ExpiryRule
from memories.services.policies import checked_rule, drop_expiry_rule, set_expiry_rule
from tenants.admin.scoping import acting

_DAYS = ("soft_days", "hard_days", "review_days")


class ExpiryRuleForm(forms.ModelForm[ExpiryRule]):
    """A category, or one of the classes preference, task_learning and entity; days left empty: for good."""

    class Meta:
        model = ExpiryRule
        fields = ["tenant", "category", *_DAYS]
        help_texts = {
            "category": "A category of facts, or a class: preference, task_learning, entity.",
            "soft_days": "Then a fact ranks lower until it is confirmed. Empty: never.",
            "hard_days": "Then it is gone. Empty: never.",
            "review_days": "Then its owner is asked whether it still holds. Empty: never.",
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        days = {name: self.cleaned_data[name] for name in _DAYS if name in self.cleaned_data}
        try:
            name = checked_rule(self.cleaned_data.get("category", self.instance.category), days)
        except InvalidInput as error:
            raise said_of(error) from error
        if "category" in self.cleaned_data:
            self.cleaned_data["category"] = name
        return cleaned


@admin.register(ExpiryRule)
class ExpiryRuleAdmin(DecidingAdmin[ExpiryRule]):
    """The rules; without one for its category or class, a fact lives as by default."""

    empty_words = "Facts live as by default until a rule says otherwise."
    form = ExpiryRuleForm
    fixed = ("tenant", "category")
    list_display = ["tenant", "category", *_DAYS]
    list_select_related = ["tenant"]

    def has_delete_permission(self, request: HttpRequest, obj: ExpiryRule | None = None) -> bool:  # noqa: ARG002
        """A rule is dropped, and the default counts again."""
        return self.may_enter(request)

    def save_model(self, request: HttpRequest, obj: ExpiryRule, form: Any, change: bool) -> None:  # noqa: FBT001
        category = obj.category if change else form.cleaned_data["category"]
        days = {name: form.cleaned_data[name] for name in _DAYS}
        obj.pk = set_expiry_rule(acting(request), tenant_id=obj.tenant_id, category=category, **days).pk

    def delete_model(self, request: HttpRequest, obj: ExpiryRule) -> None:
        drop_expiry_rule(acting(request), tenant_id=obj.tenant_id, category=obj.category)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ExpiryRule]) -> None:
        for rule in queryset:
            self.delete_model(request, rule)
