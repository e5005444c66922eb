"""Links that let people in: invitations to a tenant, and resets of a password. Each works once, for a day.

Both links are signed with the secret key, and nothing that opens them is stored. A reset link ends with the password it
replaces, the next sign-in, or a change of what the account opens (`tenants/reset_tokens.py`), an invitation with its
row.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.core import signing
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from memoryhub.db.scope import WideRole, acting_as
from tenants.audit.chain import EventDraft, record_event, record_tenant_event
from tenants.errors import Forbidden, InvalidValue, InvitationOver, store
from tenants.invitation_models import Invitation
from tenants.locks import wait_for_owner
from tenants.models import Membership, Tenant, User
from tenants.people import MAX_USER_NAME, people_of, username_in
from tenants.principal import Actor, ActorKind, Role
from tenants.principals import principal_of
from tenants.selectors import administers
from tenants.services import add_member, create_user, record_sign_in_event, set_password, update_user

HOLDS = timedelta(days=1)
_signer = signing.Signer(salt="memoryhub.invitation")


def invite(*, tenant: Tenant, role: Role, by: User, email: str = "", actor: Actor) -> Invitation:
    """Invite somebody into a tenant. Raises Forbidden unless `by` administers it, InvalidValue for a bad address."""
    if not _administers(by, tenant):
        raise Forbidden(_("Only an administrator of the organisation invites."))
    invitation = Invitation(
        tenant=tenant, role=role.value, email=email, invited_by=by, expires_at=timezone.now() + HOLDS
    )
    with transaction.atomic():
        store(invitation)
        draft = EventDraft("invitation.made", "invitation", invitation.id, after={"role": role})
        record_tenant_event(actor, tenant.id, draft)
    return invitation


def invite_members(
    tenant: Tenant, members: Collection[UUID], *, by: User, actor: Actor, mail_origin: str = ""
) -> list[Invitation]:
    """Invite those of a tenant's imported members who have an e-mail address and no way in yet.

    Each invitation opens the member's own account. With `mail_origin`, the address of this site, a job sends them
    (`tenants/invitation_mails.py`). Whoever has an open invitation gets no second one. Raises Forbidden unless `by`
    administers the tenant.
    """
    _require_administrator(by, tenant)
    now = timezone.now()
    rows = Membership.objects.select_related("user").filter(tenant=tenant, pk__in=members, is_active=True)
    rows = rows.filter(user__is_managed=True, user__is_active=True, user__is_superuser=False).exclude(user__email="")
    with transaction.atomic():
        Invitation.objects.filter(membership__in=rows, expires_at__lte=now).delete()
        made = [
            Invitation(
                tenant=tenant,
                membership=member,
                email=member.user.email,
                role=member.role,
                mail_origin=mail_origin,
                invited_by=by,
                expires_at=now + HOLDS,
            )
            for member in rows.filter(invitation=None).order_by("created_at", "id")
            if not member.user.has_usable_password()
        ]
        Invitation.objects.bulk_create(made)
        for each in made:
            draft = EventDraft("invitation.made", "invitation", each.pk, after={"role": each.role})
            record_tenant_event(actor, tenant.pk, draft)
    return made


def withdraw(invitation: Invitation, *, actor: Actor) -> None:
    """End an invitation."""
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk).delete()[0]:
            draft = EventDraft("invitation.withdrawn", "invitation", invitation.pk)
            record_tenant_event(actor, invitation.tenant_id, draft)


def invitation_path(invitation: Invitation) -> str:
    """The path of the page that accepts the invitation."""
    return reverse("invitation", args=[_signer.sign(invitation.pk.hex)])


def find_invitation(token: str) -> Invitation:
    """The open invitation of a link. Raises InvitationOver."""
    with acting_as(WideRole.STAFF):
        return _open(token, lock=False)


@sensitive_variables("password")
def accept_as_new(token: str, *, username: str, display_name: str, password: str, request_id: str = "") -> Membership:
    """Make an account and its membership; a name that is not the invited e-mail address is one in the tenant.

    Raises InvitationOver, and InvalidValue for a taken name or weak password.
    """
    with acting_as(WideRole.STAFF), transaction.atomic():
        invitation = _open(token, lock=True)
        if username.casefold() != invitation.email.casefold():
            username = username_in(invitation.tenant, username)
            if username.count("@") > 1:
                raise InvalidValue("username", _("must not be an e-mail address other than the one that was invited."))
        actor = Actor(ActorKind.SYSTEM, request_id=request_id)  # nobody is signed in
        if invitation.membership is not None:
            return _open_account(invitation, username, display_name, password, request_id)
        user = create_user(
            username=username, display_name=display_name, email=invitation.email, password=password, actor=actor
        )
        return _accept(invitation, user, request_id)


def accept_as(token: str, user: User, *, session_key: str | None = None, request_id: str = "") -> Membership:
    """Add an existing account, and leave nobody else a way into it.

    Its passkeys and all sessions but that of `session_key` end, and its e-mail address goes unless the invitation was
    sent there, since an administrator of another tenant may have set them. Raises InvitationOver, and InvalidValue for
    somebody who is a member already or whose account another tenant manages.
    """
    with acting_as(WideRole.STAFF), transaction.atomic():
        invitation = _open(token, lock=True)
        if invitation.membership_id is not None:
            raise InvalidValue("user", _("This invitation opens an account of its own. Sign out and open it again."))
        user = User.objects.select_for_update(no_key=True).get(pk=user.pk)  # nobody names the account meanwhile
        if user.is_managed:
            reason = _("Your account is managed by another organisation. Sign out and make a new one to join.")
            raise InvalidValue("user", reason)
        if user.memberships.exists():
            _close_other_ways_in(user, invitation.email, session_key, Actor(ActorKind.MEMBER, user.pk, request_id))
        return _accept(invitation, user, request_id)


def _close_other_ways_in(user: User, invited: str, session_key: str | None, actor: Actor) -> None:
    for session in UserSession.objects.filter(user=user).exclude(session_key=session_key or ""):
        session.end()
    for passkey in Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN):
        passkey.delete()
    EmailAddress.objects.filter(user=user).exclude(email__iexact=invited).delete()
    if user.email and user.email.casefold() != invited.casefold():
        user.email = ""
        update_user(user, actor=actor)


@sensitive_variables("password")
def _open_account(
    invitation: Invitation, username: str, display_name: str, password: str, request_id: str
) -> Membership:
    """Give the account of an imported member a name to sign in with and a password."""
    membership = Membership.objects.select_related("user", "tenant").get(invitation=invitation)
    user = membership.user
    if user.has_usable_password() or user.memberships.exclude(pk=membership.pk).exists():
        raise InvitationOver(_("This invitation has been used or has ended. Ask for a new one."))
    actor = Actor(ActorKind.MEMBER, user.pk, request_id)
    _record_accepted(invitation, membership, request_id)
    user.username = User.normalize_username(username)
    user.display_name = display_name or user.display_name
    update_user(user, actor=actor)
    set_password(user, password, actor=actor)
    invitation.delete()
    return membership


def _accept(invitation: Invitation, user: User, request_id: str) -> Membership:
    actor = Actor(ActorKind.MEMBER, user.id, request_id)
    taken = people_of(invitation.tenant_id).filter(known_as__iexact=invitation.email).exists()
    taken = taken or len(invitation.email) > MAX_USER_NAME
    membership = add_member(
        tenant=invitation.tenant,
        user=user,
        role=Role(invitation.role),
        user_name="" if taken else invitation.email,
        actor=actor,
    )
    _record_accepted(invitation, membership, request_id)
    invitation.delete()
    return membership


def _record_accepted(invitation: Invitation, membership: Membership, request_id: str) -> None:
    whose = principal_of(membership, actor_kind=ActorKind.MEMBER, request_id=request_id)
    wait_for_owner(whose)
    by = {"role": invitation.role, "invited_by": invitation.invited_by_id}
    record_event(whose, action="invitation.accepted", target_kind="invitation", target_id=invitation.pk, after=by)


def _open(token: str, *, lock: bool) -> Invitation:
    """The invitation, if its tenant is active and whoever invited still administers it."""
    over = InvitationOver(_("This invitation has been used or has ended. Ask for a new one."))
    try:
        pk = UUID(_signer.unsign(token))
    except (signing.BadSignature, ValueError):
        raise over from None
    rows = Invitation.objects.select_related("tenant", "invited_by", "membership__user")
    rows = rows.filter(Q(membership=None) | Q(membership__is_active=True, membership__user__is_active=True))
    rows = rows.filter(expires_at__gt=timezone.now())
    if lock:
        rows = rows.select_for_update(of=("self",))
    invitation = rows.filter(pk=pk, tenant__is_active=True).first()
    if invitation is None or not _administers(invitation.invited_by, invitation.tenant):
        raise over
    return invitation


def _administers(user: User, tenant: Tenant) -> bool:
    return user.is_active and (user.is_superuser or administers(user, tenant.pk))


def _require_administrator(by: User, tenant: Tenant) -> None:
    if not _administers(by, tenant):
        raise Forbidden(_("Only an administrator of the tenant may do this."))


def may_reset(user: User, *, by: User) -> bool:
    """Whether `by` may make a link that sets the user's password.

    Operators may for everybody. Administrators may for an account that opens nothing but what they administer.
    """
    if not (by.is_active and user.is_active) or user.is_erased:
        return False
    if by.is_superuser:
        return True
    opened = list(Membership.objects.filter(user=user).values_list("tenant_id", flat=True))
    return bool(opened) and not user.is_superuser and all(administers(by, tenant_id) for tenant_id in opened)


def reset_path(user: User, *, by: User, actor: Actor) -> str:
    """The path of a page that sets the user's password. Raises Forbidden."""
    if not may_reset(user, by=by):
        raise Forbidden(_("Only an administrator of all that this account opens may do this."))
    record_sign_in_event(user, "user.reset_link_made", actor=actor)
    return reverse(
        "account_reset_password_from_key", args=[user_pk_to_url_str(user), default_token_generator.make_token(user)]
    )


def forget_ended() -> None:
    """The job that deletes invitations that have ended."""
    Invitation.objects.filter(expires_at__lte=timezone.now()).delete()
