"""Steps of a member's erasure in tenants: end their access, erase audit payloads, remove their names.

Ids and events with their digests stay, so every chain still verifies. Afterwards no row and no payload holds the
member's name, e-mail address, external id or token names, unless the user is a member of another tenant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session as LoginSession
from django.db import transaction
from django.db.models import Q, QuerySet

from tenants import search_keys
from tenants.audit.chain import (
    PLATFORM_CHAIN,
    EventDraft,
    erase_some,
    owner_chain,
    record_platform_event,
    record_tenant_event,
    tenant_chain,
)
from tenants.audit.rights import NAMES_ERASED, USER_ERASED
from tenants.auditors import SavedView
from tenants.invitation_models import Invitation
from tenants.models import (
    ApiToken,
    AuditEvent,
    AuditPayload,
    CredentialState,
    Membership,
    OAuthGrant,
    SearchCredential,
    User,
)
from tenants.principal import SYSTEM
from tenants.provider_models import ProvidedIdentity
from tenants.services import deactivate
from tenants.tokens import revoke_token
from tenants.usernames import erased_username

ERASED_TOKEN = "erased"  # noqa: S105 - replaces a token's name
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Stopped:
    """Counts of the tokens and keys that `stop_member` revoked."""

    tokens: int
    keys: int


def stop_member(membership: Membership) -> Stopped:
    """Deactivate the membership, delete its grants and saved views, revoke tokens and search key. May be repeated.

    `end_logins` ends the browser sessions; it is separate because it reads every session.
    """
    deactivate(membership)
    OAuthGrant.objects.filter(membership=membership).delete()
    Invitation.objects.filter(membership=membership).delete()
    SavedView.objects.filter(tenant=membership.tenant_id, user=membership.user_id).delete()
    tokens = list(ApiToken.objects.filter(membership=membership, revoked_at=None))
    for token in tokens:
        revoke_token(token)
    had_key = SearchCredential.objects.filter(membership=membership).exclude(state=CredentialState.REVOKED).exists()
    revoked = search_keys.revoke(membership) if had_key else False
    return Stopped(len(tokens), int(revoked))


def may_act(membership_id: UUID) -> bool:
    """Whether the membership is active, or has a token that was not revoked or an active search key."""
    return (
        Membership.objects.filter(pk=membership_id, is_active=True).exists()
        or ApiToken.objects.filter(membership=membership_id, revoked_at=None).exists()
        or SearchCredential.objects.filter(membership=membership_id, state=CredentialState.ACTIVE).exists()
    )


def end_logins(*user_ids: UUID) -> int:
    """Delete the browser sessions of these users; returns how many. Only a session's decoded data names its user."""
    gone, named = 0, {str(each) for each in user_ids}
    for page in _pages(LoginSession.objects.order_by("pk")):
        theirs = [login.pk for login in page if login.get_decoded().get(SESSION_KEY) in named]
        gone += LoginSession.objects.filter(pk__in=theirs).delete()[0]
    UserSession.objects.filter(user_id__in=user_ids).delete()
    return gone


def erase_payloads_of_chain(membership: Membership, *, at_most: int, by: UUID) -> int:
    """Erase at most `at_most` payloads of the owner's chain, on account of the event `by`; returns how many."""
    return _erased(payloads_of_chain(membership), at_most, by)


def payloads_of_chain(membership: Membership, *, below: int | None = None) -> QuerySet[AuditPayload]:
    """The remaining payloads of the owner's chain, of events before sequence `below`."""
    chain = owner_chain(membership.tenant_id, membership.user_id)
    found = AuditPayload.objects.filter(event__chain=chain)
    return found if below is None else found.filter(event__sequence__lt=below)


def erase_payloads_about(membership: Membership, *, at_most: int, by: UUID) -> int:
    """Erase at most `at_most` payloads about a member in the chains of tenant and platform; returns how many."""
    return _erased(payloads_about(membership), at_most, by)


def erase_shared_payloads(tenant_id: UUID, targets: Collection[UUID], *, by: AuditEvent) -> int:
    """Erase the payloads about `targets` (shared memories) in the chains of tenant and platform; returns how many.

    The event `by` accounts for them; it and later events keep theirs.
    """
    chains = [tenant_chain(tenant_id), PLATFORM_CHAIN]
    payloads = AuditPayload.objects.filter(event__chain__in=chains, event__target_id__in=list(targets))
    return erase_some(payloads.exclude(event__chain=by.chain, event__sequence__gte=by.sequence), by=by.pk)


