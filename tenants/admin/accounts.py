"""Admin pages of tenants, users and API tokens.

Superusers create tenants and change users; a tenant's admins see their own. Only superusers set passwords: otherwise a
tenant's admin could set a user's password and sign in as that user in another tenant. A token's plaintext is shown
once, when it is issued; a reload shows the token without it.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken
from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.db import transaction
from django.db.models import ForeignKey, Q, QuerySet
from django.dispatch import receiver
from django.forms import ModelChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.html import format_html

from memoryhub.admin_site import own_password_changed
from memoryhub.reauthentication import ask_password
from tenants import services
from tenants.admin.scoping import CheckboxSelectMultiple, SwitchedAdmin, TenantScopedAdmin, acting, signed_in
from tenants.models import ApiToken, Membership, Tenant, User
from tenants.principal import Right
from tenants.selectors import active_memberships, tenant_ids_of
from tenants.tokens import TOKEN_DAYS


@admin.register(Tenant)
class TenantAdmin(SwitchedAdmin[Tenant]):
    """Tenants. The slug is part of addresses and commands, so it cannot be changed."""

    tenant_lookup = "id"
    list_display = ["name", "slug", "is_active", "created_at"]
    search_fields = ["name", "slug"]
    fields = ["name", "slug", "is_active"]
    readonly_fields = ["is_active"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return signed_in(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """True for superusers when there is no object: a tenant is only activated and deactivated, by list actions."""
        return obj is None and signed_in(request).is_superuser

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        made = services.create_tenant(name=obj.name, slug=obj.slug, actor=acting(request))
        obj.id = made.id


if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm  # the theme's have no types
else:
    from unfold.forms import AdminPasswordChangeForm
    from unfold.forms import UserCreationForm as AdminUserCreationForm


@admin.register(User)
class UserAdmin(SwitchedAdmin[User], StockUserAdmin[User]):
    """Django's user pages, without groups, permissions and the password hash."""

    confirmed = True
    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    add_fieldsets = StockUserAdmin.add_fieldsets  # the theme's base class comes first and defines none
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
        """Link to the password page only for staff who may set passwords."""
        if obj is None or self.has_change_permission(request, obj):
            return super().get_fieldsets(request, obj)
        (_, names), platform = self.fieldsets
        return [(None, {"fields": [*names["fields"][:-1], "sign_in_state"]}), platform]

    @admin.display(description="Sign-in")
    def sign_in(self, user: User) -> str:
        """HTML: whether the user has a password, and a link to set one. Shows nothing of the password itself."""
        link = reverse("admin:auth_user_password_change", args=[user.id])
        return format_html('{} (<a href="{}">set a password</a>)', self.sign_in_state(user), link)

    @admin.display(description="Sign-in")
    def sign_in_state(self, user: User) -> str:
        """Whether the user has a usable password."""
        return "With a password" if user.has_usable_password() else "Cannot sign in"

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        if change:
            services.update_user(obj, actor=acting(request))
        else:
            services.add_user(obj, actor=acting(request))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Django's page, with an audit event if the password changed. An id of the wrong form is an unknown user."""
        if request.method == "POST" and self.has_change_permission(request):
            page = ask_password(request)
            if page is not None:
                return page
        with transaction.atomic():
            before = self.get_object(request, unquote(id))
            response = super().user_change_password(request, id, form_url)
            if before is not None:
                changed = User.objects.filter(pk=before.pk).exclude(password=before.password).first()
                if changed is not None:
                    services.record_password_change(changed, actor=acting(request))
        return response


@receiver(own_password_changed)
def record_own_password(request: HttpRequest, **_: Any) -> None:
    """Record in the audit log that a staff member changed their own password on the admin site's page."""
    services.record_own_password_change(signed_in(request), actor=acting(request))


_SHOWN_ONCE = (
    "The token itself was shown once, when it was made, and is stored nowhere. "
    "If it is lost, revoke it in the list and make another."
)


class ApiTokenForm(forms.ModelForm[ApiToken]):
    """A new token's scopes are check boxes, each with a sentence about it."""

    scopes = forms.MultipleChoiceField(
        choices=[(right.value, f"{right.value}: {right.label}.") for right in Right], widget=CheckboxSelectMultiple
    )

    class Meta:
        model = ApiToken
        fields = ["membership", "name", "scopes", "expires_at"]
        labels = {"membership": "Member"}
        help_texts = {
            "membership": "The token acts for this member, and reaches nobody else's memory.",
            "name": "What the token is for, such as the program that uses it.",
            "expires_at": f"Empty: in {TOKEN_DAYS} days. A token that nobody uses for 90 days ends before.",
        }


