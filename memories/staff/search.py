"""The member's search key, pending index changes, and a comparison of the index with the database.

Only administrators of the member's tenant see and change the key. The key's secret is never loaded, and each action on
the key writes to the tenant's audit log. The comparison changes nothing and names memories by id.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import SearchUnavailable
from memories.search import search_plane
from memories.search.checking import IndexProblem, check
from memories.selectors.staff.index_state import lag_of, waiting_of
from memories.staff.base import MemberView, first_page_of
from memories.types import Owner
from memoryhub.elasticsearch import in_use
from memoryhub.languages import gettext_lazy
from tenants import search_keys
from tenants.admin.membership import EXPIRED, MISSING, WORDS
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.audit.sentences import Sentence, sentences
from tenants.errors import SearchKeysUnavailable
from tenants.models import AuditEvent, CredentialState, KeyTrouble, Membership, SearchCredential
from tenants.principal import ADMINISTERS
from tenants.search_keys.lifecycle import KeyOutcome, allow, begin_missing, still_ending
from tenants.search_keys.verification import verify

_SHOWN_EVENTS = 10
_LOOKS = {CredentialState.ACTIVE.value: "success", CredentialState.PENDING.value: "warning", EXPIRED: "danger"}
_NOT_ENDED = gettext_lazy(
    "The search cluster has not ended it yet: whoever holds the key can use it until then. It is asked again."
)
_OUTCOMES = {
    KeyOutcome.NOT_NEEDED: gettext_lazy("Nothing had to be done, or somebody else is at it: look at the state below."),
    KeyOutcome.FAILED: gettext_lazy("It failed; the reason is below. It is tried again."),
    KeyOutcome.UNREACHABLE: gettext_lazy("The search cluster does not answer. It is tried again."),
}


class SearchKeyPage(MemberView):
    """The state of the key, the actions that it allows, and the latest events on it."""

    roles = ADMINISTERS
    tab = "search_key"
    title = gettext_lazy("Search key")
    template_name = "admin/memories/member/search_key.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        credential = SearchCredential.objects.filter(membership_id=self.member.pk).defer("secret").first()
        state = state_of(credential, now=timezone.now())
        return self.render(
            in_use=in_use(),
            state=WORDS[state],
            look=_LOOKS.get(state, ""),
            credential=credential,
            trouble=KeyTrouble(credential.trouble).sentence if credential else "",
            usable=self.member.is_usable,
            may_verify=in_use(),
            may_rotate=state == CredentialState.ACTIVE,
            may_revoke=credential is not None and state != CredentialState.REVOKED,
            may_make=state in {MISSING, EXPIRED, CredentialState.REVOKED, CredentialState.PENDING},
            events=self._events(),
        )

    def _events(self) -> list[Sentence]:
        """The latest events on this key in the tenant's audit log, newest first."""
        events = AuditEvent.objects.filter(
            tenant_id=self.member.tenant_id,
            target_id=self.member.pk,
            target_kind="membership",
            action__startswith="search_key.",
        )
        return sentences(events.select_related("payload").order_by("-sequence")[:_SHOWN_EVENTS])


