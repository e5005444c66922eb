"""The list of histories, one tenant at a time, and the list of chains whose verification failed.

The list shows text only for one member, whose audit log gets a read event, or for the memory that a tenant shares. A
list across members shows keys, times and names. The failed chains show no text and cover the tenants that the reader
audits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.text import format_lazy
from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from memories.models import Fact
from memories.presenting.lines import did, ending_of, headline, state_look, state_word
from memories.selectors.history.chains import BrokenChain, NamedMemory, broken_chains, named_by
from memories.selectors.history.listing import (
    ChainedRow,
    HistoryFilter,
    HistoryRow,
    StateOutcome,
    history_rows,
    page_of_histories,
)
from memories.selectors.history.rows import READING_FAILS, unreadable_rows
from memories.services.admin_requests import note_reading, note_shared_reading
from memories.staff.base import StaffView, alarms_of, may_see, purpose_of
from memories.staff.history import history_url, member_of
from memories.types import Kind, Owner
from memoryhub.languages import gettext_lazy
from tenants.admin.audit_event import Badge, saved_views
from tenants.admin.scoping import PARAMETER, PLATFORM_NAME, TenantScope, address_of, one_of, scope_of
from tenants.audit.listing import member_in_words, read_filter
from tenants.audit.sentences import ActorNames, actor_names
from tenants.auditors import SavedView
from tenants.errors import InvalidValue
from tenants.middleware import request_id_of
from tenants.models import AuditEvent, Checked, Membership, Tenant
from tenants.principal import AUDITS, READS_HISTORY, ActorKind
from tenants.principals import reading_principal

SHARED = "shared"
_LONGEST = 200
_UNKNOWN = gettext_lazy("Search for something else.")


class HistoryForm(forms.Form):
    """The filters of a URL; actor and time are parsed as in the audit log."""

    q = forms.CharField(
        label=gettext_lazy("Words"),
        required=False,
        max_length=_LONGEST,
        error_messages={
            "max_length": format_lazy(gettext_lazy("Search for at most {most} characters."), most=_LONGEST),
            "null_characters_not_allowed": _UNKNOWN,
        },
    )
    member = forms.CharField(label=gettext_lazy("Member"), required=False)
    kind = forms.CharField(label=gettext_lazy("Kind"), required=False)
    key = forms.CharField(
        label=gettext_lazy("Key"), required=False, error_messages={"null_characters_not_allowed": _UNKNOWN}
    )
    since = forms.CharField(label=gettext_lazy("Changed from"), required=False)
    until = forms.CharField(label=gettext_lazy("Changed to"), required=False)
    actor = forms.CharField(label=gettext_lazy("Who did it"), required=False)
    how = forms.CharField(label=gettext_lazy("Outcome"), required=False)
    all = forms.BooleanField(required=False)
    cursor = forms.CharField(label=gettext_lazy("Page"), required=False)

    def filter_within(self, scope: TenantScope) -> HistoryFilter:
        """The filter for the selector. Raises InvalidValue."""
        for name, errors in self.errors.items():
            raise InvalidValue(name, str(errors[0]))
        given, tenant = self.cleaned_data, scope.chosen
        if given["all"] and tenant is not None and not given["member"]:
            raise InvalidValue("member", _("Choose one to see what never changed as well."))
        shared = given["member"] == SHARED
        asked = {"member": "" if shared else given["member"], **{n: given[n] for n in ("actor", "since", "until")}}
        read = read_filter(tenant.pk if tenant else None, asked)
        return HistoryFilter(
            tenant_id=tenant.pk if tenant else None,
            kind=Kind.PROCEDURAL if given["kind"] == Kind.PROCEDURAL else Kind.SEMANTIC,
            user_id=read.member,
            shared=shared,
            key=given["key"].lower().replace(" ", "_"),
            text=given["q"],
            since=read.since,
            until=read.until,
            actor_id=read.actor,
            actor_kind=read.actor_kind,
            outcome=StateOutcome(given["how"]) if given["how"] in set(StateOutcome) else None,
            everything=given["all"],
        )

    @cached_property
    def given(self) -> dict[str, str]:
        """The non-empty filters as the reader wrote them, without the cursor."""
        values = {name: str(self[name].value() or "").strip() for name in self.fields if name != "cursor"}
        return {name: value for name, value in values.items() if value and value != "False"}

    @property
    def narrowed(self) -> bool:
        """Whether the form has any filter besides tenant and kind."""
        return any(name != "kind" for name in self.given)

    def said(self, error: InvalidValue | InvalidInput) -> tuple[str, str]:
        """The label of the invalid field, and the reason."""
        field = self.fields.get(error.field)
        return str(field.label if field else error.field), error.reason


_OUTCOMES = {
    StateOutcome.NATURAL: gettext_lazy("natural"),
    StateOutcome.HARSH: gettext_lazy("harsh"),
    StateOutcome.RETIRED: gettext_lazy("retired"),
    StateOutcome.MERGED: gettext_lazy("merged"),
    StateOutcome.UNDONE: gettext_lazy("undone"),
    StateOutcome.PROMOTED: gettext_lazy("promoted"),
}


class Histories(StaffView):
    """The list, newest first; if rows were tampered with so that they cannot be read, the page lists those instead."""

    title = gettext_lazy("History")
    template_name = "admin/memories/history/list.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = one_of(request, READS_HISTORY)
        form = HistoryForm(request.GET)
        context: dict[str, Any] = {
            "scope": scope,
            "form": form,
            "views": saved_views(request, scope, SavedView.Page.HISTORY)
            if may_see(self.staff, scope.chosen.pk if scope.chosen else None, AUDITS)
            else None,
            "actors": [kind.value for kind in ActorKind],
            "outcomes": list(_OUTCOMES.items()),
            "member_words": form.given.get("member", ""),
        }
        try:
            by = form.filter_within(scope)
            return self.render(**{**context, **self._listed(form, by)}).render()
        except (InvalidValue, InvalidInput) as error:
            return self.render(**context, refused=form.said(error))
        except READING_FAILS:
            unread = unreadable_rows(scope.chosen.pk if scope.chosen else None)
            if not unread:
                raise
            return self.render(**context, unread=unread)

    def _listed(self, form: HistoryForm, by: HistoryFilter) -> Mapping[str, Any]:
        """Write the read event, and return the context of one page of the list."""
        cursor = form.cleaned_data["cursor"]
        page = page_of_histories(by, cursor=cursor)
        member = member_of(Owner(by.tenant_id, by.user_id))
        with_words = self._audit(by, member)
        if any(None in (row.learned_at, row.created_at) for row in page.rows):
            raise ValueError("A driver reads a malformed time as nothing.")
        rows = history_rows(page.rows)
        names = actor_names(by.tenant_id, [row.event for row in rows if row.event])
        base = reverse("staff:histories")
        asked = {PARAMETER: one_of(self.request, READS_HISTORY).address, **form.given}
        return {
            "listed_member": member,
            **({"member_words": _in_words(member)} if member else {}),
            "alarms": alarms_of(member) if member else [],
            "with_words": with_words,
            "lines": [_line(row, names, with_words=with_words) for row in rows],
            "next_url": f"{base}?{urlencode({**asked, 'cursor': page.next_cursor})}" if page.next_cursor else "",
            "first_url": f"{base}?{urlencode(asked)}" if cursor else "",
        }

    def _audit(self, by: HistoryFilter, member: Membership | None) -> bool:
        """Write the read event of the owner whose text is shown or searched; return whether to show text."""
        shared = member is None and by.user_id is None and (by.shared or by.tenant_id is None)
        if member is not None:
            purpose = purpose_of(self.request, member)
            principal = reading_principal(
                member, staff=self.staff, request_id=request_id_of(self.request), purpose=purpose
            )
            note_reading(principal, "histories")
        elif shared or by.text:
            note_shared_reading(self.actor, by.tenant_id, "shared histories" if shared else "search in histories")
        return member is not None or shared


def _in_words(member: Membership) -> str:
    """A name that finds this member alone in the filter, where one word means shared memory."""
    words = member_in_words(member.tenant_id, member.user_id)
    return str(member.user_id) if words == SHARED else words


def _line(found: HistoryRow, names: ActorNames, *, with_words: bool) -> dict[str, Any]:
    """The context of one state; empty text unless `with_words`."""
    row, event = found.row, found.event
    key = row.key.replace("_", " ") if isinstance(row, Fact) else ""
    return {
        "url": history_url(row.kind, row.pk),
        "kind": row.kind,
        "slot": key or row.category,
        "words": headline(row) if with_words else "",
        "became": _words(found.successor) if with_words else "",
        "state": state_word(row),
        "look": state_look(row),
        "ending": ending_of(row),
        "whose": row.user.shown_name if row.user else _("shared"),
        "who": names.who(event) if event else "",
        "did": _did(event, found.successor) if event else "",
        "at": row.superseded_at or row.learned_at,
    }


def _did(event: AuditEvent, successor: ChainedRow | None) -> str:
    """The verb of a state's end; a state whose successor was erased is not said to be replaced."""
    if successor is None and event.action.endswith(".superseded"):
        return _("ended it")
    return did(event.action)


