"""The receipt of an erasure: the erased rows and the later checks as counts; `stages.complete` signs it.

It holds only counts, ids, times and digests, so it may be kept and given to others. `verify_receipt` changes nothing.
It trusts only the signed part of a file, and repeats the checks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from memories.errors import InvalidInput, SearchUnavailable, existing
from memories.models import ErasureRequest
from memories.search import search_plane
from memories.services.erasure.stores import Asked, ChainPosition, ask_all, chain_trouble
from memoryhub.signing import keys
from tenants.audit.digests import canonical_json
from tenants.models import Membership

FORMAT = "memoryhub.erasure-receipt/1"


def canonical(receipt: dict[str, Any]) -> bytes:
    """The bytes of a receipt that are digested and signed."""
    return canonical_json(receipt).encode()


def download(request: ErasureRequest) -> dict[str, Any]:
    """The downloadable document: the receipt with its digest and signature."""
    return {"receipt": request.receipt, "digest": request.receipt_digest, "signature": request.signature}


def place_in(receipt: dict[str, Any]) -> ChainPosition:
    """The chain position that a receipt states. Raises KeyError or ValueError if it is not a receipt."""
    chain = receipt["chain"]
    at = datetime.fromisoformat(chain["at"])
    return ChainPosition(int(chain["events"]), str(chain["digest"]), at, bool(receipt["user_erased"]))


def receipt_of(
    request: ErasureRequest, place: ChainPosition, answers: list[dict[str, object]], disk: dict[str, object]
) -> dict[str, Any]:
    """The receipt as JSON values, before signing.

    `answers` are those of `ask_all`, all 0; `disk` is from `clear_disk`.
    """
    counts = dict(request.progress)
    stopped = {name: counts.pop(name, 0) for name in ("tokens", "keys", "logins")}
    receipt = {
        "format": FORMAT,
        "erasure": request.pk,
        "tenant": request.tenant_id,
        "membership": request.membership_id,
        "user": request.membership.user_id,
        "asked_by": request.asked_by_id,
        "asked_at": request.asked_at,
        "approved_by": request.decided_by_id,
        "approved_at": request.decided_at,
        "started_at": request.started_at,
        "finished_at": request.finished_at,
        "attempts": request.attempts,
        "ended": stopped,
        "promoted_copies": counts.pop("copies", 0),
        "user_erased": place.whole,
        "erased": {name: count for name, count in sorted(counts.items()) if name != "names"},
        "asked": answers,
        "index": search_plane().name,
        "chain": {"ok": True, "events": place.sequence, "digest": place.digest, "at": place.at},
        "disk": disk,
    }
    return dict(json.loads(canonical_json(receipt)))


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """The result of a verification. `troubles` are sentences; empty if the receipt holds."""

    erasure: str
    asked: tuple[Asked, ...]
    troubles: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the receipt is genuine and no data is left."""
        return not self.troubles


def verify_receipt(document: dict[str, Any]) -> ReceiptCheck:
    """Verify a downloaded receipt's digest and signature, then repeat its checks.

    Raises InvalidInput if the document is not a receipt.
    """
    receipt = document.get("receipt")
    if not isinstance(receipt, dict) or receipt.get("format") != FORMAT:
        raise InvalidInput("receipt", _("is not a receipt of an erasure."))
    troubles = list(_forged(document, receipt))
    asked: list[Asked] = []
    if not troubles:
        asked, more = _asked(receipt)
        troubles += more
    return ReceiptCheck(str(receipt.get("erasure")), tuple(asked), tuple(troubles))


def stored_receipt(request_id: UUID) -> dict[str, Any]:
    """The downloadable receipt of a request. Raises NotFound, also if the erasure is not done."""
    request = existing(ErasureRequest.objects.filter(pk=request_id).exclude(receipt_digest="").first(), "receipt")
    return download(request)


def read_receipt(path: Path) -> dict[str, Any]:
    """Read a receipt from a file. Raises InvalidInput, OSError."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InvalidInput("receipt", _("is not JSON.")) from None
    if not isinstance(document, dict):
        raise InvalidInput("receipt", _("is not a receipt of an erasure."))
    return document


def _forged(document: dict[str, Any], receipt: dict[str, Any]) -> list[str]:
    try:
        body = canonical(receipt)
    except (TypeError, ValueError):
        return ["The receipt holds what no receipt holds."]
    troubles = []
    if hashlib.sha256(body).hexdigest() != document.get("digest"):
        troubles.append("The receipt was changed: its digest is another.")
    if not keys.verify(body, str(document.get("signature", ""))):
        troubles.append("The signature is not that of this installation.")
    return troubles


def _asked(receipt: dict[str, Any]) -> tuple[list[Asked], list[str]]:
    member = Membership.objects.filter(pk=receipt["membership"], tenant=receipt["tenant"]).first()
    if member is None:
        return [], ["The membership of the receipt is not in this database."]
    place = place_in(receipt)
    try:
        asked = ask_all(member, place)
    except SearchUnavailable as error:
        return [], [f"The search index could not be asked: {error}"]
    troubles = [f"{each.found:,} left in {each.store}: {each.query}." for each in asked if each.found]
    if trouble := chain_trouble(member, place):
        troubles.append(f"{capfirst(trouble)}.")
    stored = ErasureRequest.objects.filter(pk=receipt["erasure"]).first()
    if stored is None or stored.receipt_digest != hashlib.sha256(canonical(receipt)).hexdigest():
        troubles.append("This database holds another receipt of this erasure, or none.")
    return asked, troubles
