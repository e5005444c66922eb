"""What a receipt asks, and asks again whenever it is verified: whether anything is left of this member, anywhere.

Invariant: every question is answered by a number that is 0 when nothing is left; nothing here reads a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memories.selectors.erasure import owner_of
from memories.services.erasure.copies import count_copies
from memories.services.erasure.index import held_by_plane
from memories.services.erasure.stores import OUTBOX, STORES, hygiene_places
from tenants.audit import owner_chain, verify_chain
from tenants.erasing import may_act, names_left, payloads_about, payloads_of_chain
from tenants.models import AuditEvent, Membership


@dataclass(frozen=True, slots=True)
class Place:
    """Where the owner's chain was when everything was erased: what it says later, such as that staff looked, may stay.

    `whole`: the user's own names went, too.
    """

    sequence: int
    digest: str
    at: datetime
    whole: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its answer. `store` names it in a receipt, `query` says in words what was counted."""

    store: str
    query: str
    found: int

    def as_json(self) -> dict[str, object]:
        """As the receipt holds it."""
        return {"store": self.store, "query": self.query, "found": self.found}


def ask_all(membership: Membership, place: Place) -> list[Asked]:
    """Every question, answered now. Raises SearchUnavailable if the index does not answer."""
    asked = [Asked(each.name, f"rows of the member: {each.noun}", each.count(membership)) for each in (*STORES, OUTBOX)]
    payloads = payloads_of_chain(membership, below=place.sequence + 1)
    elsewhere = payloads_about(membership, until=place.at)
    names = names_left(membership, whole=place.whole)
    asked += [
        Asked("copies", "shared memories that were promoted from the member's", count_copies(membership)),
        Asked("hygiene", "scans that name the member as their place", hygiene_places(membership).count()),
        Asked("payloads", "payloads of the member's own audit chain", payloads.count()),
        Asked("payloads_elsewhere", "payloads about the member in other chains", elsewhere.count()),
        Asked("names", "rows that hold a name, address or external id of the member", names),
        Asked("access", "ways to act as the member: membership, tokens, search key", int(may_act(membership.pk))),
    ]
    index = held_by_plane(owner_of(membership))
    asked.append(Asked("index", "documents in the search index under the member's owner filter", index["held"]))
    asked.append(Asked("index_check", "differences between index and database", index["differences"]))
    return asked


def chain_trouble(membership: Membership, place: Place) -> str:
    """Why the owner's chain does not verify up to and beyond its place in the receipt; empty if it does."""
    chain = owner_chain(membership.tenant_id, membership.user_id)
    report = verify_chain(chain)
    if not report.ok:
        return f"event {report.first_bad} of the member's audit chain: {report.reason}"
    if not AuditEvent.objects.filter(chain=chain, sequence=place.sequence, digest=place.digest).exists():
        return "the member's audit chain is another than the one of the receipt"
    return ""
