"""API tokens in the admin: issued, listed by prefix, revoked. The plaintext is shown once, when it is issued."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import ForeignKey, Q, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest

from tenants import services
from tenants.admin.scoping import CheckboxSelectMultiple, TenantScopedAdmin, acting, signed_in
from tenants.models import ApiToken, Membership
from tenants.principal import Right
from tenants.selectors import active_memberships, tenant_ids_of


class ApiTokenForm(forms.ModelForm[ApiToken]):
    """What a new token may do, as boxes to tick."""

    scopes = forms.MultipleChoiceField(choices=Right.choices, widget=CheckboxSelectMultiple)

    class Meta:
        model = ApiToken
        fields = ["membership", "name", "scopes", "expires_at"]


@admin.register(ApiToken)
class ApiTokenAdmin(TenantScopedAdmin[ApiToken]):
    """Staff see their own tokens and those of the tenants that they administer."""

    empty_words = "With a token a program of yours uses the API as a member. It is shown once, when it is made."
    tenant_lookup = "membership__tenant_id"
    form = ApiTokenForm
    list_display = ["name", "prefix", "membership", "rights", "created_at", "last_used_at", "expires_at", "revoked_at"]
    list_select_related = ["membership__tenant", "membership__user"]
    search_fields = ["name", "prefix"]
    actions = ["revoke"]

    @admin.display(description="may")
    def rights(self, token: ApiToken) -> str:
        """What it may do, in words; the theme would draw the stored list with styles that the policy forbids."""
        return ", ".join(token.scopes)

    def in_scope(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        user = signed_in(request)
        if user.is_superuser:
            return rows
        return rows.filter(Q(membership__user=user) | Q(membership__tenant_id__in=tenant_ids_of(user, self.roles)))

    def may_enter(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """A token is never edited; actions need the permission without an object."""
        return obj is None and self.may_enter(request)

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[Any]:  # noqa: ARG002
        if obj is None:
            return ["membership", "name", "scopes", "expires_at"]
        return list(self.list_display)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer the memberships that this user may try; `services.issue_token` has the last word."""
        user = signed_in(request)
        offered = active_memberships()
        if not user.is_superuser:
            offered = offered.filter(Q(user=user) | Q(tenant_id__in=tenant_ids_of(user, self.roles)))
        kwargs["queryset"] = offered.filter(Q(user=user) | ~Q(external_id=""))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        token, plaintext = services.issue_token(
            Membership.objects.select_related("tenant", "user").get(id=obj.membership_id),
            name=obj.name,
            scopes=obj.scopes,
            expires_at=obj.expires_at,
            issued_by=signed_in(request),
            actor=acting(request),
        )
        obj.id, obj.prefix = token.id, token.prefix
        self.message_user(request, f"Copy the token now, it is not shown again: {plaintext}", messages.WARNING)

    @admin.action(description="Revoke: refuse the token from now on", permissions=["change"])
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> None:
        for token in rows.select_related("membership"):
            services.revoke_token(token, actor=acting(request))
