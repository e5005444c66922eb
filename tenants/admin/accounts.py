"""Admin pages of tenants, users and API tokens.

Superusers create tenants and change users; a tenant's admins see their own. Nobody types another person's password:
people come by invitation, and who forgot theirs gets a link (`tenants/invitations.py`). A token's plaintext is shown
once, when it is issued; a reload shows the token without it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import ForeignKey, Q, QuerySet
from django.forms import ModelChoiceField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from memoryhub.languages import gettext_lazy
from tenants import services
from tenants.admin.scoping import (
    SwitchedAdmin,
    TenantScopedAdmin,
    acting,
    named,
    signed_in,
)
from tenants.errors import InvalidValue
from tenants.invitations import may_reset, reset_path
from tenants.issued import keep_issued, take_issued
from tenants.models import UNUSED, ApiToken, Membership, Tenant, User
from tenants.principal import Right, Role
from tenants.selectors import active_memberships, tenant_ids_of
from tenants.tokens import TOKEN_DAYS, may_issue_for


@admin.register(Tenant)
class TenantAdmin(SwitchedAdmin[Tenant]):
    """Tenants. The slug is part of addresses and commands, so it cannot be changed."""

    confirmed = True
    tenant_lookup = "id"
    list_display = ["name", "slug", "is_active", "staff_second_factor", "created_at"]
    search_fields = ["name", "slug"]
    fields = ["name", "slug", "is_active", "staff_second_factor"]
    readonly_fields = ["is_active", "staff_second_factor"]
    prepopulated_fields = {"slug": ["name"]}
    actions = ["deactivate", "activate", "require_second_factor", "allow_without"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return signed_in(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """True for superusers when there is no object: a tenant is only activated and deactivated, by list actions."""
        return obj is None and signed_in(request).is_superuser

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        made = services.create_tenant(name=obj.name, slug=obj.slug, actor=acting(request))
        obj.id = made.id

    def get_prepopulated_fields(self, request: HttpRequest, obj: Tenant | None = None) -> Any:
        return {} if obj else super().get_prepopulated_fields(request, obj)

    def response_add(self, request: HttpRequest, obj: Tenant, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002
        """Go on to inviting the first administrator."""
        self.message_user(request, _("The organisation was made. Invite its first administrator."))
        asked = urlencode({"tenant": obj.pk, "role": Role.ADMIN.value})
        return redirect(f"{reverse('admin:tenants_invitation_add')}?{asked}")

    def has_rules_permission(self, request: HttpRequest) -> bool:
        """Whether the actions on sign-in rules are offered; Django calls this for `permissions=["rules"]`."""
        return self.may_enter(request)

    @admin.action(description=_("Require a second factor of staff"), permissions=["rules"])
    def require_second_factor(self, request: HttpRequest, rows: QuerySet[Tenant]) -> None:
        for tenant in rows:
            services.require_second_factor(tenant, required=True, actor=acting(request))

    @admin.action(description=_("No longer require a second factor"), permissions=["rules"])
    def allow_without(self, request: HttpRequest, rows: QuerySet[Tenant]) -> None:
        for tenant in rows:
            services.require_second_factor(tenant, required=False, actor=acting(request))


@admin.register(User)
class UserAdmin(SwitchedAdmin[User]):
    """Accounts. Superusers change names and flags; administrators see who is in their tenants."""

    confirmed = True
    tenant_lookup = "memberships__tenant_id"
    list_display = ["account", "display_name", "email", "is_active", "is_staff", "last_login"]
    list_filter = ["is_active", "is_staff"]
    search_fields = ["username", "display_name", "email"]
    fieldsets = [
        (None, {"fields": ["username", "display_name", "email", "sign_in"]}),
        (gettext_lazy("Platform"), {"fields": ["is_active", "is_staff", "is_superuser", "last_login", "date_joined"]}),
    ]
    readonly_fields = ["sign_in", "is_active", "last_login", "date_joined"]

    def in_scope(self, request: HttpRequest, rows: QuerySet[User]) -> QuerySet[User]:
        user = signed_in(request)
        if user.is_superuser:
            return rows
        return rows.filter(memberships__tenant_id__in=tenant_ids_of(user, self.roles)).distinct()

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - people come by invitation
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:  # noqa: ARG002
        return signed_in(request).is_superuser

    @admin.display(description=_("Username"), ordering="username")
    def account(self, user: User) -> str:
        """The username, or the name of somebody who has none of their own."""
        return str(user)

    @admin.display(description=_("Sign-in"))
    def sign_in(self, user: User) -> str:
        """HTML: how the user signs in, and the way to a link that sets a password."""
        factors = Authenticator.objects.filter(user=user).exclude(type=Authenticator.Type.RECOVERY_CODES)
        state = _("With a password") if user.has_usable_password() else _("Without a password")
        if factors.exists():
            state = _("With a password and a second factor")
        link = reverse("admin:tenants_user_reset_link", args=[user.pk])
        return format_html('{} (<a href="{}">{}</a>)', state, link, _("link to set a password"))

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.reset_link_view)
        return [path("<uuid:pk>/reset-link/", page, name="tenants_user_reset_link"), *super().get_urls()]

    def reset_link_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """The page that makes a link to set a user's password, and shows it once."""
        if not self.may_enter(request):
            raise PermissionDenied
        user = self.get_object(request, str(pk))
        if user is None:
            raise Http404
        allowed, link = may_reset(user, by=signed_in(request)), ""
        if request.method == "POST":
            if (page := self._asked(request)) is not None:
                return page
            if not allowed:
                raise PermissionDenied
            link = request.build_absolute_uri(reset_path(user, by=signed_in(request), actor=acting(request)))
        context = {**self.admin_site.each_context(request), "title": _("Link to set a password"), "opts": self.opts}
        context |= {"whose": user, "allowed": allowed, "link": link}
        return render(request, "admin/tenants/user/reset_link.html", context)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        services.update_user(obj, actor=acting(request))


