"""The admin's sidebar, limited to the pages that the reader's roles may open."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from memoryhub.languages import gettext_lazy
from tenants.admin.scoping import roles_held, signed_in
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY

# (group, ((title, icon, page), …)); a page is a model label, which links its admin list, or a URL name of a staff view.
_GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        gettext_lazy("Support"),
        (
            (gettext_lazy("Members' memory"), "semantic", "memories.membermemory"),
            (gettext_lazy("Cases"), "flag", "staff:cases"),
            (gettext_lazy("Consolidation runs"), "merge", "memories.consolidationrun"),
            (gettext_lazy("Index and queue"), "index", "memories.outboxentry"),
            (gettext_lazy("Reviews"), "scales", "memories.reviewitem"),
        ),
    ),
    (
        gettext_lazy("History"),
        (
            (gettext_lazy("History of facts"), "timeline", "staff:histories"),
            (gettext_lazy("Audit log"), "log", "tenants.auditevent"),
            (gettext_lazy("Superseded"), "merge", "staff:superseded"),
            (gettext_lazy("Audit reports"), "report", "staff:audit_reports"),
            (gettext_lazy("Verification"), "admin", "staff:tenant_checks"),
            (gettext_lazy("Check a file"), "check", "staff:check_file"),
            (gettext_lazy("Erasure"), "gone", "memories.erasurerequest"),
            (gettext_lazy("Legal holds"), "lock", "memories.legalhold"),
            (gettext_lazy("Metrics"), "chart", "staff:metrics"),
        ),
    ),
    (
        gettext_lazy("Administration"),
        (
            (gettext_lazy("Members"), "people", "tenants.membership"),
            (gettext_lazy("Invitations"), "mail", "tenants.invitation"),
            (gettext_lazy("Identity providers"), "door", "tenants.identityprovider"),
            (gettext_lazy("API tokens"), "key", "tenants.apitoken"),
            (gettext_lazy("Memory policies"), "edit", "memories.memorypolicy"),
            (gettext_lazy("Expiry rules"), "clock", "memories.expiryrule"),
            (gettext_lazy("Recall thresholds"), "tune", "memories.thresholdproposal"),
            (gettext_lazy("Tenants"), "building", "tenants.tenant"),
            (gettext_lazy("Users"), "person", "tenants.user"),
        ),
    ),
)


def sidebar(request: HttpRequest, *, at: str = "") -> list[dict[str, Any]]:
    """The groups of links beside every page of the admin, without empty ones; `active` is the page's own.

    `at`: the address of the list that the page belongs to, if its own address does not say so.
    """
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
        open_to |= {"staff:superseded", "staff:audit_reports", "staff:tenant_checks", "staff:check_file"}
    groups: list[dict[str, Any]] = [
        {"title": "", "items": [_link(_("What needs attention"), "home", reverse("admin:index"))]}
    ]
    for title, entries in _GROUPS:
        links = [_link(words, icon, _list(page)) for words, icon, page in entries if page in open_to]
        if links:
            groups.append({"title": title, "items": links})
    offered = [link for group in groups for link in group["items"]]
    here = [link for link in offered if (at or request.path).startswith(link["link"])]
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
