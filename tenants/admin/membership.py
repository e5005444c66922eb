"""Members in the admin: added by username, given a role, switched off."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models import ForeignKey, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest

from memoryhub.elasticsearch import in_use
from tenants import services
from tenants.admin.scoping import PasswordInput, TextInput, acting, named, signed_in, tenants_within
from tenants.admin.search_key import PANEL, SearchKeyAdmin
from tenants.models import Membership, User
from tenants.principal import Role


class NewMemberForm(forms.ModelForm[Membership]):
    """A new member; only a superuser brings a user of the platform into another tenant by naming them."""

    username = forms.CharField(max_length=150, validators=[User.username_validator], widget=TextInput)
    display_name = forms.CharField(max_length=100, required=False, widget=TextInput)
    password = forms.CharField(
        widget=PasswordInput(attrs={"autocomplete": "new-password"}),
        required=False,
        strip=False,
        help_text="Leave empty for an end user of your own system, who does not sign in here.",
    )
    may_name_existing_users = False

    class Meta:
        model = Membership
        fields = ["tenant", "role", "external_id"]

    def clean_username(self) -> str:
        """A taken name is refused, unless it may name the user who has it."""
        username: str = User.normalize_username(self.cleaned_data["username"])
        if not self.may_name_existing_users and User.objects.filter(username=username).exists():
            raise ValidationError("This name is taken.")
        return username

    def clean_password(self) -> str:
        """A password, if there is one, is a good one."""
        password: str = self.cleaned_data["password"]
        if password:
            validate_password(password, User(username=self.cleaned_data.get("username", "")))
        return password

    def user(self, request: HttpRequest) -> User:
        """The user that the form names, made if there is none."""
        fields = self.cleaned_data
        existing = User.objects.filter(username=fields["username"]).first()
        return existing or services.create_user(
            username=fields["username"],
            display_name=fields["display_name"],
            password=fields["password"] or None,
            actor=acting(request),
        )


class SuperuserNewMemberForm(NewMemberForm):
    """The platform's staff may name users who exist."""

    may_name_existing_users = True


@admin.register(Membership)
class MembershipAdmin(SearchKeyAdmin):
    """Who belongs to a tenant, and as what."""

    list_display = ["member", "tenant", "role", "external_id", "is_active", "created_at"]
    list_filter = ["role", "is_active"]
    search_fields = ["user__username", "user__display_name", "external_id"]
    actions = ["deactivate", "activate", "rotate_keys", "mint_keys", "revoke_keys"]

    @admin.display(description="member", ordering="user__username")
    def member(self, row: Membership) -> str | None:
        """Who they are."""
        return named(row.user)

    def get_form(self, request: HttpRequest, obj: Membership | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is None:
            kwargs["form"] = SuperuserNewMemberForm if signed_in(request).is_superuser else NewMemberForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[Any]:  # noqa: ARG002
        if obj is None:
            return ["tenant", "username", "display_name", "password", "role", "external_id"]
        return ["tenant", "user", "external_id", "role", "is_active", "created_at", *(PANEL if in_use() else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[Any]:  # noqa: ARG002
        return [] if obj is None else ["tenant", "user", "external_id", "is_active", "created_at", *PANEL]

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Members are added to one's own tenants."""
        kwargs["queryset"] = tenants_within(signed_in(request), self.roles).filter(is_active=True)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: FBT001
        role, actor = Role(obj.role), acting(request)
        if change:
            services.change_role(obj, role=role, actor=actor)
            return
        member = services.add_member(
            tenant=obj.tenant, user=form.user(request), role=role, external_id=obj.external_id, actor=actor
        )
        obj.id, obj.user = member.id, member.user

    @admin.action(description="Deactivate: refuse this member from now on", permissions=["change"])
    def deactivate(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        for member in rows:
            services.deactivate_member(member, actor=acting(request))

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        for member in rows:
            services.activate_member(member, actor=acting(request))
