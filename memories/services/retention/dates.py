"""The review and expiry dates of a fact, set by a write and renewed by a confirmation.

A confirmation drops dates that have passed, so a confirmed fact is visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, InvalidInput
from memories.hygiene.ageing import About, Dates, Lifetime, stamp
from memories.models import Fact, ReviewKind
from memories.services.facts.closing import current_rows
from memories.services.reviews.queue import withdraw
from memories.services.screening import screened_reason
from memories.services.write import Write, write
from memories.types import Kind, Status
from tenants.principal import Principal

Rules = Mapping[str, Lifetime]


def check_dates(review_after: datetime | None, expires_at: datetime | None, *, now: datetime) -> None:
    """Raise InvalidInput for given dates that are naive, past or in the wrong order."""
    for field, value in (("review_after", review_after), ("expires_at", expires_at)):
        if value is None:
            continue
        if timezone.is_naive(value):
            raise InvalidInput(field, _("needs a time zone."))
        if value <= now:
            raise InvalidInput(field, _("lies in the past; give a time to come."))
    if review_after and expires_at and expires_at < review_after:
        raise InvalidInput("expires_at", _("lies before review_after."))


def set_dates(fact: Fact, rules: Rules, *, at: datetime, given: Dates) -> None:
    """Set the dates of a fact confirmed at `at`; the caller saves it."""
    dates = stamp(_about(fact), rules, confirmed_at=at, pinned=fact.pinned, valid_to=_told_end(fact), given=given)
    fact.review_after, fact.expires_at = dates.review_after, dates.expires_at


def given_dates(fact: Fact, rules: Rules) -> Dates:
    """The dates of a stored fact that were given explicitly, not computed by the rules."""
    made = [
        stamp(_about(fact), rules, confirmed_at=at, pinned=fact.pinned, valid_to=_told_end(fact))
        for at in (fact.last_verified_at, fact.learned_at, fact.created_at)
        if at is not None
    ]
    return Dates(
        **{
            name: None if getattr(fact, name) in {getattr(dates, name) for dates in made} else getattr(fact, name)
            for name in ("review_after", "expires_at")
        }
    )


def to_come(dates: Dates, *, now: datetime) -> Dates:
    """The dates that have not passed."""
    return Dates(*(each if each and each > now else None for each in (dates.review_after, dates.expires_at)))


def has_expired(fact: Fact, now: datetime) -> bool:
    """Whether its expiry has passed, even if it was not collected yet."""
    return fact.expires_at is not None and fact.expires_at <= now


def confirm_fact(principal: Principal, *, fact_id: UUID, reason: str = "") -> None:
    """Confirm that a fact still holds: its dates start again, and a stale fact becomes active.

    Shared facts can be confirmed by those who may change them. Raises NotFound, and Conflict for a superseded or
    expired fact.
    """
    reason = screened_reason(principal, reason)
    with write(principal) as w:
        (fact,) = current_rows(w, Kind.SEMANTIC, [fact_id], shared=True)
        now = timezone.now()
        if not isinstance(fact, Fact) or has_expired(fact, now):
            raise Conflict(_("This fact has expired; restore it, or say it again."))
        confirm_row(w, fact, now=now, reason=reason)


def confirm_row(w: Write, fact: Fact, *, now: datetime, reason: str) -> None:
    """Confirm a current fact and withdraw proposals to evict it."""
    rules = w.rules(fact.scope)
    given = to_come(given_dates(fact, rules), now=now)
    before = {"status": str(fact.status), **dates_in_words(fact)}
    fact.status, fact.staleness = Status.ACTIVE, 0.0
    fact.last_verified_at = now
    set_dates(fact, rules, at=now, given=given)
    fact.version += 1
    dates = ("last_verified_at", "review_after", "expires_at")
    fact.save(update_fields=["status", "staleness", *dates, "version", "updated_at"])
    after = {"status": str(fact.status), **dates_in_words(fact)}
    w.audit(".confirmed", fact, reason=reason, before=before, after=after)
    withdraw(w, [fact.pk], kind=ReviewKind.EVICTION)
    w.index(fact)


def dates_in_words(fact: Fact) -> dict[str, str | None]:
    """The dates of a fact, in the form of an audit event."""
    return {
        "review_after": fact.review_after.isoformat() if fact.review_after else None,
        "expires_at": fact.expires_at.isoformat() if fact.expires_at else None,
    }


def _about(fact: Fact) -> About:
    return About(fact.category, fact.key, fact.source, fact.scope, fact.text)


def _told_end(fact: Fact) -> datetime | None:
    """The stated end of validity; None for a superseded fact, whose end came from the supersession."""
    return None if fact.superseded_at else fact.valid_to