@admin.register(ApiToken)
class ApiTokenAdmin(TenantScopedAdmin[ApiToken]):
    """Staff see their own tokens and those of the tenants that they administer."""

    empty_words = "With a token a program of yours uses the API as a member. It is shown once, when it is made."
    tenant_lookup = "membership__tenant_id"
    confirmed = True
    list_display = ["name", "prefix", "membership", "rights", "state", "created_at", "last_used_at", "expires_at"]
    list_select_related = ["membership__tenant", "membership__user"]
    search_fields = ["name", "prefix"]
    actions = ["revoke"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Propose the date of a token that is issued without one."""
        usual = timezone.now() + timedelta(days=TOKEN_DAYS)
        return {"expires_at": usual, **super().get_changeform_initial_data(request)}

    @admin.display(description="state")
    def state(self, token: ApiToken) -> str:
        """Whether the token works, or why not."""
        return token.state_at(timezone.now())

    @admin.display(description="may")
    def rights(self, token: ApiToken) -> str:
        """The scopes, comma-separated.

        The theme's list widget uses inline styles, which the Content-Security-Policy forbids.
        """
        return ", ".join(token.scopes)

    def in_scope(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        user = signed_in(request)
        if user.is_superuser:
            return rows
        return rows.filter(Q(membership__user=user) | Q(membership__tenant_id__in=tenant_ids_of(user, self.roles)))

    def may_enter(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """True only without an object: actions need the permission, and a token is never edited."""
        return obj is None and self.may_enter(request)

    def get_form(self, request: HttpRequest, obj: ApiToken | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        """The form of a new token, without the theme's links that change the chosen member."""
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        form: Any = super().get_form(request, obj, change, form=ApiTokenForm, **kwargs)
        member = form.base_fields["membership"]
        member.widget = member.widget.widget
        return form

    def get_fieldsets(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:  # noqa: ARG002
        if obj is None:
            return [(None, {"fields": ["membership", "name", "scopes", "expires_at"]})]
        return [(None, {"fields": list(self.list_display), "description": _SHOWN_ONCE})]

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer memberships that this user may choose; `services.issue_token` decides."""
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
        obj.id, obj.prefix, obj.expires_at = token.id, token.prefix, token.expires_at
        obj.plaintext = plaintext  # type: ignore[attr-defined]  # for the answer to this request

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002
        """Redirect to the page of the token, so that a reload makes no other one."""
        sealed = _box(obj).encrypt(obj.plaintext.encode()).decode()  # type: ignore[attr-defined]  # set by `save_model`
        request.session[_ISSUED] = (str(obj.pk), sealed)
        return redirect("admin:tenants_apitoken_change", obj.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of a token; it shows the plaintext once, to whoever has just issued the token."""
        token = self.get_object(request, unquote(object_id))
        plaintext = _take_issued(request, token) if token else ""
        if not plaintext:
            return super().change_view(request, object_id, form_url, extra_context)
        frame = self.admin_site.each_context(request)
        context = {**frame, "title": "The new token", "token": token, "plaintext": plaintext, "opts": self.opts}
        return render(request, "admin/tenants/apitoken/issued.html", context)  # never cached, like all of the admin

    @admin.action(description="Revoke: refuse the token from now on", permissions=["change"])
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> None:
        for token in rows.select_related("membership"):
            services.revoke_token(token, actor=acting(request))


# Key of the session: the id of the token just issued, and its plaintext, encrypted.
_ISSUED = "issued_token"
_SHOWN_WITHIN = timedelta(minutes=1)


def _take_issued(request: HttpRequest, token: ApiToken) -> str:
    """The plaintext of the token that this session issued in the last minute, the first time; else empty."""
    issued, sealed = request.session.get(_ISSUED, ("", ""))
    if issued != str(token.pk):
        return ""
    del request.session[_ISSUED]
    try:
        return _box(token).decrypt(sealed, ttl=int(_SHOWN_WITHIN.total_seconds())).decode()
    except InvalidToken:
        return ""


def _box(token: ApiToken) -> Fernet:
    """Encrypts with a key of this token that is not in the database, where sessions are."""
    key = salted_hmac("memoryhub.issued_token", str(token.pk), algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(key))
