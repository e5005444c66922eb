"""Verifying a receipt: who signed it, whether it was changed, and whether what it says still holds.

Invariant: nothing is changed, and nothing of a stranger's file is believed but what the signature covers.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from memories.errors import InvalidInput, NotFound, SearchUnavailable
from memories.models import ErasureRequest
from memories.services.erasure.questions import Asked, ask_all, chain_trouble
from memories.services.erasure.receipt import FORMAT, canonical, download, place_in
from memoryhub import signing
from tenants.models import Membership


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found; `troubles` are sentences, none if the receipt holds."""

    erasure: str
    asked: tuple[Asked, ...]
    troubles: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the receipt is genuine and nothing is left."""
        return not self.troubles


def verify_receipt(document: dict[str, Any]) -> Verdict:
    """Check a receipt as it is handed out, with digest and signature, and ask its questions again.

    Raises InvalidInput for what is no receipt.
    """
    receipt = document.get("receipt")
    if not isinstance(receipt, dict) or receipt.get("format") != FORMAT:
        raise InvalidInput("receipt", "is not a receipt of an erasure.")
    troubles = list(_forged(document, receipt))
    asked: list[Asked] = []
    if not troubles:
        asked, more = _asked(receipt)
        troubles += more
    return Verdict(str(receipt.get("erasure")), tuple(asked), tuple(troubles))


def stored_receipt(request_id: UUID) -> dict[str, Any]:
    """The receipt of a request, as it is handed out. Raises NotFound, also for one that is not done."""
    request = ErasureRequest.objects.filter(pk=request_id).exclude(receipt_digest="").first()
    if request is None:
        raise NotFound("receipt")
    return download(request)


def read_receipt(path: Path) -> dict[str, Any]:
    """A receipt from a file. Raises InvalidInput, OSError."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InvalidInput("receipt", "is not JSON.") from None
    if not isinstance(document, dict):
        raise InvalidInput("receipt", "is not a receipt of an erasure.")
    return document


def _forged(document: dict[str, Any], receipt: dict[str, Any]) -> list[str]:
    try:
        body = canonical(receipt)
    except (TypeError, ValueError):
        return ["The receipt holds what no receipt holds."]
    troubles = []
    if hashlib.sha256(body).hexdigest() != document.get("digest"):
        troubles.append("The receipt was changed: its digest is another.")
    if not signing.verify(body, str(document.get("signature", ""))):
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
        troubles.append(f"{trouble[:1].upper()}{trouble[1:]}.")
    stored = ErasureRequest.objects.filter(pk=receipt["erasure"]).first()
    if stored is None or stored.receipt_digest != hashlib.sha256(canonical(receipt)).hexdigest():
        troubles.append("This database holds another receipt of this erasure, or none.")
    return asked, troubles
