"""Requests that are carried out once, however often they are sent: the keys, the leases and the first answers.

A key is claimed before the request and answered after it, each in a transaction of its own; `RequestAttempt.commit`
marks the key in the transaction that stores the first change. So a process that dies leaves a key that can be tried
again once its lease is over, unless something was stored.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.errors import AnswerGone, KeyInFlight, KeyReused
from memories.models import IdempotencyKey
from memories.types import Owner
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.leases import EXTEND_SECONDS, LEASE, LeaseLost, RowLease, kept

log = logging.getLogger(__name__)

# How long an answer is kept and a key is known.
KEPT_FOR = timedelta(hours=24)
_BATCH = 1000
FAILED = 500


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The first answer to a request."""

    status: int
    answer: str


@dataclass(slots=True)
class RequestAttempt:
    """A request that this process carries out.

    `runs_again`: carrying it out again adds nothing. `failed`: an earlier attempt ended with a fault of the service;
    `replays`: one was answered.
    """

    id: UUID
    lease: RowLease
    failed: bool = False
    runs_again: bool = False
    replays: bool = False
    is_over: bool = field(default=False, init=False)

    @property
    def _row(self) -> QuerySet[IdempotencyKey]:
        return self.lease.rows.filter(leased_until=self.lease.until)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the lease during the block."""
        with kept(self.lease.extend, name="idempotency-key", lost=self._lost):
            yield

    def keep(self) -> None:
        """Extend the lease if it is time, for work that reports its progress instead of being `running`."""
        if self.lease.until - timezone.now() < LEASE - timedelta(seconds=EXTEND_SECONDS):
            try:
                self.lease.extend()
            except LeaseLost as error:
                self._lost(error)

    def _lost(self, error: Exception) -> None:
        if not self.is_over:
            log.warning("The lease of an idempotency key could not be extended: %s", type(error).__name__)

    def commit(self) -> None:
        """Say, in the transaction that stores something, that the request must not be carried out again."""
        self.lease.rows.update(committed=True)

    def finish(self, status: int, answer: str = "") -> None:
        """Keep the answer."""
        with self.lease.renewing:
            self.is_over = True
            self._row.update(status=status, answer=answer, leased_until=None)

    def fail(self, *, by_service: bool) -> None:
        """Free the key, unless something of the request is stored."""
        with self.lease.renewing:
            self.is_over = True
            if (by_service and self.runs_again) or not self._row.filter(committed=False).delete()[0]:
                self._row.update(status=FAILED, leased_until=None)


def claim(owner: Owner, *, digest: str, fingerprint: str, runs_again: bool = False) -> RequestAttempt | StoredAnswer:
    """Claim the key of a request, or return the answer that it had. `digest` names the owner, too.

    `runs_again`: carrying out the request again adds nothing, so there always is an attempt. Raises KeyInFlight,
    KeyReused (another body), AnswerGone (it was carried out, and its answer is not kept).
    """
    now = timezone.now()
    keys = IdempotencyKey.objects.of_owner(owner.tenant_id, owner.user_id).filter(digest=digest)
    keys.filter(created_at__lte=now - KEPT_FOR).delete()
    row = IdempotencyKey(
        **asdict(owner),
        digest=digest,
        fingerprint=fingerprint,
        created_at=now,
        leased_until=now + LEASE,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
        return RequestAttempt(row.pk, RowLease(keys, now + LEASE), runs_again=runs_again)
    except IntegrityError:
        return _repeated(keys, fingerprint, runs_again=runs_again)


def _repeated(keys: QuerySet[IdempotencyKey], fingerprint: str, *, runs_again: bool) -> RequestAttempt | StoredAnswer:
    """Take over the one key of `keys` from an attempt that has failed or died, or return its answer."""
    unanswered = Q(committed=False) & (Q(status=None) | Q(status__gte=FAILED))
    taken = RowLease.take(keys.filter(Q() if runs_again else unanswered, fingerprint=fingerprint))
    found = keys.first()
    if found is None:  # an attempt that failed has just freed it
        raise KeyInFlight
    if found.fingerprint != fingerprint:
        raise KeyReused
    status = found.status or 0
    is_answered = 0 < status < FAILED
    if taken is not None:
        lease = RowLease(keys, taken.until)
        return RequestAttempt(found.pk, lease, failed=status >= FAILED, runs_again=runs_again, replays=is_answered)
    if is_answered and found.answer and not runs_again:
        return StoredAnswer(status, found.answer)
    if is_answered or (found.committed and (found.leased_until is None or found.leased_until <= timezone.now())):
        raise AnswerGone
    raise KeyInFlight


def erase_answers(owner: Owner) -> None:
    """Empty the stored answers of a member and of those who act for no member, or of all who see what is shared."""
    rows = IdempotencyKey.objects.unscoped("answers that may hold erased words").exclude(answer="")
    if owner.tenant_id is not None:
        rows = rows.filter(tenant_id=owner.tenant_id)
    if owner.user_id is not None:
        rows.filter(Q(user_id=owner.user_id) | Q(user_id=None)).update(answer="")
        return
    with acting_as(WideRole.JOBS):
        rows.update(answer="")


def forget_old_keys() -> None:
    """Delete keys after KEPT_FOR, with their answers; a job."""
    old = IdempotencyKey.objects.unscoped("expiry of every idempotency key").filter(
        created_at__lte=timezone.now() - KEPT_FOR
    )
    while ids := list(old.order_by("created_at").values_list("pk", flat=True)[:_BATCH]):
        IdempotencyKey.objects.unscoped("expiry of every idempotency key").filter(pk__in=ids).delete()
