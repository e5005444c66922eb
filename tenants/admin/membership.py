"""Members in the admin: add by username, give a role, activate and deactivate; and manage their search keys.

These pages never read the secret of a key. `scoping.py` limits the members to those of the user's tenants.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memoryhub.elasticsearch import in_use
from memoryhub.languages import gettext_lazy
from memoryhub.uploads import taking_a_file
from tenants import search_keys, services
from tenants.admin.people_file import people_file
from tenants.admin.scoping import (
    SwitchedAdmin,
    acting,
    by_name,
    named,
    signed_in,
    written,
)
from tenants.models import CredentialState, KeyTrouble, Membership, SearchCredential, User
from tenants.people import username_in
from tenants.principal import Role
from tenants.search_keys.lifecycle import KeyOutcome, allow, begin_missing

EXPIRED, MISSING = "expired", "missing"
WORDS = {
    CredentialState.PENDING.value: gettext_lazy("Not made yet"),
    CredentialState.ACTIVE.value: gettext_lazy("Active"),
    CredentialState.SUSPENDED.value: gettext_lazy("None, for the member is not active"),
    CredentialState.REVOKED.value: gettext_lazy("Revoked"),
    EXPIRED: gettext_lazy("Expired"),
    MISSING: gettext_lazy("None"),
}
PANEL = ["search_key", "search_key_id", "search_key_made", "search_key_expires", "search_key_trouble"]


class SearchKeyFilter(admin.SimpleListFilter):
    """Filters members by the state of their search key."""

    title = gettext_lazy("search key")
    parameter_name = "search_key"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return list(WORDS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> QuerySet[Membership]:  # noqa: ARG002
        state = self.value()
        expired = Q(search_credential__expires_at__lte=timezone.now())
        if state not in WORDS:
            return queryset
        if state == MISSING:
            return queryset.filter(search_credential=None)
        if state == EXPIRED:
            return queryset.filter(expired)
        return queryset.filter(search_credential__state=state).exclude(expired)


class NewMemberForm(forms.ModelForm[Membership]):
    """The form for a new member who does not sign in; who does is invited.

    Only a superuser may add an existing user of the platform to a tenant by username.
    """

    username = forms.CharField(
        label=_("Username"),
        max_length=150,
        validators=[User.username_validator],
        widget=forms.TextInput,
        help_text=_("For an end user of your own system, who does not sign in here. Invite everybody else."),
    )
    display_name = forms.CharField(label=_("Display name"), max_length=100, required=False, widget=forms.TextInput)
    may_name_existing_users = False

    class Meta:
        model = Membership
        fields = ["tenant", "role", "external_id"]

    def clean(self) -> dict[str, Any]:
        """Make the username one in the tenant and refuse a taken one, unless this form may name existing users."""
        cleaned: dict[str, Any] = super().clean() or {}
        tenant, name = cleaned.get("tenant"), cleaned.get("username")
        if tenant and name and not self.may_name_existing_users:
            cleaned["username"] = username_in(tenant, name)
            if User.objects.filter(username=cleaned["username"]).exists():
                self.add_error("username", _("This name is taken."))
        return cleaned

    def user(self, request: HttpRequest) -> User:
        """The user with the given username; creates one if there is none."""
        fields = self.cleaned_data
        existing = User.objects.filter(username=fields["username"]).first()
        return existing or services.create_user(
            username=fields["username"],
            display_name=fields["display_name"],
            actor=acting(request),
        )


class SuperuserNewMemberForm(NewMemberForm):
    """The form of superusers, who may name existing users."""

    may_name_existing_users = True


def credential_of(membership: Membership) -> SearchCredential | None:
    """The member's credential, or None."""
    return getattr(membership, "search_credential", None)


