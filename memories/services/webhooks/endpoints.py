"""Makes, changes, rotates and replays webhooks, for backend keys with the right and for administrators.

A secret is shown once and stored encrypted, bound to its endpoint. The audit log keeps the host of an address, since
the rest of it may hold a secret of the receiver.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memories.errors import Conflict, InvalidInput, existing
from memories.models import DeliveryState, WebhookEndpoint
from memories.selectors.feed import feed_of_tenant, place_before
from memories.services.feed import add_new_events
from memoryhub.outgoing import address_fault
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.principal import ActorKind, KeyHolder, Principal, Right, Role
from tenants.search_keys.claims import box, seal

MAX_ENDPOINTS = 20
SECRET_MARK = "whsec_"  # noqa: S105 - the prefix of every secret
_SECRET_BYTES = 32
# A first use of the feed reads the events of weeks; the next call goes on.
_READING_SECONDS = 20.0

Caller = Principal | KeyHolder


def require_events(caller: Caller) -> None:
    """Raise Forbidden unless the caller may read what happens in the whole tenant."""
    caller.require(Right.EVENTS)
    if isinstance(caller, Principal) and (
        caller.role is not Role.ADMIN or caller.actor_kind not in (ActorKind.MEMBER, ActorKind.TOKEN)
    ):
        raise Forbidden("Only an administrator, or a backend key that names no user, sees what happens to others.")


def endpoints_of(caller: Caller) -> QuerySet[WebhookEndpoint]:
    """The endpoints of the caller's tenant, oldest first. Raises Forbidden."""
    require_events(caller)
    return WebhookEndpoint.objects.filter(tenant_id=caller.tenant_id).order_by("created_at", "id")


def find_endpoint(caller: Caller, endpoint_id: UUID) -> WebhookEndpoint:
    """One endpoint of the caller's tenant. Raises Forbidden, NotFound."""
    return existing(endpoints_of(caller).filter(pk=endpoint_id).first(), "webhook")


def create_endpoint(
    caller: Caller, *, url: str, types: Sequence[str] = (), description: str = ""
) -> tuple[WebhookEndpoint, str]:
    """A new endpoint, which gets what happens from now on, and its secret.

    Raises Forbidden, InvalidInput, Conflict (too many, or the server cannot keep secrets).
    """
    require_events(caller)
    _check_url(url)
    _catch_up(caller.tenant_id)
    now = feed_of_tenant(caller.tenant_id).order_by("-id").values_list("pk", flat=True).first()
    endpoint = WebhookEndpoint(tenant_id=caller.tenant_id, url=url, types=[*types], description=description)
    endpoint.place = now or 0
    endpoint.secret, secret = _new_secret(endpoint.pk)
    with transaction.atomic():
        wait_for_tenant(caller.tenant_id)
        if endpoints_of(caller).count() >= MAX_ENDPOINTS:
            raise Conflict(f"A tenant has at most {MAX_ENDPOINTS} webhooks: delete one first.")
        endpoint.save(force_insert=True)
        _record(caller, endpoint, "created")
    return endpoint, secret


def change_endpoint(caller: Caller, endpoint_id: UUID, **changes: Any) -> WebhookEndpoint:
    """Change url, types, description or `enabled`. One that is enabled again goes on where it ended.

    Raises Forbidden, NotFound, InvalidInput.
    """
    if "url" in changes:
        _check_url(changes["url"])
    with transaction.atomic():
        endpoint = _locked(caller, endpoint_id)
        if changes.get("enabled"):
            changes |= {"failures": 0, "trouble": "", "available_at": timezone.now()}
            waiting = endpoint.deliveries.filter(state=DeliveryState.WAITING)
            waiting.update(available_at=timezone.now(), first_tried_at=None)
        for name, value in changes.items():
            setattr(endpoint, name, value)
        if changes:
            endpoint.save(update_fields=[*changes])
            _record(caller, endpoint, "changed")
    return endpoint


def delete_endpoint(caller: Caller, endpoint_id: UUID) -> WebhookEndpoint:
    """Delete an endpoint with its deliveries; returns what it was. Raises Forbidden, NotFound."""
    with transaction.atomic():
        endpoint = _locked(caller, endpoint_id)
        endpoint.enabled = False
        _record(caller, endpoint, "deleted")
        WebhookEndpoint.objects.filter(pk=endpoint.pk).delete()
    return endpoint


def rotate_secret(caller: Caller, endpoint_id: UUID, *, grace: timedelta) -> tuple[WebhookEndpoint, str]:
    """A new secret; for `grace` each request is signed with the old one, too. Raises Forbidden, NotFound, Conflict."""
    with transaction.atomic():
        endpoint = _locked(caller, endpoint_id)
        endpoint.previous_secret, endpoint.previous_until = endpoint.secret, timezone.now() + grace
        endpoint.secret, secret = _new_secret(endpoint.pk)
        endpoint.save(update_fields=["secret", "previous_secret", "previous_until"])
        _record(caller, endpoint, "rotated")
    return endpoint, secret


def replay(caller: Caller, endpoint_id: UUID, *, cursor: str = "", since: datetime | None = None) -> WebhookEndpoint:
    """Send again, with their ids of then, the events after `cursor` or from `since` on.

    Raises Forbidden, NotFound, InvalidInput.
    """
    if not (cursor or since):
        raise InvalidInput("since", "is missing: say from when on, or give a cursor of the feed.")
    with transaction.atomic():
        endpoint = _locked(caller, endpoint_id)
        endpoint.place = min(endpoint.place, place_before(feed_of_tenant(caller.tenant_id), cursor=cursor, since=since))
        endpoint.save(update_fields=["place"])
        _record(caller, endpoint, "replayed")
    return endpoint


def _check_url(url: str) -> None:
    if fault := address_fault(url):
        raise InvalidInput("url", fault)


def _catch_up(tenant_id: UUID) -> None:
    """Give all events until now their places, so that a new endpoint begins behind them. Raises Conflict."""
    until = time.monotonic() + _READING_SECONDS
    while add_new_events(tenant_id):
        if time.monotonic() > until:
            raise Conflict("The feed of this tenant is being read for the first time: try again in a moment.")


def _locked(caller: Caller, endpoint_id: UUID) -> WebhookEndpoint:
    find_endpoint(caller, endpoint_id)
    return WebhookEndpoint.objects.select_for_update().get(pk=endpoint_id)


def _new_secret(endpoint_id: UUID) -> tuple[str, str]:
    """A random secret, sealed and in plain text. Raises Conflict if the server has no key to seal it."""
    secret = SECRET_MARK + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    try:
        return seal(endpoint_id, secret, using=box()), secret
    except ImproperlyConfigured as error:
        raise Conflict(f"This server cannot keep the secret of a webhook. {error}") from None


def _record(caller: Caller, endpoint: WebhookEndpoint, what: str) -> None:
    after = {"host": urlsplit(endpoint.url).hostname, "types": endpoint.types, "enabled": endpoint.enabled}
    draft = EventDraft(f"webhook.{what}", "webhook", endpoint.pk, after=after)
    record_tenant_event(caller.actor, endpoint.tenant_id, draft)
