"""How a member stands, in one line above their memory: key, index, what waits, and when something last happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery

from memories.models import RecallTrace, Session
from memories.search import search_plane, seems_well
from memories.selectors.index_state import Queue, queue_of
from memories.selectors.reviews import open_reviews
from memories.selectors.runs import Backlog, backlog_of
from tenants.models import CredentialState, SearchCredential
from tenants.principal import Principal, Right


@dataclass(frozen=True, slots=True)
class MemberState:
    """`key` is none on a plane that needs none (`keyless`), or if the member has none yet.

    `last_turn_at` is of the latest conversation, `last_recall_at` of the latest recall by whatever way.
    """

    plane: str
    plane_ok: bool
    keyless: bool
    key: SearchCredential | None
    queue: Queue
    backlog: Backlog
    to_review: int
    last_turn_at: datetime | None
    last_recall_at: datetime | None

    @property
    def key_works(self) -> bool:
        """Whether the member has a key to search with."""
        return self.key is not None and self.key.state == CredentialState.ACTIVE


def member_state(principal: Principal) -> MemberState:
    """As it is now; up to seven queries."""
    principal.require(Right.READ)
    plane = search_plane()
    keyless = not plane.joint
    keys = SearchCredential.objects.filter(membership_id=principal.membership_id).defer("secret")
    sessions = Session.objects.of(principal).order_by("-last_turn_at").values_list("last_turn_at", flat=True)
    recalls = RecallTrace.objects.of(principal).order_by("-created_at").values_list("created_at", flat=True)
    return MemberState(
        plane=plane.name,
        plane_ok=seems_well(),
        keyless=keyless,
        key=None if keyless else keys.first(),
        queue=queue_of(principal),
        backlog=backlog_of(principal),
        to_review=open_reviews(principal).count(),
        last_turn_at=sessions.first(),
        last_recall_at=recalls.first(),
    )


def last_turn_of_member() -> Subquery:
    """An expression for rows of memberships: when each last said something; none if they never did."""
    sessions = Session.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
    return Subquery(sessions.order_by("-last_turn_at").values("last_turn_at")[:1])