class SearchKeyAction(MemberView):
    """POST: verify, rotate, revoke or make the key, then redirect to its page, which shows the outcome."""

    http_method_names = ["post"]
    roles = ADMINISTERS
    action = ""

    def post(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        if in_use():
            getattr(self, self.action)()
        else:
            self.refuse(_("Nothing was done: this installation has no search keys."))
        return self.redirect("search_key")

    def verify(self) -> None:
        """Compare the key with its definition in the cluster, and write the result to the tenant's audit log."""
        member = Membership.objects.filter(pk=self.member.pk)
        try:
            report = verify(member, tenant_id=self.member.tenant_id, with_orphans=False)
        except SearchKeysUnavailable as error:
            self.refuse(_("The key was not verified. %(why)s") % {"why": error})
            return
        drift = [drift.value for finding in report.findings for drift in finding.drift]
        with transaction.atomic():
            after = {"ok": not drift, "drift": drift}
            draft = EventDraft("search_key.verified", "membership", self.member.pk, after=after)
            record_tenant_event(self.actor, self.member.tenant_id, draft)
        if drift:
            self.refuse(
                _("The key differs from what it should be: %(drift)s. Replace it.")
                % {"drift": ", ".join(map(_, drift))}
            )
        else:
            self.success(_("The key is as it should be: it opens this member's memory and nothing else."))

    def rotate(self) -> None:
        """Replace the key with a new one."""
        self._report(search_keys.rotate(self.member, actor=self.actor), _("The key was replaced by a new one."))

    def revoke(self) -> None:
        """Revoke the key; warns if the cluster has not invalidated it yet."""
        if not search_keys.revoke(self.member, actor=self.actor):
            messages.info(self.request, _("There was no key to revoke."))
            return
        self.success(_("The key was revoked. This member searches nothing until one is made again."))
        if still_ending(self.member):
            messages.warning(self.request, _NOT_ENDED)

    def make(self) -> None:
        """Make a key for a member without one."""
        begin_missing(Membership.objects.filter(pk=self.member.pk))
        allow(self.member)
        self._report(search_keys.provision(self.member, actor=self.actor), _("A new key was made."))

    def _report(self, outcome: KeyOutcome, done: str) -> None:
        if outcome is KeyOutcome.MADE:
            self.success(done)
        else:
            self.refuse(_OUTCOMES[outcome])


def state_of(credential: SearchCredential | None, *, now: datetime) -> str:
    """The state of a credential as a key of `tenants.admin.membership.WORDS`; expiry overrides the stored state."""
    if credential is None:
        return MISSING
    if credential.expires_at is not None and credential.expires_at <= now:
        return EXPIRED
    return credential.state


PAGE_SIZE = 50
# The page lists this many differences and counts all of them.
MOST_SHOWN = 50
NO_ANSWER = gettext_lazy(
    "The index was not compared: it does not answer now. Nothing was changed; try again when it does."
)


class Index(MemberView):
    """The member's pending index changes and the health of the search plane."""

    reads = "index"
    tab = "index"
    title = gettext_lazy("Index")
    template_name = "admin/memories/member/index.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self.show()

    def show(self, *, status: int = 200, refusal: str = "", **compared: Any) -> HttpResponse:
        """Render the page; `compared` is the result of a comparison."""
        waiting = waiting_of(self.principal)
        page, fault = first_page_of(waiting, self.request.GET.get("cursor", ""), limit=PAGE_SIZE)
        return self.render(
            status=400 if fault else status,
            refusal=fault or refusal,
            lag=lag_of(waiting),
            entries=[
                # A deleted memory has no page.
                (entry, self.record_url(entry.kind, entry.memory_id) if entry.operation != "delete" else "")
                for entry in page.rows
            ],
            next_cursor=page.next_cursor,
            health=search_plane().health(),
            checked_at=timezone.now(),
            **compared,
        )


class IndexCheck(Index):
    """POST: the same page, with a comparison of this member's part of the index with the database."""

    http_method_names = ["post"]
    reads = "index check"

    def post(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        started = timezone.now()
        try:
            search_plane().settle()
        except SearchUnavailable:
            return self.show(refusal=NO_ANSWER, status=503)
        report = check(Owner(self.principal.tenant_id, self.principal.user_id))
        if any(each.problem is IndexProblem.UNREADABLE for each in report.differences):
            return self.show(refusal=NO_ANSWER, status=503)
        found = [
            (each, self.record_url(each.kind, each.id) if each.kind and each.id and there else "")
            for each in report.differences[:MOST_SHOWN]
            for there in (each.problem is not IndexProblem.NOT_IN_DATABASE,)
        ]
        took_ms = (timezone.now() - started).total_seconds() * 1000
        return self.show(report=report, took_ms=took_ms, found=found)