def _words(row: ChainedRow | None) -> str:
    return headline(row) if row else ""


class BrokenChains(StaffView):
    """The chains whose verification failed; `?tenant=` narrows them.

    Raises Http404 for a tenant out of the reader's reach.
    """

    roles = AUDITS
    title = gettext_lazy("Chains that do not verify")
    template_name = "admin/memories/history/broken.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = scope_of(request, AUDITS)
        return self.render(scope=scope, chains=_lines(broken_chains(scope.within(AUDITS))))


def _lines(found: Sequence[BrokenChain]) -> list[dict[str, Any]]:
    """The owner of each chain, its failed verifications as badges, and links."""
    tenants = Tenant.objects.in_bulk({each.tenant_id for each in found if each.tenant_id})
    people = _people(found)
    checks = [check for each in found for check in each.checks]
    named = named_by(checks)
    bad = {check.event_id for check in checks if check.event_id}
    there = set(AuditEvent.objects.filter(pk__in=bad).order_by().values_list("pk", "chain")) if bad else set()
    lines = []
    for each in found:
        tenant = tenants.get(each.tenant_id) if each.tenant_id else None
        if each.user_id:
            whose = people.get((each.tenant_id, each.user_id)) or _("Member %(id)s") % {"id": str(each.user_id)[:8]}
        else:
            whose = _("What the tenant shares, and its own affairs") if each.tenant_id else PLATFORM_NAME
        badges = []
        for check in each.checks:
            exists = (check.event_id, check.chain) in there
            url = reverse("admin:tenants_auditevent_change", args=[check.event_id]) if exists else ""
            badges.append(Badge(Checked(check.what), check, bad_event_url=url))
        links = list(_links(each, tenant, named))
        lines.append({"whose": whose, "tenant": tenant.name if tenant else "", "badges": badges, "links": links})
    return lines


