"""What each page of the admin takes and who may open it: one line for each address.

A page that you add needs a line here, or `make check` fails:

- a model with Django's own pages (list, add, change, history, delete): a line in MODELS. `row` is what of a `Place`
  (place.py) names a row of it; `roles` are the roles that its list is open to.
- any other address: a line in PAGES under the name of its pattern. `takes` are the names of what its route takes, each
  one of `Place.ids`, in the order of the route; `roles` those it is open to; `method` how it is sent, with `data`.

The tests then ask for each of them as support, auditor and admin of another tenant, with every mixture of own and
foreign ids, and as nobody; see test_isolation.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenants.principal import ADMINISTERS, AUDITS, READS_HISTORY, READS_MEMORY, Role


@dataclass(frozen=True, slots=True)
class Model:
    """A model with Django's own pages."""

    row: str
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of our own."""

    takes: tuple[str, ...] = ()
    roles: tuple[Role, ...] = READS_MEMORY
    method: str = "GET"
    data: Mapping[str, str] = field(default_factory=dict)
    # What it answers to whom it is open, with their own ids.
    opens: int = 200


MODELS: dict[str, Model] = {
    "tenants_apitoken": Model("token", READS_HISTORY),
    "tenants_identityprovider": Model("provider", ADMINISTERS),
    "tenants_invitation": Model("invitation", ADMINISTERS),
    "tenants_membership": Model("member", ADMINISTERS),
    "tenants_tenant": Model("tenant", ADMINISTERS),
    "tenants_user": Model("user", ADMINISTERS),
    "memories_expiryrule": Model("rule", ADMINISTERS),
    "memories_memorypolicy": Model("policy", ADMINISTERS),
    "memories_reviewitem": Model("review", READS_HISTORY),
    "memories_thresholdproposal": Model("proposal", ADMINISTERS),
}

# Addresses that take no row and show none: the way in and out, and what the theme asks for.
OF_THE_SITE = frozenset(
    {"login", "logout", "password_change", "password_change_done", "jsi18n", "search", "autocomplete"}
)

PAGES: dict[str, Page] = {
    "index": Page(roles=READS_HISTORY),
    "app_list": Page(("app_label",), roles=READS_HISTORY),
    "tenants_membership_import": Page(roles=ADMINISTERS),
    "tenants_user_reset_link": Page(("user",), roles=ADMINISTERS),
    "memories_membermemory_changelist": Page(),
    "staff:inspector": Page(("member",)),
    "staff:inspector_live": Page(("member",)),
    "staff:pulse": Page(("member",)),
    "staff:record": Page(("member", "memory")),
    "staff:record_live": Page(("member", "memory")),
    "staff:items": Page(("member",)),
    "staff:item": Page(("member", "item")),
    "staff:as_of": Page(("member",)),
    "staff:ask": Page(("member",)),
    "staff:conversations": Page(("member",)),
    "staff:conversation": Page(("member", "session")),
    "staff:turn": Page(("member", "session", "turn")),
    "staff:cases": Page(),
    "staff:case_open": Page(("member", "session", "turn"), method="POST", opens=302),
    "staff:case_change": Page(("member", "case"), method="POST", data={"state": "closed"}, opens=302),
    "staff:case_note": Page(("member", "case"), method="POST", data={"note": "called back"}, opens=302),
    # Without a fact, it is refused on the same page.
    "staff:case_propose": Page(("member", "case"), method="POST", data={"how": "retire"}, opens=400),
    "staff:beside": Page(("member",)),
    "staff:beside_live": Page(("member",)),
    "staff:uses": Page(("member", "memory")),
    "staff:changes": Page(("member",)),
    "staff:runs": Page(("member",)),
    "staff:run": Page(("member", "run")),
    "staff:rerun": Page(("member", "run"), roles=ADMINISTERS, method="POST", opens=302),
    "staff:index": Page(("member",)),
    "staff:index_check": Page(("member",), method="POST"),
    "staff:search_key": Page(("member",), roles=ADMINISTERS),
    "staff:search_key_verify": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "staff:search_key_rotate": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "staff:search_key_revoke": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "staff:search_key_make": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "staff:erasure": Page(("member",), roles=ADMINISTERS),
    # What does not name the member is refused on the same page.
    "staff:erasure_ask": Page(("member",), roles=ADMINISTERS, method="POST", opens=400),
    "staff:hold_member": Page(("member",), roles=ADMINISTERS, method="POST", data={"reason": "a lawsuit"}, opens=302),
    "memories_erasurerequest_changelist": Page(roles=AUDITS),
    "staff:erasure_request": Page(("erasure",), roles=AUDITS),
    "staff:erasure_state": Page(("erasure",), roles=AUDITS),
    "staff:erasure_decide": Page(("erasure",), roles=ADMINISTERS, method="POST", opens=302),
    # The place's erasure is not done yet: its receipt is found by nobody. See test_erasure_request.py for one that is.
    "staff:erasure_verify": Page(("erasure",), roles=AUDITS, method="POST", opens=404),
    "staff:erasure_receipt": Page(("erasure",), roles=AUDITS, opens=404),
    "memories_legalhold_changelist": Page(roles=AUDITS),
    "staff:hold_tenant": Page(roles=ADMINISTERS),
    "staff:legal_hold": Page(("hold",), roles=AUDITS),
    "staff:legal_hold_release": Page(("hold",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_consolidationrun_changelist": Page(),
    "memories_outboxentry_changelist": Page(),
    "staff:exporting": Page(("member",), roles=AUDITS),
    "staff:export_ask": Page(("member",), roles=ADMINISTERS, method="POST", data={"reason": "a claim"}, opens=302),
    "staff:export_decide": Page(("export",), roles=ADMINISTERS, method="POST", opens=302),
    "staff:export": Page(("export",), roles=ADMINISTERS, method="POST"),
    "staff:purpose": Page(("member",), roles=READS_HISTORY),
    "tenants_auditevent_changelist": Page(roles=AUDITS),
    "tenants_auditevent_change": Page(("event",), roles=AUDITS),
    "tenants_auditevent_export": Page(roles=AUDITS, method="POST"),
    "tenants_auditevent_verify": Page(roles=AUDITS, method="POST", opens=302),
    "tenants_auditevent_save_view": Page(roles=AUDITS, method="POST", opens=302),
    # The place's view is its auditor's own.
    "tenants_auditevent_delete_view": Page(("view",), roles=(Role.AUDITOR,), method="POST", opens=302),
    "staff:superseded": Page(roles=AUDITS),
    "staff:audit_reports": Page(roles=AUDITS),
    "staff:audit_report": Page(("report",), roles=AUDITS),
    "staff:audit_report_pdf": Page(("report",), roles=AUDITS),
    "staff:tenant_checks": Page(roles=AUDITS),
    "staff:tenant_check": Page(("check",), roles=AUDITS),
    "staff:certificate": Page(("check",), roles=AUDITS, method="POST"),
    "staff:check_file": Page(roles=AUDITS),
    "staff:metrics": Page(roles=READS_HISTORY),
    "staff:histories": Page(roles=READS_HISTORY),
    "staff:broken_chains": Page(roles=AUDITS),
    "staff:history": Page(("kind", "memory"), roles=READS_HISTORY),
    "staff:history_export": Page(("kind", "memory"), roles=AUDITS, method="POST"),
    "staff:history_verify": Page(("kind", "memory"), roles=AUDITS, method="POST", opens=302),
    "staff:review": Page(("review",), roles=READS_HISTORY),
    # Others than admins are told that they may not, on the page of the review.
    "staff:review_undo": Page(("review",), roles=READS_HISTORY, method="POST", opens=302),
}

# Every relation that a form of the admin completes while one types, as (model, field). Keep it empty unless there is
# one: `Place` has something to find for each.
COMPLETED: frozenset[tuple[str, str]] = frozenset()
