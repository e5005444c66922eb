"""Where requests of a tenant's members to a model's API go, and with which key (docs/adr/0037)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories.errors import Conflict
from memories.llm.upstream import Upstream
from memories.models import MemoryPolicy
from memoryhub.db.compiled_query import Prepared
from tenants.errors import Forbidden
from tenants.search_keys.claims import Undecipherable, unseal

# The APIs, and the addresses of their providers, as the clients of each write them.
CHAT_VENDOR: Final = "openai"
VENDORS: Final = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


def _upstreams(tenant_id: UUID) -> QuerySet[MemoryPolicy, tuple[Any, ...]]:
    return MemoryPolicy.objects.filter(tenant_id=tenant_id).order_by().values_list("upstreams", "caller_keys")


_UPSTREAMS = Prepared(_upstreams)


def upstream_of(tenant_id: UUID, vendor: str, *, own_key: str = "") -> Upstream | None:
    """The endpoint for requests of a tenant's members, with the caller's key if one is given; None if there is none.

    Raises Forbidden (the policy lets callers bring no key), Conflict (the stored key cannot be read).
    """
    stored = _UPSTREAMS.values(tenant_id)
    upstreams, caller_keys = stored[0] if stored else ({}, False)
    if own_key and not caller_keys:
        raise Forbidden(_("The policy of this tenant does not let callers bring a model key of their own."))
    base = getattr(settings, f"{vendor.upper()}_BASE_URL")
    own = upstreams.get(vendor)
    if own is None and settings.MEMORYHUB_SHARED_UPSTREAM:
        url, key = (base or VENDORS[vendor]).rstrip("/"), getattr(settings, f"{vendor.upper()}_API_KEY")
        if not (own_key or key or base):
            return None
        shared = _is_shared(url, vendor, own_key, replaces_key=bool(key))
        return Upstream(url, own_key or key, checked=False, own=bool(own_key), shared=shared)
    if own is None:
        return Upstream(VENDORS[vendor], own_key, own=True, shared=False) if own_key else None
    key = own_key or _opened(tenant_id, own["key"])
    shared = _is_shared(own["url"], vendor, own_key, replaces_key=bool(own["key"]))
    return Upstream(own["url"], key, own=bool(own_key), shared=shared)


@dataclass(frozen=True, slots=True)
class TenantModel:
    """The model that a tenant connected for its chat: the name, and the OpenAI-compatible endpoint that serves it."""

    name: str
    upstream: Upstream


def model_of_tenant(tenant_id: UUID, upstreams: Mapping[str, Mapping[str, str]]) -> TenantModel | None:
    """The model among the tenant's stored upstreams, or None. Raises Conflict (the stored key cannot be read)."""
    if not has_model(upstreams):
        return None
    own = upstreams[CHAT_VENDOR]
    return TenantModel(own["model"], Upstream(own["url"], _opened(tenant_id, own["key"])))


def has_model(upstreams: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a tenant with these upstreams connected a model for its chat."""
    return bool(upstreams.get(CHAT_VENDOR, {}).get("model"))


def _opened(tenant_id: UUID, sealed: str) -> str:
    """A stored key. Raises Conflict if it cannot be read."""
    try:
        return unseal(tenant_id, sealed) if sealed else ""
    except (Undecipherable, ImproperlyConfigured):
        raise Conflict(
            _("The model key of this tenant cannot be read: an administrator has to set it again.")
        ) from None


def _is_shared(url: str, vendor: str, own_key: str, *, replaces_key: bool) -> bool:
    """Whether all callers share what an endpoint keeps: also with a caller's key where none is needed."""
    return not (own_key and (replaces_key or url == VENDORS[vendor]))


def shown_upstreams(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored upstreams without their keys."""
    return {
        vendor: {"url": each["url"], "has_key": bool(each["key"]), "model": each.get("model", "")}
        for vendor, each in stored.items()
    }
