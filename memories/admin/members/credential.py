"""The key with which a member searches the cluster: in which state it is, verified, replaced, taken and made again.

Invariant: for administrators of the member's tenant alone. The secret is not read; what is done is in the tenant's
trail, and an installation that searches no cluster has no keys and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.utils import timezone

from memories.admin.members.page import Looking, MemberPage
from memoryhub.elasticsearch import in_use
from tenants import search_keys
from tenants.admin.membership import EXPIRED, MISSING, WORDS
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import SearchKeysUnavailable
from tenants.models import AuditEvent, CredentialState, KeyTrouble, Membership, SearchCredential
from tenants.principal import ADMINISTERS
from tenants.search_keys.ending import allow, still_ending
from tenants.search_keys.lifecycle import KeyOutcome, begin_missing
from tenants.search_keys.verification import verify

_SHOWN_EVENTS = 10
_LOOKS = {CredentialState.ACTIVE.value: "success", CredentialState.PENDING.value: "warning", EXPIRED: "danger"}
_NOT_ENDED = "The search cluster has not ended it yet: whoever holds the key can use it until then. It is asked again."
_SAID = {
    KeyOutcome.NOT_NEEDED: "Nothing had to be done, or somebody else is at it: look at the state below.",
    KeyOutcome.FAILED: "It failed; the reason is below. It is tried again.",
    KeyOutcome.UNREACHABLE: "The search cluster does not answer. It is tried again.",
}


def shown(looking: Looking) -> HttpResponse:
    """The state in words, what can be done, and what was done lately."""
    return _page(looking)


def act(looking: Looking, *, deed: Callable[[Looking], None]) -> HttpResponse:
    """Do one of `DEEDS`."""
    if in_use():
        deed(looking)
    else:
        messages.error(looking.request, "Nothing was done: this installation has no search keys.")
    return HttpResponseRedirect(looking.url("search_key"))


def _page(looking: Looking) -> HttpResponse:
    credential = _credential(looking.membership)
    state = state_of(credential, now=timezone.now())
    return looking.render(
        "admin/memories/member/search_key.html",
        title="Search key",
        in_use=in_use(),
        state=WORDS[state],
        look=_LOOKS.get(state, ""),
        credential=credential,
        trouble=KeyTrouble(credential.trouble).sentence if credential else "",
        usable=looking.membership.is_usable,
        may_verify=in_use(),
        may_rotate=state == CredentialState.ACTIVE,
        may_revoke=credential is not None and state != CredentialState.REVOKED,
        may_make=state in {MISSING, EXPIRED, CredentialState.REVOKED, CredentialState.PENDING},
        events=_told(looking),
    )


def state_of(credential: SearchCredential | None, *, now: datetime) -> str:
    """The state of a credential as one of the words of `search_key.WORDS`."""
    if credential is None:
        return MISSING
    if credential.expires_at is not None and credential.expires_at <= now:
        return EXPIRED
    return credential.state


def _credential(membership: Membership) -> SearchCredential | None:
    return SearchCredential.objects.filter(membership_id=membership.pk).defer("secret").first()


def _told(looking: Looking) -> list[AuditEvent]:
    """What the tenant's trail says of this key, the latest first."""
    events = AuditEvent.objects.filter(
        tenant_id=looking.membership.tenant_id,
        target_id=looking.membership.pk,
        target_kind="membership",
        action__startswith="search_key.",
    )
    return list(events.select_related("payload").order_by("-sequence")[:_SHOWN_EVENTS])


def _verify(looking: Looking) -> None:
    """Compare the key with the cluster, and keep what was found in the trail."""
    member = Membership.objects.filter(pk=looking.membership.pk)
    try:
        report = verify(member, tenant_id=looking.membership.tenant_id, with_orphans=False)
    except SearchKeysUnavailable as error:
        messages.error(looking.request, f"The key was not verified. {error}")
        return
    drift = [drift.value for finding in report.findings for drift in finding.drift]
    after = {"ok": not drift, "drift": drift}
    with transaction.atomic():
        draft = EventDraft("search_key.verified", "membership", looking.membership.pk, after=after)
        record_tenant_event(looking.actor, looking.membership.tenant_id, draft)
    if drift:
        messages.error(looking.request, f"The key differs from what it should be: {', '.join(drift)}. Replace it.")
    else:
        messages.success(looking.request, "The key is as it should be: it opens this member's memory and nothing else.")


def _rotate(looking: Looking) -> None:
    _say(looking, search_keys.rotate(looking.membership, actor=looking.actor), "The key was replaced by a new one.")


def _revoke(looking: Looking) -> None:
    if search_keys.revoke(looking.membership, actor=looking.actor):
        messages.success(looking.request, "The key was revoked. This member searches nothing until one is made again.")
        if still_ending(looking.membership):
            messages.warning(looking.request, _NOT_ENDED)
    else:
        messages.info(looking.request, "There was no key to revoke.")


def _make(looking: Looking) -> None:
    begin_missing(Membership.objects.filter(pk=looking.membership.pk))
    allow(looking.membership)
    _say(looking, search_keys.provision(looking.membership, actor=looking.actor), "A new key was made.")


def _say(looking: Looking, outcome: KeyOutcome, done: str) -> None:
    if outcome is KeyOutcome.MADE:
        messages.success(looking.request, done)
    else:
        messages.error(looking.request, _SAID[outcome])


DEEDS: Mapping[str, Callable[[Looking], None]] = {
    "verify": _verify,
    "rotate": _rotate,
    "revoke": _revoke,
    "make": _make,
}

PAGES = (
    MemberPage("search_key", "search-key/", shown, roles=ADMINISTERS, tab="Search key"),
    *(
        MemberPage(
            f"search_key_{name}", f"search-key/{name}/", partial(act, deed=deed), roles=ADMINISTERS, methods=("POST",)
        )
        for name, deed in DEEDS.items()
    ),
)