def _people(found: Sequence[BrokenChain]) -> dict[tuple[UUID | None, UUID], str]:
    """Display names of members, by tenant and user."""
    users = {each.user_id for each in found if each.user_id}
    within = {each.tenant_id for each in found if each.user_id}
    if not users:
        return {}
    members = Membership.objects.filter(tenant_id__in=within, user_id__in=users).select_related("user")
    return {(member.tenant_id, member.user_id): member.user.shown_name for member in members}


def _links(each: BrokenChain, tenant: Tenant | None, named: Mapping[int, NamedMemory]) -> Iterator[tuple[str, str]]:
    if each.tenant_id and tenant is None:
        return  # the tenant was deleted
    asked = {PARAMETER: address_of(tenant)}
    for check in each.checks:
        if check.what == Checked.AUDIT:
            member = {"member": str(each.user_id)} if each.user_id else {}
            yield _("Its audit log"), f"{reverse('admin:tenants_auditevent_changelist')}?{urlencode(asked | member)}"
            continue
        if memory := named.get(check.pk):
            yield _("The history that it names"), history_url(memory.kind, memory.id)
        whose = {"member": str(each.user_id or SHARED), "all": "1"}
        yield _("All histories"), f"{reverse('staff:histories')}?{urlencode(asked | whose)}"
