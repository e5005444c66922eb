"""A tenant's own Elasticsearch index: connected, tried and disconnected by its administrators (`recall/external.py`).

The key is stored encrypted, bound to the tenant, and belongs to its address: another address gets another key, or none.
The audit log keeps the host, the index, and whether there is a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils.translation import gettext as _

from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import MemoryPolicy
from memories.recall.external import forget_known, search_index
from memories.services.policies import administrator
from memories.services.upstreams import MAX_ADDRESS, MAX_KEY
from memories.types import ExternalRecord
from memoryhub.outgoing import Unreachable, address_fault
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.principal import Actor, Principal
from tenants.search_keys.claims import box, seal, with_first_key

MAX_NAME = 64
# A name of one index or alias: no pattern, no list, nothing of a path.
_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")
_FIELD = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@_.-]{0,99}")


def connect_index(
    by: Principal | Actor,
    *,
    tenant_id: UUID,
    name: str,
    url: str,
    index: str,
    text_field: str,
    title_field: str = "",
    url_field: str = "",
    key: str | None = None,
) -> None:
    """Search this index in the recalls of the tenant's members. A `key` of None keeps the one of the same address.

    Raises InvalidInput, Forbidden, and Conflict if this installation allows no such index or cannot keep the key.
    """
    actor = administrator(by, tenant_id)
    if not settings.MEMORYHUB_TENANT_INDEXES:
        raise Conflict("This server searches no index of a tenant; MEMORYHUB_TENANT_INDEXES allows it.")
    wanted = {
        "name": clean_text(name, field="name", limit=MAX_NAME),
        "url": _checked_url(url),
        "index": _matching(_INDEX, "index", index),
        "text_field": _matching(_FIELD, "text_field", text_field),
        "title_field": _matching(_FIELD, "title_field", title_field) if title_field else "",
        "url_field": _matching(_FIELD, "url_field", url_field) if url_field else "",
    }
    if key is not None and not (len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidInput("key", f"must be an encoded API key of at most {MAX_KEY:,} ASCII characters.")
    with transaction.atomic():
        policy = _locked(tenant_id)
        before = policy.external_index
        kept = before.get("key", "") if before.get("url") == wanted["url"] else ""
        _store(actor, policy, {**wanted, "key": kept if key is None else _sealed(tenant_id, key)})
    forget_known(tenant_id)


def disconnect_index(by: Principal | Actor, *, tenant_id: UUID) -> None:
    """Search no index of the tenant any more, and drop its key. Raises Forbidden."""
    actor = administrator(by, tenant_id)
    with transaction.atomic():
        policy = _locked(tenant_id)
        if policy.external_index:
            _store(actor, policy, {})
    forget_known(tenant_id)


def try_index(by: Principal | Actor, *, tenant_id: UUID, query: str) -> tuple[ExternalRecord, ...]:
    """Search the connected index now. Raises Forbidden, and Conflict if there is none or it does not answer."""
    administrator(by, tenant_id)
    stored = MemoryPolicy.objects.filter(tenant_id=tenant_id).values_list("external_index", flat=True).first()
    if not stored:
        raise Conflict("This tenant has no index connected.")
    try:
        return search_index(tenant_id, stored, query)
    except Unreachable as error:
        raise Conflict(f"The index did not answer: {error}.") from None


def shown_index(stored: Mapping[str, str]) -> dict[str, Any]:
    """A stored index without its key."""
    return {name: value for name, value in stored.items() if name != "key"} | {"has_key": bool(stored.get("key"))}


def encrypt_index_keys_again() -> None:
    """Encrypt the keys with the first of MEMORYHUB_CREDENTIAL_KEYS; one that none reads is refused on use."""
    for policy in MemoryPolicy.objects.exclude(external_index={}).iterator():
        stored = policy.external_index
        with suppress(InvalidToken):
            anew = stored | {"key": with_first_key(stored["key"]) if stored["key"] else ""}
            if anew != stored:
                MemoryPolicy.objects.filter(pk=policy.pk, external_index=stored).update(external_index=anew)


def _locked(tenant_id: UUID) -> MemoryPolicy:
    if not wait_for_tenant(tenant_id):
        raise Forbidden("There is no such tenant.")
    return MemoryPolicy.objects.filter(tenant_id=tenant_id).first() or MemoryPolicy(tenant_id=tenant_id)


def _store(actor: Actor, policy: MemoryPolicy, wanted: dict[str, str]) -> None:
    before, policy.external_index = policy.external_index, wanted
    policy.save()
    draft = EventDraft(
        "policy.changed",
        "tenant",
        policy.tenant_id,
        before={"external_index": _audited(before)},
        after={"external_index": _audited(wanted)},
    )
    record_tenant_event(actor, policy.tenant_id, draft)


def _audited(stored: Mapping[str, str]) -> dict[str, Any]:
    if not stored:
        return {}
    host = urlsplit(stored["url"]).hostname
    return {"name": stored["name"], "host": host, "index": stored["index"], "has_key": bool(stored["key"])}


def _checked_url(url: str) -> str:
    fault = address_fault(url) if len(url) <= MAX_ADDRESS else _("is not a web address.")
    if fault or "?" in url:
        raise InvalidInput("url", fault or _("must not hold a query."))
    return url.rstrip("/")


def _matching(pattern: re.Pattern[str], field: str, value: str) -> str:
    if not pattern.fullmatch(value) or ".." in value:
        raise InvalidInput(field, "must be one plain name, without patterns and signs of a path.")
    return value


def _sealed(tenant_id: UUID, key: str) -> str:
    try:
        return seal(tenant_id, key, using=box()) if key else ""
    except ImproperlyConfigured as error:
        raise Conflict(f"This server cannot keep the key of an index. {error}") from None
