"""Makes the anchors of the audit log and appends them to the anchor file; `anchors.py` reads them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from memoryhub.signing import keys
from memoryhub.signing.keyed import keyed_digest
from tenants.audit.anchors import ANCHORED, ANCHORS, SEAL, anchors, heads_digest, heads_of, lines_of_file
from tenants.audit.chain import Chain, EventDraft, append_events
from tenants.audit.digests import canonical_json, seal_fault
from tenants.models import AuditEvent, AuditHead, Tenant
from tenants.principal import SYSTEM

log = logging.getLogger(__name__)

_IDS_AT_ONCE = 500  # SQLite limits the variables of a statement; the lowest limit of any build is 999.
# The clocks of several machines differ, and a transaction commits after the times of its events.
_OVERLAP = timedelta(hours=1)


def anchor() -> int:
    """Anchor the chains that grew since the last anchor; returns how many. The job `tenants.anchor`."""
    with transaction.atomic():
        last = anchors().last()
        heads = [head for head in _grown(last.created_at - _OVERLAP if last else None) if not seal_fault(head)]
        stated = [[head.chain, head.length, head.digest] for head in heads]
        draft = EventDraft(ANCHORED, after={"heads": stated})
        events = append_events(Chain(ANCHORS), [(SYSTEM, draft)] if stated else [])
    for event in events:
        line = _line(event, stated)
        log.info("Anchor of the audit log: %s %s", canonical_json(line["anchor"]), line["signature"])
    _append_to_file()
    return len(heads)


def _grown(since: datetime | None) -> list[AuditHead]:
    """The heads of the chains with events since then (None: all), without that of the anchors."""
    heads = AuditHead.objects.exclude(chain=ANCHORS).order_by("chain")
    if since is None:
        return list(heads)
    tenants = list(Tenant.objects.order_by("pk").values_list("pk", flat=True))
    parts = [Q(tenant_id=None), *(Q(tenant_id__in=some) for some in _pieces(tenants))]
    names = set[str]()
    for whose in parts:  # one by one, so that the index on tenant and time serves each
        recent = AuditEvent.objects.filter(whose, created_at__gte=since)
        names |= set(recent.order_by().values_list("chain", flat=True).distinct())
    return [head for some in _pieces(sorted(names)) for head in heads.filter(chain__in=some)]


def _pieces(every: list[Any]) -> Iterator[list[Any]]:
    return (every[start : start + _IDS_AT_ONCE] for start in range(0, len(every), _IDS_AT_ONCE))


def _line(event: AuditEvent, heads: list[Any]) -> dict[str, Any]:
    """The line of an anchor in the file; "anchor" and "signature" are in the log, too.

    The signature needs the public key alone, the seal the audit key.
    """
    stated = {
        "sequence": event.sequence,
        "at": event.created_at.isoformat(timespec="seconds"),
        "digest": event.digest,
        "heads": len(heads),
        "heads_sha256": heads_digest(heads),
    }
    whole = canonical_json(stated)
    signature = keys.sign(whole.encode()) if keys.can_sign() else ""
    return {"anchor": stated, "heads": heads, "seal": keyed_digest(SEAL, whole), "signature": signature}


def _append_to_file() -> None:
    """Append the anchors that the file lacks. An error is logged, and the next anchor brings what is missing."""
    path = settings.MEMORYHUB_ANCHOR_FILE
    if path is None:
        return
    try:
        count = sum(1 for _ in lines_of_file())
        missing = anchors().filter(sequence__gt=count).select_related("payload")
        text = "".join(f"{canonical_json(_line(event, heads_of(event)))}\n" for event in missing.iterator())
        if text:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        log.error("The anchor file takes no anchor: %s.", error.strerror)  # noqa: TRY400 - its path is in the settings
