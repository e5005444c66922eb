"""Views for API tokens, and for who the caller is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.api.acting import Acts, require_password
from memories.api.authentication import TOKENS
from memories.api.fields import PageQuery
from memories.api.serializers.members import (
    MeResponse,
    NewTokenResponse,
    RotationRequest,
    TokenRequest,
    TokenResponse,
    TokensResponse,
)
from memories.api.views.base import ApiView, operation, paged
from memories.errors import existing
from memories.selectors.paging import page_of
from memories.services.admission import limits_of
from memoryhub.db.scope import WideRole, acting_as
from tenants.models import ApiToken, Membership, Tenant
from tenants.principal import ActorKind, KeyHolder, Principal
from tenants.services import issue_key, issue_token, revoke_token, rotate_token
from tenants.tokens import signs_in


class MeView(ApiView):
    """Who the caller is."""

    acts = Acts.FOR_EITHER

    @operation("me", (), gives=MeResponse)
    def get(self) -> dict[str, Any]:
        """Read the tenant, the member, the token, its scopes and the limits of use."""
        caller = self.caller
        token_id = _token_id(caller)
        with acting_as(WideRole.STAFF):
            token = ApiToken.objects.filter(pk=token_id).first() if token_id else None
            return {
                "tenant": Tenant.objects.get(pk=caller.tenant_id),
                "member": _member_shown(caller) if isinstance(caller, Principal) else None,
                "token": _shown(token) if token else None,
                "scopes": sorted(caller.rights),
                "limits": limits_of(caller),
            }


class TokensView(ApiView):
    """The tokens of a member or, for a backend key that names nobody, the keys of its tenant."""

    acts = Acts.FOR_EITHER

    @operation("tokens_list", TOKENS, query=PageQuery, gives=TokensResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List tokens, latest first, also those that no longer work."""
        with acting_as(WideRole.STAFF):
            page = page_of(_reached(self.caller).order_by("-created_at", "id"), **wanted)
            return paged(page, [_shown(each) for each in page.rows])

    @operation("tokens_create", TOKENS, takes=TokenRequest, gives=NewTokenResponse, statuses=(201,), keeps_answer=False)
    def post(self, **fields: Any) -> dict[str, Any]:
        """Make a token. Its secret is in this answer alone.

        It has at most the scopes, the networks and the life of the token that makes it, and ends with that. A session
        makes one within ten minutes of its sign-in.
        """
        caller = self.caller
        require_password(self.request._request, caller)
        made_by: dict[str, Any] = {"maker_id": _token_id(caller), "actor": caller.actor}
        with acting_as(WideRole.STAFF), self.once():
            if isinstance(caller, KeyHolder):
                token, plaintext = issue_key(Tenant.objects.get(pk=caller.tenant_id), **fields, **made_by)
            else:
                token, plaintext = issue_token(_membership(caller), **fields, **made_by)
        return _shown(token) | {"token": plaintext}


class TokenView(ApiView):
    """One token."""

    acts = Acts.FOR_EITHER

    @operation("tokens_read", TOKENS, gives=TokenResponse)
    def get(self, token_id: UUID) -> dict[str, Any]:
        """Read a token, without its secret."""
        with acting_as(WideRole.STAFF):
            return _shown(_find(_reached(self.caller), token_id))

    @operation("tokens_revoke", TOKENS, gives=TokenResponse)
    def delete(self, token_id: UUID) -> dict[str, Any]:
        """Revoke a token, and all that were made with it."""
        with acting_as(WideRole.STAFF):
            token = _find(_reached(self.caller), token_id)
            revoke_token(token, actor=self.caller.actor)
        return _shown(token)


class RotateTokenView(ApiView):
    """A new secret for a token."""

    acts = Acts.FOR_EITHER

    @operation("tokens_rotate", TOKENS, takes=RotationRequest, gives=NewTokenResponse, keeps_answer=False)
    def post(self, token_id: UUID, *, grace_hours: int) -> dict[str, Any]:
        """Give a token a new secret, which is in this answer alone; the old one works for `grace_hours` more.

        A token rotates itself and those made with it, a session all of the member's.
        """
        require_password(self.request._request, self.caller)
        with acting_as(WideRole.STAFF), self.once():
            rows = _reached(self.caller)
            token = _find(rows.filter(_own(self.caller)) if _token_id(self.caller) else rows, token_id)
            plaintext = rotate_token(token, grace=timedelta(hours=grace_hours), actor=self.caller.actor)
        return _shown(token) | {"token": plaintext}


def _token_id(caller: Principal | KeyHolder) -> UUID | None:
    """The id of the caller's own token or key; None for a session."""
    if isinstance(caller, KeyHolder):
        return caller.key_id
    return None if caller.actor_kind is ActorKind.MEMBER else caller.actor_id


def _reached(caller: Principal | KeyHolder) -> QuerySet[ApiToken]:
    """The tokens that the caller sees and may revoke.

    In person those of the member; else the token itself and those made with it, so that no token outdoes another. A
    backend key also has those of a member who cannot sign in, and so could not revoke them.
    """
    rows = ApiToken.objects.filter(tenant_id=caller.tenant_id)
    if isinstance(caller, Principal):
        rows = rows.filter(membership_id=caller.membership_id)
        if caller.actor_kind is ActorKind.MEMBER:
            return rows
        if caller.actor_kind is ActorKind.KEY and not signs_in(_membership(caller)):
            return rows
    return rows.filter(_own(caller))


def _own(caller: Principal | KeyHolder) -> Q:
    return Q(pk=_token_id(caller)) | Q(maker_id=_token_id(caller))


def _find(rows: QuerySet[ApiToken], token_id: UUID) -> ApiToken:
    return existing(rows.filter(pk=token_id).first(), "token")


def _membership(principal: Principal) -> Membership:
    return Membership.objects.select_related("tenant", "user").get(pk=principal.membership_id)


def _shown(token: ApiToken) -> dict[str, Any]:
    same = ("id", "name", "prefix", "is_key", "scopes", "networks", "created_at", "expires_at", "last_used_at")
    shown = {name: getattr(token, name) for name in (*same, "previous_until")}
    return shown | {"state": token.state_at(timezone.now())}


def _member_shown(principal: Principal) -> dict[str, Any]:
    member = _membership(principal)
    return {"user_id": member.external_id or None, "name": member.user.speaker, "role": member.role}
