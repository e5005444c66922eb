"""The model endpoints that a tenant decides on, as its policy takes and keeps them (docs/adr/0037).

A key is stored encrypted, bound to its tenant, and belongs to its address: another address gets another key, or none.
The audit log keeps the host of an address and whether there is a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext as _

from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import MemoryPolicy
from memories.selectors.upstreams import CHAT_VENDOR, VENDORS
from memoryhub.languages import number
from memoryhub.outgoing import address_fault
from tenants.search_keys.claims import box, seal, with_first_key

MAX_ADDRESS, MAX_KEY, MAX_MODEL = 2_000, 1_000, 200


def checked_upstreams(name: str, value: object) -> dict[str, dict[str, Any]]:
    """Addresses and keys by API; a key that is None is left as it is. Raises InvalidInput."""
    if not isinstance(value, Mapping) or not all(isinstance(each, Mapping) for each in value.values()):
        raise InvalidInput(name, _("must map %(names)s to a url and a key.") % {"names": " and ".join(VENDORS)})
    if not set(value) <= set(VENDORS):
        raise InvalidInput(name, _("has a name that is none; known are %(names)s.") % {"names": ", ".join(VENDORS)})
    checked: dict[str, dict[str, Any]] = {}
    for vendor, each in value.items():
        url, key = each.get("url"), each.get("key")
        fault = address_fault(url) if isinstance(url, str) and len(url) <= MAX_ADDRESS else _("is not a web address.")
        if fault or "?" in url:
            raise InvalidInput(f"{name}.{vendor}.url", fault or _("must not hold a query."))
        if key is not None and not (isinstance(key, str) and len(key) <= MAX_KEY and key.isascii()):
            raise InvalidInput(
                f"{name}.{vendor}.key",
                _("must have at most %(max_key)s ASCII characters.") % {"max_key": number(MAX_KEY)},
            )
        if key and not key.isprintable():
            raise InvalidInput(f"{name}.{vendor}.key", _("holds a character that is not seen."))
        checked[vendor] = {"url": url.rstrip("/"), "key": key}
        if model := each.get("model"):
            if vendor != CHAT_VENDOR:
                raise InvalidInput(
                    f"{name}.{vendor}.model", _("is set for %(chat_vendor)s only.") % {"chat_vendor": CHAT_VENDOR}
                )
            checked[vendor]["model"] = clean_text(model, field=f"{name}.{vendor}.model", limit=MAX_MODEL)
    return checked


def sealed_upstreams(tenant_id: UUID, wanted: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Checked upstreams as they are stored. Raises Conflict if the server has no key to seal them."""
    return {
        vendor: {**each, "key": _sealed(tenant_id, each, before.get(vendor, {}))} for vendor, each in wanted.items()
    }


def _sealed(tenant_id: UUID, wanted: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if wanted["key"] is None:
        return str(before["key"]) if before.get("url") == wanted["url"] else ""
    try:
        return seal(tenant_id, wanted["key"], using=box()) if wanted["key"] else ""
    except ImproperlyConfigured as error:
        raise Conflict(_("This server cannot keep the key of a model. %(error)s") % {"error": error}) from None


def recorded_upstreams(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored upstreams as the audit log keeps them: the rest of an address may hold a secret."""
    return {
        vendor: {
            "host": urlsplit(each["url"]).hostname,
            "has_key": bool(each["key"]),
            **({"model": each["model"]} if "model" in each else {}),
        }
        for vendor, each in stored.items()
    }


def encrypt_upstreams_again() -> None:
    """Encrypt the keys with the first of MEMORYHUB_CREDENTIAL_KEYS; one that none reads is refused on use."""
    for policy in MemoryPolicy.objects.exclude(upstreams={}).iterator():
        anew = {vendor: {**each, "key": _rotated(each["key"])} for vendor, each in policy.upstreams.items()}
        if anew != policy.upstreams:
            MemoryPolicy.objects.filter(pk=policy.pk, upstreams=policy.upstreams).update(upstreams=anew)


def _rotated(sealed: str) -> str:
    with suppress(InvalidToken):
        return with_first_key(sealed) if sealed else ""
    return sealed
