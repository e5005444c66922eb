"""Tenants for programs, whose members are made on first use: by `manage.py tenant create`, and at the first start."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from memories.services.policies import set_policy
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.installation import PROGRAM
from tenants.errors import InvalidValue
from tenants.models import ApiToken, Tenant
from tenants.principal import SYSTEM
from tenants.services import create_tenant, issue_key
from tenants.tokens import is_key, issued_with

log = logging.getLogger(__name__)

TENANT, KEY = "default", "bootstrap"


def open_tenant(*, name: str, slug: str, provision_members: bool = True) -> Tenant:
    """Create a tenant; `provision_members`: its backend keys make members on first use. Raises InvalidValue."""
    with transaction.atomic():
        tenant = create_tenant(name=name, slug=slug)
        set_policy(SYSTEM, tenant_id=tenant.id, provision_members=provision_members)
    return tenant


def bootstrap() -> ApiToken | None:
    """See to it that the backend key MEMORYHUB_BOOTSTRAP_KEY exists, and for it the tenant `default`.

    One that was revoked stays so. Raises ImproperlyConfigured if it is no key, which its checksum shows.
    """
    plaintext = settings.MEMORYHUB_BOOTSTRAP_KEY
    if not plaintext:
        return None
    if not is_key(plaintext):
        raise ImproperlyConfigured(
            f"MEMORYHUB_BOOTSTRAP_KEY is no backend key: make one by `{PROGRAM} token generate`."
        )
    try:
        with advisory_lock("bootstrap"), transaction.atomic():
            key = issued_with(plaintext) or _make(plaintext)
            # Whoever starts with the key in the environment uses it.
            ApiToken.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    except LockTaken:  # another process that starts sees to it
        return None
    except InvalidValue as error:
        raise ImproperlyConfigured(f"MEMORYHUB_BOOTSTRAP_KEY: {error}") from None
    if not key.is_usable_at(timezone.now()):
        log.warning("The key of MEMORYHUB_BOOTSTRAP_KEY does not work: %s.", key.state_at(timezone.now()))
    return key


def _make(plaintext: str) -> ApiToken:
    tenant = Tenant.objects.filter(slug=TENANT).first() or open_tenant(name="Default", slug=TENANT)
    key, _ = issue_key(tenant, name=KEY, plaintext=plaintext)
    log.info("Made the backend key of MEMORYHUB_BOOTSTRAP_KEY for the tenant %s.", tenant.slug)
    return key
