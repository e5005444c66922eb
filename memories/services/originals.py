"""Originals: encrypted texts from before masking, for tenants whose policy keeps them.

An original is stored in the transaction of its memory and erased with it. Only the owner can open it, and each opening
is audited. The keys (MEMORYHUB_ORIGINAL_KEYS) are not in the database.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Collection, Mapping
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext as _

from memories.errors import Conflict, existing
from memories.models import SealedOriginal
from memories.services.write import Write, write
from memories.types import Kind
from memoryhub.env.values import development_secret
from tenants.errors import Forbidden
from tenants.principal import ActorKind, Principal, Right

log = logging.getLogger(__name__)


def keep_originals(w: Write, originals: Mapping[UUID, str], *, kind: Kind) -> None:
    """Encrypt the texts of masked memories if the tenant keeps originals.

    Without a configured key the masked memories are still stored, and an error is logged.
    """
    if not originals or not w.policy.keep_originals:
        return
    try:
        box = _box()
    except ImproperlyConfigured as error:
        log.error("An original is not kept. %s", error)  # noqa: TRY400 - there is nothing else to say
        return
    SealedOriginal.objects.bulk_create(
        SealedOriginal(
            tenant_id=w.principal.tenant_id,
            user_id=w.principal.user_id,
            kind=kind,
            memory_id=memory_id,
            sealed=box.encrypt(json.dumps([str(memory_id), text]).encode()).decode(),
        )
        for memory_id, text in originals.items()
    )


def open_original(principal: Principal, *, memory_id: UUID) -> str:
    """The owner's unmasked text; audited. Raises NotFound, Conflict (no configured key opens it), Forbidden.

    Only the member in person may open it, because an agent or program could copy the value elsewhere.
    """
    principal.require(Right.READ)
    if principal.actor_kind is not ActorKind.MEMBER:
        raise Forbidden(_("Only the member in person opens what was masked."))
    with write(principal) as w:
        row = existing(SealedOriginal.objects.of(principal).filter(memory_id=memory_id).first(), "original")
        try:
            named, text = json.loads(_box().decrypt(row.sealed.encode()))
        except (InvalidToken, ImproperlyConfigured) as error:
            raise Conflict(_("The key that opens this original is not configured any more.")) from error
        if named != str(memory_id):
            raise Conflict(_("This original was sealed for another memory."))
        w.audit("original.opened", target_kind=row.kind, target_id=memory_id)
        return str(text)


def erase_originals(principal: Principal, memory_ids: Collection[UUID]) -> None:
    """Erase the originals of erased memories; the caller holds the owner's lock."""
    SealedOriginal.objects.of(principal).filter(memory_id__in=memory_ids).delete()


def _box() -> MultiFernet:
    """Encrypts with the first key and decrypts with all. Raises ImproperlyConfigured in production without one."""
    keys: tuple[str, ...] = settings.MEMORYHUB_ORIGINAL_KEYS
    if not keys and settings.PRODUCTION:
        raise ImproperlyConfigured("Set MEMORYHUB_ORIGINAL_KEYS: a tenant keeps what was masked.")
    return _fernets(keys or (development_secret(settings.MEMORYHUB_DATA_DIR, "original_key"),))


@functools.lru_cache(maxsize=4)
def _fernets(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
