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

NOBODY: tuple[Role, ...] = ()


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
    {"login", "logout", "password_change", "password_change_done", "jsi18n", "search", "view_on_site", "autocomplete"}
)

PAGES: dict[str, Page] = {
    "index": Page(roles=READS_HISTORY),
    "app_list": Page(("app_label",), roles=READS_HISTORY),
    "auth_user_password_change": Page(("user",), roles=NOBODY),
    "memories_membermemory_changelist": Page(),
    "memories_membermemory_change": Page(("member",)),
    "memories_membermemory_change_live": Page(("member",)),
    "memories_membermemory_pulse_live": Page(("member",)),
    "memories_membermemory_record": Page(("member", "memory")),
    "memories_membermemory_record_live": Page(("member", "memory")),
    "memories_membermemory_as_of": Page(("member",)),
    "memories_membermemory_ask": Page(("member",)),
    "memories_membermemory_conversations": Page(("member",)),
    "memories_membermemory_conversation": Page(("member", "session")),
    "memories_membermemory_turn": Page(("member", "session", "turn")),
    "memories_membermemory_uses": Page(("member", "memory")),
    "memories_membermemory_changes": Page(("member",)),
    "memories_membermemory_runs": Page(("member",)),
    "memories_membermemory_run": Page(("member", "run")),
    "memories_membermemory_rerun": Page(("member", "run"), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_index": Page(("member",)),
    "memories_membermemory_index_check": Page(("member",), method="POST"),
    "memories_membermemory_search_key": Page(("member",), roles=ADMINISTERS),
    "memories_membermemory_search_key_verify": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_search_key_rotate": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_search_key_revoke": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_search_key_make": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_erasure": Page(("member",), roles=ADMINISTERS),
    "memories_membermemory_erasure_ask": Page(("member",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_membermemory_hold_place": Page(
        ("member",), roles=ADMINISTERS, method="POST", data={"reason": "a lawsuit"}, opens=302
    ),
    "memories_erasurerequest_changelist": Page(roles=AUDITS),
    "memories_erasurerequest_change": Page(("erasure",), roles=AUDITS),
    "memories_erasurerequest_state": Page(("erasure",), roles=AUDITS),
    "memories_erasurerequest_decide": Page(("erasure",), roles=ADMINISTERS, method="POST", opens=302),
    # The place's erasure is not done yet: its receipt is found by nobody. See test_erasure_request.py for one that is.
    "memories_erasurerequest_verify": Page(("erasure",), roles=AUDITS, method="POST", opens=404),
    "memories_erasurerequest_receipt": Page(("erasure",), roles=AUDITS, opens=404),
    "memories_legalhold_changelist": Page(roles=AUDITS),
    "memories_legalhold_place": Page(roles=ADMINISTERS),
    "memories_legalhold_change": Page(("hold",), roles=AUDITS),
    "memories_legalhold_release": Page(("hold",), roles=ADMINISTERS, method="POST", opens=302),
    "memories_consolidationrun_changelist": Page(),
    "memories_outboxentry_changelist": Page(),
    "memories_membermemory_exporting": Page(("member",), roles=AUDITS),
    "memories_membermemory_export": Page(("member",), roles=AUDITS, method="POST"),
    "tenants_auditevent_changelist": Page(roles=AUDITS),
    "tenants_auditevent_change": Page(("event",), roles=AUDITS),
    "tenants_auditevent_export": Page(roles=AUDITS, method="POST"),
    "tenants_auditevent_verify": Page(roles=AUDITS, method="POST", opens=302),
    "memories_metricsample_changelist": Page(roles=READS_HISTORY),
    "memories_history_changelist": Page(roles=READS_HISTORY),
    "memories_history_broken": Page(roles=AUDITS),
    "memories_history_chain": Page(("kind", "memory"), roles=READS_HISTORY),
    "memories_history_export": Page(("kind", "memory"), roles=AUDITS, method="POST"),
    "memories_history_verify": Page(("kind", "memory"), roles=AUDITS, method="POST", opens=302),
    # Others than admins are told that they may not, on the page of the review.
    "memories_reviewitem_undo": Page(("review",), roles=READS_HISTORY, method="POST", opens=302),
}

# Every relation that a form of the admin completes while one types, as (model, field). Keep it empty unless there is
# one: `Place` has something to find for each.
COMPLETED: frozenset[tuple[str, str]] = frozenset()
