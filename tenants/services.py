"""The only writers of tenants, users and memberships; every change has its audit event.

Events about a tenant's members go to that tenant's chain, those about tenants and users to the platform's. What happens
to a user's sign-in goes to the user's own chain in each tenant. No event holds a password or a token. A change of who
may act also changes who has a search key (`tenants/search_keys/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from memoryhub.db.scope import WideRole, acting_as
from tenants.audit.chain import EventDraft, record_event, record_platform_event, record_tenant_event
from tenants.errors import InvalidValue, store
from tenants.locks import wait_for_owner
from tenants.models import Membership, Tenant, User
from tenants.principal import SYSTEM, Actor, ActorKind, Principal, Role
from tenants.principals import principal_of
from tenants.search_keys import lifecycle
from tenants.selectors import memberships_of
from tenants.tokens import authenticate_key, authenticate_token, issue_key, issue_token, revoke_token, rotate_token

__all__ = ["authenticate_key", "authenticate_token", "issue_key", "issue_token", "revoke_token", "rotate_token"]

_refusing: list[Callable[[Membership], str]] = []


def create_tenant(*, name: str, slug: str, actor: Actor = SYSTEM) -> Tenant:
    """Create a tenant. Raises InvalidValue if the name is empty or the slug is malformed or taken."""
    tenant = Tenant(name=name, slug=slug)
    with transaction.atomic():
        store(tenant)
        after = {"name": name, "slug": slug}
        record_platform_event(actor, EventDraft("tenant.created", "tenant", tenant.id, after=after))
    return tenant


def create_user(
    *,
    username: str,
    display_name: str = "",
    email: str = "",
    password: str | None = None,
    is_staff: bool = False,
    is_superuser: bool = False,
    actor: Actor = SYSTEM,
) -> User:
    """Create a user; without a password, an end user who cannot sign in.

    Raises InvalidValue for a bad or taken username, and for a weak password.
    """
    user = User(
        username=User.normalize_username(username),
        display_name=display_name,
        email=User.objects.normalize_email(email),
        is_staff=is_staff,
        is_superuser=is_superuser,
    )
    if password is not None:
        refuse_weak(password, user)
    user.set_password(password)
    with transaction.atomic():
        store(user)
        record_user(user, actor=actor)
    return user


def record_user(user: User, *, action: str = "user.created", actor: Actor = SYSTEM) -> None:
    """Record the names and platform flags of a user as they are; verification compares the user with them."""
    record_platform_event(actor, EventDraft(action, "user", user.id, after=_described(user)))


def update_user(user: User, *, actor: Actor = SYSTEM) -> None:
    """Store changes of a user's names, e-mail address and platform flags.

    Raises InvalidValue, also for a user who was erased after a form was opened.
    """
    with transaction.atomic():
        stored = _not_erased(user)
        before, after = _described(stored), _described(user)
        if changed := {name for name in after if after[name] != before[name]}:
            store(user, fields=sorted(changed))
            record_platform_event(
                actor,
                EventDraft(
                    "user.changed",
                    "user",
                    user.id,
                    before={name: before[name] for name in changed},
                    after={name: after[name] for name in changed},
                ),
            )


def mark_managed(user_id: UUID) -> None:
    """Note that a tenant's directory, provider or backend made or named this account. Nothing takes it back."""
    User.objects.filter(pk=user_id, is_managed=False).update(is_managed=True)


def set_profile(user: User, *, time_zone: str, language: str) -> None:
    """Store a person's time zone and language; empty: the browser's zone, the site's language. Not audited.

    Raises InvalidValue.
    """
    if time_zone and time_zone not in available_timezones():
        raise InvalidValue("time_zone", _("is not the name of a time zone, such as Europe/London."))
    if language and language not in dict(settings.LANGUAGES):
        raise InvalidValue("language", _("is not one of the languages of these pages."))
    user.time_zone, user.language = time_zone, language
    user.save(update_fields=["time_zone", "language"])


@sensitive_variables("password")
def refuse_weak(password: str, user: User) -> None:
    """Raise InvalidValue for a password that Django's validators refuse."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidValue("password", " ".join(error.messages)) from None


@sensitive_variables("password")
def set_password(user: User, password: str, *, actor: Actor) -> None:
    """Set a user's password, which ends their sessions. Raises InvalidValue for a weak one or an erased user."""
    refuse_weak(password, user)
    with acting_as(WideRole.JOBS), transaction.atomic():
        chains = _own_chains(user, actor)
        _not_erased(user)
        user.set_password(password)
        user.save(update_fields=["password"])
        _record_in(chains, user, "user.password_changed", actor, None)


def record_sign_in_event(user: User, action: str, *, actor: Actor, after: Mapping[str, Any] | None = None) -> None:
    """Record something about a user's sign-in.

    The event goes to the user's own chain in every tenant where they are active, because the sign-in opens each of
    them; without a tenant it goes to the platform's.
    """
    with acting_as(WideRole.JOBS), transaction.atomic():
        _record_in(_own_chains(user, actor), user, action, actor, after)


def _own_chains(user: User, actor: Actor) -> list[Principal]:
    """The actor on behalf of each of the user's memberships, which are locked in order."""
    kind = actor.kind if actor.id is not None else ActorKind.SYSTEM
    owners = [
        principal_of(membership, actor_kind=kind, actor_id=actor.id, request_id=actor.request_id)
        for membership in memberships_of(user).order_by("id")
    ]
    return [owner for owner in owners if wait_for_owner(owner)]


def _record_in(chains: list[Principal], user: User, action: str, actor: Actor, after: Mapping[str, Any] | None) -> None:
    for owner in chains:
        record_event(owner, action=action, target_kind="user", target_id=user.id, after=after)
    if not chains:
        record_platform_event(actor, EventDraft(action, "user", user.id, after=after))


