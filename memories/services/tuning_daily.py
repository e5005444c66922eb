"""The daily look at what recorded use says of each tenant's recall threshold, where a setting asks for it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import transaction

from memories.errors import MemoriesError
from memories.services.tuning import apply_proposal, propose_news
from memoryhub import background
from memoryhub.background import Repeated
from tenants.actor import SYSTEM
from tenants.models import Tenant

log = logging.getLogger(__name__)

PAUSE_SECONDS = 24 * 3600.0


def tune_daily() -> None:
    """Propose a threshold to each tenant for which there is a new one; apply it if `MEMORYHUB_TUNE_RECALL` says so."""
    if settings.MEMORYHUB_TUNE_RECALL == "off":
        return
    for tenant_id in Tenant.objects.filter(is_active=True).order_by("id").values_list("id", flat=True):
        try:
            with transaction.atomic():  # one that was to be applied and was not must not count as proposed
                proposal = propose_news(SYSTEM, tenant_id=tenant_id)
                if proposal is not None and settings.MEMORYHUB_TUNE_RECALL == "apply":
                    apply_proposal(SYSTEM, tenant_id=tenant_id, proposal_id=proposal.pk)
        except MemoriesError as error:  # it went meanwhile, or an administrator was faster
            log.info("No threshold for tenant %s: %s", tenant_id, type(error).__name__)


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    thread = Repeated("recall tuning", tune_daily, pause=PAUSE_SECONDS)
    return background.serve(thread, wanted=settings.MEMORYHUB_TUNE_RECALL != "off")