_SHOWN_ONCE = gettext_lazy(
    "The token itself was shown once, when it was made, and is stored nowhere. "
    "If it is lost, revoke it in the list and make another."
)

_STATES = {
    "works": gettext_lazy("works"),
    "revoked": gettext_lazy("revoked"),
    "expired": gettext_lazy("expired"),
    f"expired: unused for {UNUSED.days} days": format_lazy(
        gettext_lazy("expired: unused for {days} days"), days=UNUSED.days
    ),
}


def _named_member(member: Membership) -> str:
    """Such as `Ada Fenwick (ada) in Quill Lane Cycles`: the username alone may be one that was made up here."""
    return str(_("%(user)s in %(tenant)s") % {"user": named(member.user), "tenant": member.tenant})


class ApiTokenForm(forms.ModelForm[ApiToken]):
    """A member's token, or a tenant's backend key. Scopes are check boxes with a sentence each, networks one a line."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=[(right.value, format_lazy("{}: {}.", right.value, right.label)) for right in Right],
        widget=forms.CheckboxSelectMultiple,
    )
    networks = forms.CharField(
        label=gettext_lazy("Networks"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One a line, such as 10.0.0.0/8. Empty: everywhere."),
    )

    class Meta:
        model = ApiToken
        fields = ["tenant", "membership", "name", "scopes", "networks", "expires_at"]
        labels = {"membership": gettext_lazy("Member")}
        help_texts = {
            "tenant": gettext_lazy("For a backend key."),
            "membership": gettext_lazy(
                "A token acts for this member, and reaches nobody else's memory. Listed are you and the people with an "
                "external id; everybody else makes their own under Account. Empty: a backend key, which acts for any "
                "ordinary member."
            ),
            "name": gettext_lazy("What the token is for, such as the program that uses it."),
            "expires_at": format_lazy(
                gettext_lazy(
                    "Empty: a member's token ends in {days} days; a backend key ends when the memory policy says, else "
                    "never. Both end earlier if nobody uses them for 90 days."
                ),
                days=TOKEN_DAYS,
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "tenant" in self.fields:  # not on the page of a token, which has no form
            self.fields["tenant"].required = False

    def clean_networks(self) -> list[str]:
        """The lines."""
        return [line.strip() for line in self.cleaned_data["networks"].splitlines() if line.strip()]

    def clean(self) -> dict[str, Any] | None:
        """Take the tenant from the member; a backend key has one of its own."""
        cleaned = super().clean()
        member: Membership | None = self.cleaned_data.get("membership")
        tenant: Tenant | None = self.cleaned_data.get("tenant")
        if member is None and tenant is None:
            raise ValidationError(_("Choose a member, or the tenant of a backend key."))
        if member is not None and tenant not in (None, member.tenant):
            raise ValidationError({"tenant": _("The member is one of another tenant.")})
        self.cleaned_data["tenant"] = self.instance.tenant = tenant or member.tenant  # type: ignore[union-attr]  # either
        return cleaned


@admin.register(ApiToken)
class ApiTokenAdmin(TenantScopedAdmin[ApiToken]):
    """Staff see their own tokens, and the tokens and backend keys of the tenants that they administer."""

    empty_words = gettext_lazy(
        "A token lets a program call the API as a member; a backend key, as any member. Each is shown once."
    )
    confirmed = True
    list_display = ["name", "prefix", "acts_for", "rights", "state", "created_at", "last_used_at", "expires_at"]
    list_select_related = ["tenant", "membership__tenant", "membership__user"]
    search_fields = ["name", "prefix"]
    actions = ["revoke", "rotate"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Propose the date of a token that is issued without one."""
        usual = timezone.now() + timedelta(days=TOKEN_DAYS)
        return {"expires_at": usual, **super().get_changeform_initial_data(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; who administers one tenant alone gets a button for its backend key."""
        tenants = tenant_ids_of(signed_in(request), self.roles)[:2]
        own = {"key_tenant": tenants[0]} if len(tenants) == 1 else {}
        return super().changelist_view(request, {**own, **(extra_context or {})})

    @admin.display(description=gettext_lazy("state"))
    def state(self, token: ApiToken) -> str:
        """Whether the token works, or why not."""
        state = token.state_at(timezone.now())
        return str(_STATES.get(state, state))

    @admin.display(description=gettext_lazy("acts for"))
    def acts_for(self, token: ApiToken) -> str:
        """The member, or the tenant of a backend key."""
        return str(token.membership or _("any member of %(tenant)s") % {"tenant": token.tenant})

    @admin.display(description=gettext_lazy("works from"))
    def used_from(self, token: ApiToken) -> str:
        """The networks, comma-separated."""
        return ", ".join(token.networks) or str(_("everywhere"))

    @admin.display(description=gettext_lazy("scopes"))
    def rights(self, token: ApiToken) -> str:
        """The scopes, comma-separated."""
        return ", ".join(token.scopes)

    def in_scope(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        user = signed_in(request)
        if user.is_superuser:
            return rows
        return rows.filter(Q(membership__user=user) | Q(tenant_id__in=tenant_ids_of(user, self.roles)))

    def may_enter(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """True only without an object: actions need the permission, and a token is never edited."""
        return obj is None and self.may_enter(request)

    def get_form(self, request: HttpRequest, obj: ApiToken | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        """The form of a new token; no tenant is chosen beforehand, because that alone makes a backend key."""
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        form: Any = super().get_form(request, obj, change, form=ApiTokenForm, **kwargs)
        form.base_fields["tenant"].initial = None
        return form

    def get_fieldsets(self, request: HttpRequest, obj: ApiToken | None = None) -> Any:  # noqa: ARG002
        if obj is None:
            return [(None, {"fields": list(ApiTokenForm.Meta.fields)})]
        return [(None, {"fields": [*self.list_display, "used_from"], "description": _SHOWN_ONCE})]

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer what this user may choose; `services.issue_token` and `issue_key` decide."""
        if db_field.name != "tenant":
            user, offered = signed_in(request), active_memberships()
            if not user.is_superuser:
                offered = offered.filter(Q(user=user) | Q(tenant_id__in=tenant_ids_of(user, self.roles)))
            kwargs["queryset"] = offered.filter(Q(user=user) | ~Q(external_id=""))
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and db_field.name == "membership":
            field.label_from_instance = _named_member  # type: ignore[assignment, method-assign]
        return field

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        wanted: dict[str, Any] = {name: getattr(obj, name) for name in ("name", "scopes", "networks", "expires_at")}
        wanted |= {"issued_by": signed_in(request), "actor": acting(request)}
        if obj.membership is None:
            token, plaintext = services.issue_key(obj.tenant, **wanted)
        else:
            token, plaintext = services.issue_token(obj.membership, **wanted)
        obj.id, obj.prefix, obj.expires_at = token.id, token.prefix, token.expires_at
        obj.plaintext = plaintext  # type: ignore[attr-defined]  # for the answer to this request

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002
        return self._shown_once(request, obj, obj.plaintext)  # type: ignore[attr-defined]  # set by `save_model`

    def _shown_once(self, request: HttpRequest, token: ApiToken, plaintext: str) -> HttpResponse:
        """Redirect to the page of the token, so that a reload makes no other one."""
        keep_issued(request, token, plaintext)
        return redirect("admin:tenants_apitoken_change", token.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of a token; it shows the plaintext once, to whoever has just issued the token."""
        plaintext = take_issued(request, unquote(object_id))
        token = self.get_object(request, unquote(object_id)) if plaintext else None
        if token is None:
            return super().change_view(request, object_id, form_url, extra_context)
        frame = self.admin_site.each_context(request)
        context = {**frame, "title": _("The new token"), "token": token, "plaintext": plaintext, "opts": self.opts}
        return render(request, "admin/tenants/apitoken/issued.html", context)  # never cached, like all of the admin

    @admin.action(
        description=gettext_lazy("Revoke: refuse the token, and those made with it, from now on"),
        permissions=["change"],
    )
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> None:
        for token in rows:
            services.revoke_token(token, actor=acting(request))

    @admin.action(
        description=gettext_lazy("Rotate: a new secret; the old one works for a day more"), permissions=["change"]
    )
    def rotate(self, request: HttpRequest, rows: QuerySet[ApiToken]) -> HttpResponse | None:
        """Show the new secret of one token. It is as good as a new token, so the same people get it."""
        chosen = list(rows.select_related("tenant", "membership__tenant", "membership__user")[:2])
        if len(chosen) != 1:
            self.message_user(request, _("Choose one token to rotate."), messages.ERROR)
            return None
        (token,) = chosen
        if token.membership is not None and not may_issue_for(token.membership, signed_in(request)):
            self.message_user(request, _("This token is not yours: revoke it instead."), messages.ERROR)
            return None
        try:
            plaintext = services.rotate_token(token, actor=acting(request))
        except InvalidValue as error:
            self.message_user(request, error.reason, messages.ERROR)
            return None
        return self._shown_once(request, token, plaintext)
