"""The sidebar of the admin: only what the reader's roles let them open."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

# (group, ((title, icon, model), …)): a model stands for its list.
_GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Support",
        (
            ("Members' memory", "neurology", "memories.membermemory"),
            ("Consolidation runs", "merge", "memories.consolidationrun"),
            ("Index and queue", "database", "memories.outboxentry"),
            ("Reviews", "rule", "memories.reviewitem"),
        ),
    ),
    (
        "History",
        (
            ("History of facts", "timeline", "memories.history"),
            ("Audit trail", "fact_check", "tenants.auditevent"),
            ("Erasure", "delete_forever", "memories.erasurerequest"),
            ("Legal holds", "gavel", "memories.legalhold"),
            ("Metrics", "monitoring", "memories.metricsample"),
        ),
    ),
    (
        "Administration",
        (
            ("Members", "group", "tenants.membership"),
            ("API tokens", "key", "tenants.apitoken"),
            ("Memory policies", "policy", "memories.memorypolicy"),
            ("Expiry rules", "hourglass_empty", "memories.expiryrule"),
            ("Recall thresholds", "tune", "memories.thresholdproposal"),
            ("Tenants", "domain", "tenants.tenant"),
            ("Users", "person", "tenants.user"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """Groups of links in the form of unfold's `SIDEBAR.navigation`; a group without any is left out."""
    open_to = {
        f"{model._meta.app_label}.{model._meta.model_name}"
        for model, page in admin.site._registry.items()
        if page.has_module_permission(request) and page.has_view_permission(request)
    }
    groups: list[dict[str, Any]] = [
        {"title": "", "items": [_link("What needs attention", "space_dashboard", reverse("admin:index"))]}
    ]
    for title, entries in _GROUPS:
        links = [_link(words, icon, _list(model)) for words, icon, model in entries if model in open_to]
        if links:
            groups.append({"title": title, "separator": True, "items": links})
    return groups


def _link(title: str, icon: str, address: str) -> dict[str, str]:
    return {"title": title, "icon": icon, "link": address}


def _list(model: str) -> str:
    try:
        return reverse(f"admin:{model.replace('.', '_')}_changelist")
    except NoReverseMatch as error:
        raise LookupError(f"{model} has no list in the admin") from error