@admin.register(Membership)
class MembershipAdmin(SwitchedAdmin[Membership]):
    """Members and their roles; with Elasticsearch in use, also their search keys."""

    confirmed = True
    form_names = {"membership": "username", "user": "username"}
    list_filter = ["role", "is_active"]
    ordering = ["tenant__name", by_name("user"), "id"]  # type: ignore[list-item]  # Django takes expressions, too
    search_fields = ["user__username", "user__display_name", "external_id"]
    actions = ["deactivate", "activate", "rotate_keys", "mint_keys", "revoke_keys"]

    def get_urls(self) -> list[Any]:
        page = taking_a_file(self.admin_site.admin_view(people_file))
        return [path("import/", page, name="tenants_membership_import"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        rows = super().get_queryset(request).select_related("tenant", "user", "search_credential")
        return rows.defer("search_credential__secret")

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [*super().get_list_filter(request), *([SearchKeyFilter] if in_use() else [])]

    def get_list_display(self, request: HttpRequest) -> list[Any]:  # noqa: ARG002
        keys = ["search_key"] if in_use() else []
        return ["member", "tenant", "role", "external_id", "is_active", *keys, "created_at"]

    @admin.display(description=gettext_lazy("member"), ordering=by_name("user"))
    def member(self, row: Membership) -> str | None:
        """The member's name and username."""
        return named(row.user)

    @admin.display(description=gettext_lazy("Search key"))
    def search_key(self, membership: Membership) -> str:
        """The state of the search key, for display."""
        credential = credential_of(membership)
        if credential is None:
            return WORDS[MISSING]
        expired = credential.expires_at is not None and credential.expires_at <= timezone.now()
        return WORDS[EXPIRED if expired else credential.state]

    @admin.display(description=gettext_lazy("Key id"))
    def search_key_id(self, membership: Membership) -> str:
        """The id of the key at Elasticsearch, which is not secret."""
        return getattr(credential_of(membership), "key_id", "")

    @admin.display(description=gettext_lazy("Key made"), empty_value="-")
    def search_key_made(self, membership: Membership) -> str | None:
        """When Elasticsearch made the key."""
        moment = getattr(credential_of(membership), "minted_at", None)
        return written(moment) if moment else None

    @admin.display(description=gettext_lazy("Key expires"), empty_value="-")
    def search_key_expires(self, membership: Membership) -> str | None:
        """When the key expires at Elasticsearch. A job replaces it long before."""
        moment = getattr(credential_of(membership), "expires_at", None)
        return written(moment) if moment else None

    @admin.display(description=gettext_lazy("Last trouble with the key"))
    def search_key_trouble(self, membership: Membership) -> str:
        """Why the last attempt to make or replace the key failed, and when the next one starts."""
        credential = credential_of(membership)
        if credential is None or not credential.trouble:
            return str(gettext_lazy("None"))
        again = timezone.localtime(credential.retry_at)
        retried = gettext("Tried again at %(time)s (%(count)s so far).") % {
            "time": f"{again:%H:%M}",
            "count": credential.attempts,
        }
        return f"{KeyTrouble(credential.trouble).sentence} {retried}"

    def get_form(self, request: HttpRequest, obj: Membership | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        if obj is None:
            kwargs["form"] = SuperuserNewMemberForm if signed_in(request).is_superuser else NewMemberForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[Any]:  # noqa: ARG002
        if obj is None:
            return ["tenant", "username", "display_name", "role", "external_id"]
        return ["tenant", "user", "external_id", "role", "is_active", "created_at", *(PANEL if in_use() else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[Any]:  # noqa: ARG002
        return [] if obj is None else ["tenant", "user", "external_id", "is_active", "created_at", *PANEL]

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: FBT001
        role, actor = Role(obj.role), acting(request)
        if change:
            services.change_role(obj, role=role, actor=actor)
            return
        member = services.add_member(
            tenant=obj.tenant, user=form.user(request), role=role, external_id=obj.external_id, actor=actor
        )
        obj.id, obj.user = member.id, member.user

    def has_keys_permission(self, request: HttpRequest) -> bool:
        """Whether the actions on keys are offered; Django calls this for `permissions=["keys"]`."""
        return in_use() and self.may_enter(request)

    @admin.action(description=gettext_lazy("Search key: replace by a new one"), permissions=["keys"])
    def rotate_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        self._report(request, [search_keys.rotate(member, actor=acting(request)) for member in rows])

    @admin.action(description=gettext_lazy("Search key: make, also for whom it was revoked"), permissions=["keys"])
    def mint_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        begin_missing(rows)
        for member in rows:
            allow(member)
        self._report(request, [search_keys.provision(member, actor=acting(request)) for member in rows])

    @admin.action(description=gettext_lazy("Search key: revoke, until one is made again"), permissions=["keys"])
    def revoke_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        revoked = sum([search_keys.revoke(member, actor=acting(request)) for member in rows])
        self.message_user(
            request, ngettext("%(count)s key revoked.", "%(count)s keys revoked.", revoked) % {"count": revoked}
        )

    def _report(self, request: HttpRequest, outcomes: list[KeyOutcome]) -> None:
        made = outcomes.count(KeyOutcome.MADE)
        self.message_user(request, ngettext("%(count)s key made.", "%(count)s keys made.", made) % {"count": made})
        if failed := outcomes.count(KeyOutcome.FAILED) + outcomes.count(KeyOutcome.UNREACHABLE):
            words = ngettext(
                "%(count)s failed; the page of the member says why.",
                "%(count)s failed; the pages of the members say why.",
                failed,
            )
            self.message_user(request, words % {"count": failed}, messages.ERROR)
