"""Sends events to webhooks, at least once each, always with the id of the event as `webhook-id`.

One worker at a time has an endpoint, by a lease. It turns new events into deliveries, sends some of those that are due
without a transaction open, and stores what became of them; if it dies in between, they are sent again. A failure makes
its delivery wait 1, 2, 4, … seconds up to an hour, and the endpoint up to five minutes, so that one that is down is
asked seldom and one event that fails holds up no other. What failed for a day was either the event's fault, and is
left, or the endpoint's: then it is disabled, and its deliveries wait until it is enabled again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

import orjson
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from memories.models import DeliveryState, FeedEntry, WebhookDelivery, WebhookEndpoint
from memories.selectors.feed import feed_of_tenant, shown_events
from memories.services.external_index import encrypt_index_keys_again
from memories.services.feed import add_new_events, forget_old_entries
from memories.services.upstreams import encrypt_upstreams_again
from memories.services.webhooks.endpoints import SECRET_MARK
from memoryhub import __version__
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import JobResult
from memoryhub.leases import RowLease, backoff, due, free
from memoryhub.outgoing import Unreachable, post
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.oidc.providers import encrypt_secrets_again
from tenants.principal import SYSTEM
from tenants.search_keys.claims import Undecipherable, unseal, with_first_key

log = logging.getLogger(__name__)

# Endpoints that are sent to at once, and seconds after which the job lets others run.
WORKERS, RUN_SECONDS = 16, 60.0
# A receiver stores what it gets and answers; it does its work later.
ANSWER_SECONDS = 10.0
# Deliveries that one lease sends, one after the other, for so many seconds; and those that may wait for an endpoint.
BATCH, BATCH_SECONDS, WINDOW = 20, 10.0, 1_000
LONGEST_WAIT, LONGEST_REST = 3600.0, 300.0
TRIED_FOR = timedelta(hours=24)
# After so many failures in a row, a success ends the waits of all deliveries: the endpoint was down, not the events.
_OUTAGE = 3
DELIVERIES_KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class _DeliveryRequest:
    """One delivery as it is sent."""

    delivery_id: int
    event_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The status of the answer, or a word for why there was none."""

    delivery_id: int
    status: int | None = None
    error: str = ""

    @property
    def delivered(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


@dataclass(frozen=True, slots=True)
class DeliveryBatch:
    """Some deliveries of an endpoint whose lease this worker holds."""

    endpoint: WebhookEndpoint
    lease: RowLease
    secrets: Sequence[bytes]
    requests: Sequence[_DeliveryRequest]

    def send(self) -> list[_Outcome]:
        """Send until one fails or the time is up; uses no database."""
        done: list[_Outcome] = []
        until = time.monotonic() + BATCH_SECONDS
        for request in self.requests:
            done.append(self._sent(request))
            if not done[-1].delivered or time.monotonic() > until:
                break
        return done

    def _sent(self, request: _DeliveryRequest) -> _Outcome:
        headers = signed(request.event_id, request.body, self.secrets, at=int(time.time()))
        try:
            status = post(self.endpoint.url, request.body, headers, seconds=ANSWER_SECONDS)
        except Unreachable as error:
            return _Outcome(request.delivery_id, error=str(error))
        return _Outcome(request.delivery_id, status)


def signed(event_id: str, body: bytes, keys: Sequence[bytes], *, at: int) -> dict[str, str]:
    """The headers of a request by Standard Webhooks, with a signature by each key."""
    content = f"{event_id}.{at}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode() for key in keys)
    return {
        "content-type": "application/json",
        "user-agent": f"memoryhub/{__version__}",
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def send_due() -> JobResult:
    """The job: send to all endpoints that are due, in one process at a time. A slow one holds up none of the others."""
    try:
        with advisory_lock("webhooks"):
            return _send_for_a_while()
    except LockTaken:
        return JobResult.DONE


def _send_for_a_while() -> JobResult:
    until = time.monotonic() + RUN_SECONDS
    flying: dict[Future[list[_Outcome]], DeliveryBatch] = {}
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="webhook") as pool:
        while True:
            if time.monotonic() < until:
                for batch in take_due(WORKERS - len(flying)):
                    flying[pool.submit(batch.send)] = batch
            if not flying:
                break
            for done in wait(flying, timeout=1.0, return_when=FIRST_COMPLETED).done:
                record(flying.pop(done), done.result())
    return JobResult.MORE if time.monotonic() >= until else JobResult.DONE


def take_due(most: int) -> Iterator[DeliveryBatch]:
    """Take the leases of at most so many endpoints with something to send."""
    for tenant_id in _usable().order_by().values_list("tenant_id", flat=True).distinct():
        add_new_events(tenant_id)
    for endpoint in _ready(timezone.now()) if most else ():
        batch = _taken(endpoint)
        if batch is not None:
            yield batch
            most -= 1
        if not most:
            return


def _usable() -> QuerySet[WebhookEndpoint]:
    return WebhookEndpoint.objects.filter(enabled=True, tenant__is_active=True)


def _ready(now: datetime) -> QuerySet[WebhookEndpoint]:
    """The endpoints that rest no longer and have something new or due, those first that waited longest."""
    rows = _usable().filter(free(now), due("available_at", now, longest=LONGEST_REST))
    new = FeedEntry.objects.filter(tenant=OuterRef("tenant"), id__gt=OuterRef("place"))
    waiting = _waiting(now).filter(endpoint=OuterRef("pk"))
    return rows.filter(Exists(new) | Exists(waiting)).order_by("available_at", "id")


def _waiting(now: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(due("available_at", now, longest=LONGEST_WAIT), state=DeliveryState.WAITING)


def _taken(endpoint: WebhookEndpoint) -> DeliveryBatch | None:
    """The next deliveries of an endpoint, or None if another worker has it or nothing is due."""
    lease = RowLease.take(WebhookEndpoint.objects.filter(pk=endpoint.pk))
    if lease is None:
        return None
    endpoint.refresh_from_db()
    try:
        keys = _keys(endpoint, timezone.now())
    except (Undecipherable, ImproperlyConfigured) as error:
        log.error("The secret of webhook %s cannot be read (%s).", endpoint.pk, type(error).__name__)  # noqa: TRY400 - no more is known
        _disable(endpoint, lease, "unreadable-secret")
        return None
    _add_deliveries(endpoint)
    rows = list(
        _waiting(timezone.now())
        .filter(endpoint=endpoint)
        .select_related("entry__event", "entry__membership")
        .order_by("available_at", "id")[:BATCH]
    )
    if not rows:
        lease.release()
        return None
    requests = [
        _DeliveryRequest(row.pk, str(event["id"]), orjson.dumps(event, option=orjson.OPT_UTC_Z))
        for row, event in zip(rows, shown_events(row.entry for row in rows), strict=True)
    ]
    return DeliveryBatch(endpoint, lease, keys, requests)


def _keys(endpoint: WebhookEndpoint, now: datetime) -> list[bytes]:
    """The keys that sign: the present one, and for a while the one before it."""
    sealed = [endpoint.secret]
    if endpoint.previous_until and now < endpoint.previous_until:
        sealed.append(endpoint.previous_secret)
    return [base64.b64decode(unseal(endpoint.pk, each).removeprefix(SECRET_MARK)) for each in sealed]


def _add_deliveries(endpoint: WebhookEndpoint) -> None:
    """Turn the events behind the endpoint's place into deliveries, as many as may wait."""
    room = WINDOW - endpoint.deliveries.filter(state=DeliveryState.WAITING).count()
    if room <= 0:
        return
    last = FeedEntry.objects.filter(tenant=endpoint.tenant_id).order_by("-id").values_list("pk", flat=True).first()
    if not last or last <= endpoint.place:
        return
    entries = list(feed_of_tenant(endpoint.tenant_id).filter(id__gt=endpoint.place, id__lte=last)[:room])
    place = entries[-1].pk if len(entries) == room else last
    deliveries = [
        WebhookDelivery(endpoint=endpoint, entry=entry)
        for entry in entries
        if not endpoint.types or entry.type in endpoint.types
    ]
    anew = ["state", "attempts", "available_at", "first_tried_at"]
    with transaction.atomic():
        # A replay may have moved the place back meanwhile.
        if WebhookEndpoint.objects.filter(pk=endpoint.pk, place=endpoint.place).update(place=place):
            WebhookDelivery.objects.bulk_create(
                deliveries, update_conflicts=True, unique_fields=["endpoint", "entry"], update_fields=anew
            )


def record(batch: DeliveryBatch, outcomes: Sequence[_Outcome]) -> None:
    """Store what became of a batch, and give the endpoint back."""
    endpoint, now = batch.endpoint, timezone.now()
    rows = WebhookDelivery.objects.in_bulk([outcome.delivery_id for outcome in outcomes])
    for outcome in outcomes:
        if outcome.delivery_id in rows:  # it may have been erased with its member
            _note(rows[outcome.delivery_id], outcome, now)
    last = outcomes[-1]
    arrived = any(outcome.delivered for outcome in outcomes)
    delivered_at = now if arrived else endpoint.delivered_at
    failures = 0 if last.delivered else 1 if arrived else endpoint.failures + 1
    with transaction.atomic():
        ended, row = False, rows.get(last.delivery_id)
        if row and row.first_tried_at and not last.delivered and now - row.first_tried_at >= TRIED_FOR:
            if delivered_at is not None and delivered_at > row.first_tried_at:
                row.state = DeliveryState.FAILED
            else:
                ended = True
        WebhookDelivery.objects.bulk_update(
            rows.values(), ["state", "attempts", "status", "error", "available_at", "first_tried_at", "tried_at"]
        )
        if arrived and endpoint.failures >= _OUTAGE:
            endpoint.deliveries.filter(state=DeliveryState.WAITING, available_at__gt=now).exclude(
                pk=last.delivery_id
            ).update(available_at=now)
        if ended or last.status == HTTPStatus.GONE:
            _disable(endpoint, batch.lease, last.error or f"status {last.status}")
            return
        rest = backoff(failures - 1, LONGEST_REST) if failures else 0.0
        batch.lease.release(delivered_at=delivered_at, failures=failures, available_at=now + timedelta(seconds=rest))


def _note(row: WebhookDelivery, outcome: _Outcome, now: datetime) -> None:
    row.status, row.error, row.tried_at = outcome.status, outcome.error, now
    row.first_tried_at = row.first_tried_at or now
    row.available_at = now + timedelta(seconds=backoff(row.attempts, LONGEST_WAIT))
    row.attempts += 1
    if outcome.delivered:
        row.state = DeliveryState.DELIVERED


def _disable(endpoint: WebhookEndpoint, lease: RowLease, trouble: str) -> None:
    """Send nothing more to the endpoint until it is enabled again; what waits for it stays."""
    with transaction.atomic():
        lease.release(enabled=False, trouble=trouble)
        draft = EventDraft("webhook.disabled", "webhook", endpoint.pk, after={"trouble": trouble})
        record_tenant_event(SYSTEM, endpoint.tenant_id, draft)
    log.warning("Webhook %s was disabled: %s.", endpoint.pk, trouble)


def forget_old() -> None:
    """The job that deletes what is older than the feed keeps, and encrypts secrets with the first of several keys."""
    forget_old_entries()
    old = timezone.now() - DELIVERIES_KEPT
    WebhookDelivery.objects.filter(created_at__lt=old).exclude(state=DeliveryState.WAITING).delete()
    if len(settings.MEMORYHUB_CREDENTIAL_KEYS) > 1:
        for endpoint in WebhookEndpoint.objects.iterator():
            _encrypt_again(endpoint)
        encrypt_upstreams_again()
        encrypt_index_keys_again()
        encrypt_secrets_again()


def _encrypt_again(endpoint: WebhookEndpoint) -> None:
    for name in ("secret", "previous_secret"):
        with suppress(InvalidToken):  # the next request disables the endpoint
            sealed = getattr(endpoint, name)
            if sealed and (anew := with_first_key(sealed)) != sealed:
                WebhookEndpoint.objects.filter(pk=endpoint.pk, **{name: sealed}).update(**{name: anew})
