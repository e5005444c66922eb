"""Whether members' search keys come near their end unreplaced: then nobody replaces keys, and soon nobody searches."""

from __future__ import annotations

from datetime import timedelta

from django.db import DatabaseError
from django.utils import timezone

from memoryhub.health import State
from tenants.models import CredentialState, SearchCredential
from tenants.models.search_credential import USABLE

# A key is replaced after two thirds of its life, so one that is due for hours and near its end was not.
NEAR = timedelta(days=7)
OVERDUE = timedelta(hours=1)


def keys_near_expiry() -> State:
    """For `/readyz`: whether a key that should have been replaced expires soon, or has."""
    now = timezone.now()
    try:
        left = SearchCredential.objects.filter(
            USABLE, state=CredentialState.ACTIVE, rotate_at__lte=now - OVERDUE, expires_at__lte=now + NEAR
        ).exists()
    except DatabaseError:
        return State.UNAVAILABLE
    return State.EXPIRING if left else State.OK