def require_second_factor(tenant: Tenant, *, required: bool, actor: Actor) -> None:
    """Require a second factor of the tenant's staff, or no longer."""
    with transaction.atomic():
        if Tenant.objects.filter(pk=tenant.pk, staff_second_factor=not required).update(staff_second_factor=required):
            before, after = {"staff_second_factor": not required}, {"staff_second_factor": required}
            draft = EventDraft("tenant.changed", "tenant", tenant.pk, before=before, after=after)
            record_tenant_event(actor, tenant.pk, draft)


def add_member(
    *,
    tenant: Tenant,
    user: User,
    role: Role = Role.MEMBER,
    external_id: str = "",
    user_name: str = "",
    actor: Actor = SYSTEM,
) -> Membership:
    """Add a member. Raises InvalidValue if the user is a member or erased, or if another member has the id or name."""
    membership = Membership(tenant=tenant, user=user, role=role.value, external_id=external_id, user_name=user_name)
    with transaction.atomic():
        _not_erased(user)
        store(membership)
        if role is not Role.MEMBER:
            _settle_admin(user, actor)
        after = {"user": user.id, "role": role, "external_id": external_id, "user_name": user_name}
        record_tenant_event(actor, tenant.id, EventDraft("member.added", "membership", membership.id, after=after))
        lifecycle.member_added(membership, actor=actor)
    return membership


def name_member(membership: Membership, *, user_name: str, external_id: str, actor: Actor = SYSTEM) -> None:
    """Change the names by which the tenant's own systems know a member. Raises InvalidValue for one that is taken."""
    with transaction.atomic():
        locked = Membership.objects.select_for_update(of=("self",), no_key=True).get(id=membership.id)
        after = {"user_name": user_name, "external_id": external_id}
        before = {name: getattr(locked, name) for name in after}
        if before != after:
            locked.user_name, locked.external_id = user_name, external_id
            store(locked, fields=sorted(after))
            draft = EventDraft("member.changed", "membership", locked.id, before=before, after=after)
            record_tenant_event(actor, locked.tenant_id, draft)
    membership.user_name, membership.external_id = user_name, external_id


def change_role(membership: Membership, *, role: Role, actor: Actor = SYSTEM) -> Membership:
    """Change a member's role; records nothing if it is the same."""
    with transaction.atomic():
        locked = Membership.objects.select_for_update(of=("self",), no_key=True).get(id=membership.id)
        if locked.role != role:
            draft = EventDraft(
                "member.role_changed", "membership", locked.id, before={"role": locked.role}, after={"role": role}
            )
            locked.role = role.value
            store(locked, fields=["role"])
            _lock_user(locked.user_id)
            lifecycle.role_changed(locked, actor=actor)
            record_tenant_event(actor, locked.tenant_id, draft)
            _settle_admin(membership.user, actor)
    membership.role = role.value
    return membership


def deactivate(row: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Refuse to act as this member or user, or in this tenant, from now on; memories stay."""
    _switch(row, active=False, actor=actor)


def activate(row: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Undo `deactivate`. Raises InvalidValue for an erased user, or if a registered check objects to the member."""
    with transaction.atomic():
        if isinstance(row, User):
            _not_erased(row)
        if isinstance(row, Membership):
            for objection in filter(None, (why_not(row) for why_not in _refusing)):
                raise InvalidValue("membership", objection)
        _switch(row, active=True, actor=actor)


def refuse_activation(why_not: Callable[[Membership], str]) -> None:
    """Register a check of `activate`: a non-empty answer is the reason to refuse."""
    if why_not not in _refusing:
        _refusing.append(why_not)


def _not_erased(user: User) -> User:
    """The stored user, locked against concurrent erasure. Raises InvalidValue if they were erased."""
    stored = _lock_user(user.id)
    if stored.is_erased:
        raise InvalidValue("user", _("What was known of this user is erased; they cannot come back."))
    return stored


def _described(user: User) -> dict[str, str | bool]:
    return {name: getattr(user, name) for name in ("username", "display_name", "email", "is_staff", "is_superuser")}


def _lock_user(user_id: UUID) -> User:
    """The stored user, locked. The order of locks is members, users, tenants, heads of chains."""
    return User.objects.select_for_update(no_key=True).get(id=user_id)


def _settle_admin(user: User, actor: Actor) -> None:
    """Set `is_staff` for a user with an active role of staff, and clear it without one; superusers keep it."""
    stored = _lock_user(user.id)  # two roles may change at once
    roles = Membership.objects.filter(user=user, is_active=True).exclude(role=Role.MEMBER.value)
    is_staff = stored.is_superuser or roles.exists()
    if stored.is_staff != is_staff:
        user.is_staff = stored.is_staff = is_staff
        update_user(stored, actor=actor)


def _switch(row: Membership | Tenant | User, *, active: bool, actor: Actor) -> None:
    kind = row._meta.model_name or ""
    action = f"{'member' if isinstance(row, Membership) else kind}.{'activated' if active else 'deactivated'}"
    with transaction.atomic():
        # Keys first: the order of locks is members, then their tenant.
        (lifecycle.activated if active else lifecycle.deactivated)(row, actor=actor)
        if type(row)._default_manager.filter(pk=row.pk, is_active=not active).update(is_active=active):
            draft = EventDraft(action, kind, row.pk)
            if isinstance(row, Membership):
                _lock_user(row.user_id)
                record_tenant_event(actor, row.tenant_id, draft)
                _settle_admin(row.user, actor)
            else:
                record_platform_event(actor, draft)
    row.is_active = active