def payloads_about(membership: Membership, *, until: datetime | None = None) -> QuerySet[AuditPayload]:
    """Payloads about this member and their tokens in the chains of tenant and platform, up to the time `until`.

    Includes payloads about the user if they are a member of no other tenant.
    """
    payloads = AuditPayload.objects.exclude(event__action__in=[NAMES_ERASED, USER_ERASED])
    if until is not None:
        payloads = payloads.filter(event__created_at__lte=until)
    about = Q(event__target_id=membership.pk, event__target_kind="membership")
    about |= Q(event__target_kind="api_token", event__target_id__in=_tokens(membership))
    here = Q(event__chain=tenant_chain(membership.tenant_id)) & about
    if lives_elsewhere(membership):
        return payloads.filter(here)
    user = Q(event__chain=PLATFORM_CHAIN, event__target_kind="user", event__target_id=membership.user_id)
    return payloads.filter(here | user)


def lives_elsewhere(membership: Membership) -> bool:
    """Whether the user is a superuser, or a member of another tenant whose names there are not erased.

    If not, erasing this membership erases the user's names, too.
    """
    if User.objects.filter(pk=membership.user_id, is_superuser=True).exists():
        return True
    others = set(Membership.objects.filter(user=membership.user_id).values_list("pk", flat=True)) - {membership.pk}
    return bool(others - {pk for pk in others if _names_are_gone(pk)})


def erase_names(membership: Membership) -> bool:
    """Remove the member's names from all rows, and the user's unless `lives_elsewhere`; returns whether it did both.

    The caller's transaction must hold the owner's lock; raises TransactionManagementError without one. May be repeated.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Erasing names needs the transaction of the erasure.")
    # The lock orders two erasures of one user in two tenants; the later one removes the user's names.
    user = User.objects.select_for_update(no_key=True).get(pk=membership.user_id)
    Membership.objects.filter(pk=membership.pk).update(external_id="", user_name="")
    ProvidedIdentity.objects.filter(membership=membership).delete()
    ApiToken.objects.filter(membership=membership).update(name=ERASED_TOKEN)
    whole = not lives_elsewhere(membership)
    named = [str(membership.pk), *map(str, _tokens(membership).values_list("pk", flat=True))]
    if whole:
        named.append(str(user.pk))
        _anonymise(user)
    LogEntry.objects.filter(object_id__in=named).update(object_repr=ERASED_TOKEN, change_message="")
    if not _names_are_gone(membership.pk):
        record_tenant_event(SYSTEM, membership.tenant_id, EventDraft(NAMES_ERASED, "membership", membership.pk))
    return whole


def names_left(membership: Membership, *, whole: bool) -> int:
    """The number of rows that still name the member; `whole` includes the user's row."""
    left = Membership.objects.filter(pk=membership.pk).exclude(external_id="", user_name="").count()
    left += _tokens(membership).exclude(name=ERASED_TOKEN).count()
    if whole:
        nameless = {"email": "", "display_name": "", "first_name": "", "last_name": ""}
        nameless["username"] = erased_username(membership.user_id)
        left += User.objects.filter(pk=membership.user_id).exclude(**nameless).count()
    return left


def _anonymise(user: User) -> None:
    if user.username == erased_username(user.pk):
        return
    user.username = erased_username(user.pk)
    user.email = user.display_name = user.first_name = user.last_name = ""
    user.set_unusable_password()
    user.is_active = user.is_staff = False
    user.last_login = None
    user.save()
    Authenticator.objects.filter(user=user).delete()
    EmailAddress.objects.filter(user=user).delete()
    record_platform_event(SYSTEM, EventDraft(USER_ERASED, "user", user.pk))


def _names_are_gone(membership_id: UUID) -> bool:
    return AuditEvent.objects.filter(target_id=membership_id, action=NAMES_ERASED).exists()


def _tokens(membership: Membership) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(membership=membership)


def _erased(payloads: QuerySet[AuditPayload], at_most: int, by: UUID) -> int:
    ids = list(payloads.order_by("pk").values_list("pk", flat=True)[:at_most])
    return erase_some(AuditPayload.objects.filter(pk__in=ids), by=by)


def _pages(sessions: QuerySet[LoginSession]) -> Iterator[list[LoginSession]]:
    """Read the sessions in pages, with one query each."""
    page = list(sessions[:_PAGE])
    while page:
        yield page
        page = list(sessions.filter(pk__gt=page[-1].pk)[:_PAGE])
