"""Where an event leads: pages of other apps about what it is about, offered by those apps.

Invariant: a link is offered only to whom its page would open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tenants.models import AuditEvent, Membership
from tenants.principal import Role


@dataclass(frozen=True, slots=True)
class Link:
    """An address and its words."""

    words: str
    url: str


May = Callable[[Sequence[Role]], bool]
Offer = Callable[[AuditEvent, May], Iterable[Link]]
MemberOffer = Callable[[Membership, May], Iterable[Link]]
_offers: list[Offer] = []
_member_offers: list[MemberOffer] = []


def offer_links(offer: Offer) -> None:
    """Ask `offer` for links of every event; `may` says whether the reader has one of some roles in its tenant."""
    if offer not in _offers:
        _offers.append(offer)


def links_of(event: AuditEvent, may: May) -> list[Link]:
    """All that is offered to this reader."""
    return [link for offer in _offers for link in offer(event, may)]


def offer_member_links(offer: MemberOffer) -> None:
    """Ask `offer` for links of every member whose trail is shown."""
    if offer not in _member_offers:
        _member_offers.append(offer)


def links_of_member(member: Membership, may: May) -> list[Link]:
    """All that is offered to this reader."""
    return [link for offer in _member_offers for link in offer(member, may)]
