"""Users in the admin. They belong to the platform, not to a tenant: superusers change them, tenant admins look.

A tenant's admin who could set a password could sign in as a user of another tenant; so they cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from memoryhub.admin_site import own_password_changed
from tenants import services
from tenants.admin.scoping import TenantScopedAdmin, acting, signed_in
from tenants.models import User
from tenants.selectors import tenant_ids_of

if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm  # the theme's have no types
else:
    from unfold.forms import AdminPasswordChangeForm
    from unfold.forms import UserCreationForm as AdminUserCreationForm


@admin.register(User)
class UserAdmin(TenantScopedAdmin[User], StockUserAdmin[User]):
    """The stock pages, without groups, permissions and the stored form of the password."""

    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    add_fieldsets = StockUserAdmin.add_fieldsets  # the theme's pages come first, and have none
    tenant_lookup = "memberships__tenant_id"
    list_display = ["username", "display_name", "email", "is_active", "is_staff", "last_login"]
    list_filter = ["is_active", "is_staff"]
    search_fields = ["username", "display_name", "email"]
    fieldsets = [
        (None, {"fields": ["username", "display_name", "email", "sign_in"]}),
        ("Platform", {"fields": ["is_active", "is_staff", "is_superuser", "last_login", "date_joined"]}),
    ]
    readonly_fields = ["sign_in", "sign_in_state", "is_active", "last_login", "date_joined"]
    filter_horizontal = []
    actions = ["deactivate", "activate"]

    def in_scope(self, request: HttpRequest, rows: QuerySet[User]) -> QuerySet[User]:
        user = signed_in(request)
        if user.is_superuser:
            return rows
        return rows.filter(memberships__tenant_id__in=tenant_ids_of(user, self.roles)).distinct()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return signed_in(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:  # noqa: ARG002
        return signed_in(request).is_superuser

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Only who may set a password is led to where it is set."""
        if obj is None or self.has_change_permission(request, obj):
            return super().get_fieldsets(request, obj)
        (_, names), platform = self.fieldsets
        return [(None, {"fields": [*names["fields"][:-1], "sign_in_state"]}), platform]

    @admin.display(description="Sign-in")
    def sign_in(self, user: User) -> str:
        """Whether there is a password, and where to set one; never anything of the password itself."""
        link = reverse("admin:auth_user_password_change", args=[user.id])
        return format_html('{} (<a href="{}">set a password</a>)', self.sign_in_state(user), link)

    @admin.display(description="Sign-in")
    def sign_in_state(self, user: User) -> str:
        """Whether there is a password."""
        return "With a password" if user.has_usable_password() else "Cannot sign in"

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        if change:
            services.update_user(obj, actor=acting(request))
        else:
            services.add_user(obj, actor=acting(request))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """The stock page, with its audit event; an id that is none is an unknown one."""
        with transaction.atomic():
            before = self.get_object(request, unquote(id))
            response = super().user_change_password(request, id, form_url)
            if before is not None:
                changed = User.objects.filter(pk=before.pk).exclude(password=before.password).first()
                if changed is not None:
                    services.record_password_change(changed, actor=acting(request))
        return response

    @admin.action(description="Deactivate: sign out everywhere", permissions=["change"])
    def deactivate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        for user in rows:
            services.deactivate_user(user, actor=acting(request))

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        for user in rows:
            services.activate_user(user, actor=acting(request))


@receiver(own_password_changed)
def record_own_password(request: HttpRequest, **_: Any) -> None:
    """The page on which staff set their own password is the site's; its audit event is this."""
    services.record_own_password_change(signed_in(request), actor=acting(request))
