"""Named filters of the audit log and of histories, each of one auditor in one tenant.

A view names people by their ids, so that it holds no name after an erasure; words that somebody searched are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from django.utils.translation import gettext as _

from tenants.audit.listing import read_filter
from tenants.auditors import SavedView
from tenants.errors import Forbidden, InvalidValue, is_storable
from tenants.models import Tenant, User
from tenants.principal import AUDITS
from tenants.selectors import has_role

MOST_VIEWS = 30
FIELDS: Mapping[SavedView.Page, tuple[str, ...]] = {
    SavedView.Page.AUDIT: ("member", "actor", "actor_kind", "action", "request", "target", "since", "until"),
    SavedView.Page.HISTORY: ("member", "kind", "key", "since", "until", "actor", "how", "all"),
}
_LONGEST_NAME, _LONGEST_QUERY = 60, 1000


def views_of(user: User, tenant: Tenant | None, page: SavedView.Page) -> list[SavedView]:
    """The views of this user in the tenant, by name."""
    return list(SavedView.objects.filter(user=user, tenant=tenant, page=page)) if tenant else []


def save_view(user: User, tenant: Tenant, page: SavedView.Page, *, name: str, asked: Mapping[str, str]) -> SavedView:
    """Save the filters of `asked` under a name; a view of the same name is replaced. Raises Forbidden, InvalidValue."""
    if not (user.is_superuser or has_role(user, tenant.pk, AUDITS)):
        raise Forbidden(_("Only auditors and administrators of the organisation save views."))
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not is_storable(name):
        raise InvalidValue("name", _("Name the view, with at most %(most)s characters.") % {"most": _LONGEST_NAME})
    kept = {field: value.strip() for field in FIELDS[page] if (value := asked.get(field, "")).strip()}
    people = {field: value for field, value in kept.items() if field in ("member", "actor") and value != "shared"}
    read = read_filter(tenant.pk, people)
    kept |= {field: str(found) for field in people if (found := getattr(read, field))}
    query = urlencode(kept)
    if not kept or len(query) > _LONGEST_QUERY or not is_storable(query):
        raise InvalidValue("query", _("Choose filters first; a view without any is the list itself."))
    mine = SavedView.objects.filter(user=user, tenant=tenant, page=page)
    if mine.exclude(name=name).count() >= MOST_VIEWS:
        raise InvalidValue("name", _("You have %(most)s views here; delete one first.") % {"most": MOST_VIEWS})
    return SavedView.objects.update_or_create(
        user=user, tenant=tenant, page=page, name=name, defaults={"query": query}
    )[0]


def delete_view(user: User, view_id: UUID) -> SavedView | None:
    """Delete a view of this user, and return it as it was; None if they have no such view."""
    view = SavedView.objects.filter(user=user, pk=view_id).select_related("tenant").first()
    if view is not None:
        view.delete()
    return view
