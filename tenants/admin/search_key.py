"""A member's search key in the admin: in which state it is, and replacing, making and taking it.

Invariant: the secret is not even read here; keys are shown and changed of the memberships that the page may show
(scoping.py): those of the tenants that one administers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from memoryhub.elasticsearch import in_use
from tenants import search_keys
from tenants.admin.scoping import TenantScopedAdmin, acting, written
from tenants.models import CredentialState, KeyTrouble, Membership, SearchCredential
from tenants.search_keys.ending import allow
from tenants.search_keys.minting import Outcome, begin_missing

EXPIRED, MISSING = "expired", "missing"
WORDS = {
    CredentialState.PENDING.value: "Not made yet",
    CredentialState.ACTIVE.value: "Active",
    CredentialState.SUSPENDED.value: "None, for the member is not active",
    CredentialState.REVOKED.value: "Revoked",
    EXPIRED: "Expired",
    MISSING: "None",
}
PANEL = ["search_key", "search_key_id", "search_key_made", "search_key_expires", "search_key_trouble"]


class SearchKeyFilter(admin.SimpleListFilter):
    """Members by the state of their search key."""

    title = "search key"
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


class SearchKeyAdmin(TenantScopedAdmin[Membership]):
    """What the pages of members show of search keys where there are any, and do with them."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        rows = super().get_queryset(request)
        # Named here with the others: once anything is, Django leaves out what `list_select_related` says.
        related = ("tenant", "user", "search_credential")
        return rows.select_related(*related).defer("search_credential__secret")

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [*super().get_list_filter(request), *([SearchKeyFilter] if in_use() else [])]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        *columns, last = super().get_list_display(request)
        return [*columns, *(["search_key"] if in_use() else []), last]

    def has_keys_permission(self, request: HttpRequest) -> bool:
        """Whether the actions on keys are offered."""
        return in_use() and self.may_enter(request)

    @admin.display(description="Search key")
    def search_key(self, membership: Membership) -> str:
        """The state in words."""
        credential = credential_of(membership)
        if credential is None:
            return WORDS[MISSING]
        expired = credential.expires_at is not None and credential.expires_at <= timezone.now()
        return WORDS[EXPIRED if expired else credential.state]

    @admin.display(description="Key id")
    def search_key_id(self, membership: Membership) -> str:
        """The name of the key at the cluster, which is no secret."""
        credential = credential_of(membership)
        return credential.key_id if credential else ""

    @admin.display(description="Key made", empty_value="-")
    def search_key_made(self, membership: Membership) -> str | None:
        """When the cluster made it."""
        credential = credential_of(membership)
        return _told(credential.minted_at) if credential else None

    @admin.display(description="Key expires", empty_value="-")
    def search_key_expires(self, membership: Membership) -> str | None:
        """When the cluster stops taking it; it is replaced long before."""
        credential = credential_of(membership)
        return _told(credential.expires_at) if credential else None

    @admin.display(description="Last trouble with the key")
    def search_key_trouble(self, membership: Membership) -> str:
        """Why the last attempt to make or replace it failed."""
        credential = credential_of(membership)
        if credential is None or not credential.trouble:
            return "None"
        again = timezone.localtime(credential.retry_at)
        return f"{KeyTrouble(credential.trouble).sentence} Tried again at {again:%H:%M} ({credential.attempts} so far)."

    @admin.action(description="Search key: replace by a new one", permissions=["keys"])
    def rotate_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        self._act(request, rows, lambda member: search_keys.rotate(member, actor=acting(request)), "replaced")

    @admin.action(description="Search key: make, also for whom it was revoked", permissions=["keys"])
    def mint_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        begin_missing(rows)

        def mint(member: Membership) -> Outcome:
            allow(member)
            return search_keys.provision(member, actor=acting(request))

        self._act(request, rows, mint, "made")

    @admin.action(description="Search key: revoke, until one is made again", permissions=["keys"])
    def revoke_keys(self, request: HttpRequest, rows: QuerySet[Membership]) -> None:
        revoked = sum([search_keys.revoke(member, actor=acting(request)) for member in rows])
        self.message_user(request, f"{revoked} keys revoked.")

    def _act(
        self, request: HttpRequest, rows: QuerySet[Membership], act: Callable[[Membership], Outcome], verb: str
    ) -> None:
        outcomes = [act(member) for member in rows]
        made = outcomes.count(Outcome.MADE)
        failed = outcomes.count(Outcome.FAILED) + outcomes.count(Outcome.UNREACHABLE)
        self.message_user(request, f"{made} keys {verb}.")
        if failed:
            self.message_user(request, f"{failed} failed; the pages of the members say why.", messages.ERROR)


def credential_of(membership: Membership) -> SearchCredential | None:
    """The member's credential, if there is one."""
    return getattr(membership, "search_credential", None)


def _told(moment: datetime | None) -> str | None:
    """A time as the rest of the admin writes it."""
    return None if moment is None else written(moment)
