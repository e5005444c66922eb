"""Which key a member searches with now: one query, no network, and no answer for whoever may not act."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils import timezone

from tenants.errors import NoSearchKey
from tenants.models import CredentialState, SearchCredential
from tenants.models.search_credential import MAY_ACT
from tenants.principal import Principal
from tenants.search_keys.encryption import Undecipherable, unseal

SENTENCES = {
    "missing": "This member has no search key yet.",
    CredentialState.PENDING.value: "The search key of this member is not made yet; it will be, as soon as possible.",
    CredentialState.SUSPENDED.value: "This membership is not active.",
    CredentialState.REVOKED.value: "The search key of this member was revoked.",
    "expired": "The search key of this member has expired; it will be replaced as soon as possible.",
    "undecipherable": "The search key of this member cannot be read; it has to be replaced.",
}

# Every search reads these, so nothing else is read.
_READ = ("state", "key_id", "secret", "expires_at", *MAY_ACT)


@dataclass(frozen=True, slots=True)
class SearchKey:
    """What a search is asked with; `encoded` is the secret."""

    key_id: str
    encoded: str = field(repr=False)


def search_key(principal: Principal) -> SearchKey:
    """The active key of the principal's membership. Raises NoSearchKey, whose `state` is a key of SENTENCES."""
    found = (
        SearchCredential.objects.filter(
            membership_id=principal.membership_id,
            membership__tenant_id=principal.tenant_id,
            membership__user_id=principal.user_id,
        )
        .values_list(*_READ)
        .first()
    )
    if found is None:
        raise no_key("missing")
    state, key_id, secret, expires_at, *may_act = found
    if not all(may_act):
        raise no_key(CredentialState.SUSPENDED.value)
    if state != CredentialState.ACTIVE:
        raise no_key(state)
    if expires_at is None or expires_at <= timezone.now():
        raise no_key("expired")
    try:
        return SearchKey(key_id, unseal(principal.membership_id, secret))
    except Undecipherable:
        raise no_key("undecipherable") from None


def no_key(state: str) -> NoSearchKey:
    """The error for a state."""
    return NoSearchKey(state, SENTENCES[state])
