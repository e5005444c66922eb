"""The admin's sidebar, limited to the pages that the reader's roles may open."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from tenants.admin.scoping import roles_held, signed_in
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY

# (group, ((title, icon, page), …)); a page is a model label, which links its admin list, or a URL name of a staff view.
_GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Support",
        (
            ("Members' memory", "semantic", "memories.membermemory"),
            ("Cases", "flag", "staff:cases"),
            ("Consolidation runs", "merge", "memories.consolidationrun"),
            ("Index and queue", "index", "memories.outboxentry"),
            ("Reviews", "scales", "memories.reviewitem"),
        ),
    ),
    (
        "History",
        (
            ("History of facts", "timeline", "staff:histories"),
            ("Audit log", "log", "tenants.auditevent"),
            ("Audit reports", "report", "staff:audit_reports"),
            ("Verification", "admin", "staff:tenant_checks"),
            ("Erasure", "gone", "memories.erasurerequest"),
            ("Legal holds", "lock", "memories.legalhold"),
            ("Metrics", "chart", "staff:metrics"),
        ),
    ),
    (
        "Administration",
        (
            ("Members", "people", "tenants.membership"),
            ("Invitations", "mail", "tenants.invitation"),
            ("Identity providers", "door", "tenants.identityprovider"),
            ("API tokens", "key", "tenants.apitoken"),
            ("Memory policies", "edit", "memories.memorypolicy"),
            ("Expiry rules", "clock", "memories.expiryrule"),
            ("Recall thresholds", "tune", "memories.thresholdproposal"),
            ("Tenants", "building", "tenants.tenant"),
            ("Users", "person", "tenants.user"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of links beside every page of the admin, without empty ones; `active` is the page's own."""
    open_to = {
        f"{model._meta.app_label}.{model._meta.model_name}"
        for model, page in admin.site._registry.items()
        if page.has_module_permission(request) and page.has_view_permission(request)
    }
    staff = signed_in(request)
    if staff.is_superuser or not roles_held(request).isdisjoint(READS_HISTORY):
        open_to |= {"staff:histories", "staff:metrics"}
    if staff.is_superuser or not roles_held(request).isdisjoint(READS_MEMORY):
        open_to.add("staff:cases")
    if staff.is_superuser or not roles_held(request).isdisjoint(AUDITS):
        open_to |= {"staff:audit_reports", "staff:tenant_checks"}
    groups: list[dict[str, Any]] = [
        {"title": "", "items": [_link("What needs attention", "home", reverse("admin:index"))]}
    ]
    for title, entries in _GROUPS:
        links = [_link(words, icon, _list(page)) for words, icon, page in entries if page in open_to]
        if links:
            groups.append({"title": title, "items": links})
    offered = [link for group in groups for link in group["items"]]
    here = [link for link in offered if request.path.startswith(link["link"])]
    for link in offered:
        link["active"] = link is max(here, key=lambda each: len(each["link"]), default=None)
    groups[0]["items"][0]["active"] = request.path == reverse("admin:index")
    return groups


def _link(title: str, icon: str, address: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": address}


def _list(page: str) -> str:
    if page.startswith("staff:"):
        return reverse(page)
    try:
        return reverse(f"admin:{page.replace('.', '_')}_changelist")
    except NoReverseMatch as error:
        raise LookupError(f"{page} has no list in the admin") from error
