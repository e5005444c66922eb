"""Quill Lane Cycles, the company of the demo, as it is when a day of its staff begins.

Invariant: everything in it was lived through the services, in the past of whoever runs the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time

from django.utils import timezone

from memories.demo.seeding import tell
from memories.demo.story import PEOPLE, StoryMemory, StorySession, StoryTurn
from memories.search.outbox import drain
from memories.types import Kind
from tenants.models import Membership, Tenant, User
from tenants.principal import Principal, Role
from tests.factories import make_membership, own_principal

MORNINGS = "Brings the bike on weekdays before nine"
AFTERNOONS = "Collects the bike after four on weekdays"
MISHEARD = "Collects the bike before eight on Fridays"
TOM = "Tom could be there before eight on Friday, if that helps."
ASKED = "When am I to collect the bike?"


def _slot(text: str) -> tuple[StoryMemory, ...]:
    return (StoryMemory(Kind.SEMANTIC, text, key="appointment_times", category="preference"),)


# Ada's brother was taken for Ada, so what she is told the day after is wrong.
STORY = (
    StorySession(60, time(9, 15), (StoryTurn(
        "Saturdays are gone, June swims. Weekdays before nine would be good.", "Before nine it is.",
        facts=_slot(MORNINGS),
    ),)),
    StorySession(30, time(16, 45), (StoryTurn(
        "With the new hours I can only collect after four.", "After four on weekdays, then.", facts=_slot(AFTERNOONS),
    ),)),
    StorySession(6, time(18, 20), (StoryTurn(TOM, "Before eight on Fridays, noted.", facts=_slot(MISHEARD)),)),
    StorySession(1, time(8, 5), (StoryTurn(ASKED, "Before eight on Friday, as you collect the bike on Fridays."),)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workshop:
    """Ada and the staff; `second` is another administrator."""

    tenant: Tenant
    ada: Membership
    support: Membership
    auditor: Membership
    admin: Membership
    second: Membership

    @property
    def own(self) -> Principal:
        """Ada in person."""
        return own_principal(self.ada)


def make_workshop() -> Workshop:
    """The company and its people; nothing was said yet."""
    tenant = Tenant.objects.create(name="Quill Lane Cycles", slug="quill-lane")
    ada, support, auditor, admin, second = (
        _hire(tenant, name) for name in ("ada", "tamsin", "colm", "hollis", "marit")
    )
    return Workshop(tenant, ada, support, auditor, admin, second)


def tell_ada(workshop: Workshop, story: Sequence[StorySession] = STORY) -> None:
    """What Ada said and was answered until today."""
    tell(workshop.own, story, today=timezone.now(), told=lambda _: None)
    drain()


def _hire(tenant: Tenant, name: str) -> Membership:
    person = next(each for each in PEOPLE if each.username == name)
    membership = make_membership(tenant, role=person.role, name=person.name, username=name)
    User.objects.filter(pk=membership.user_id).update(is_staff=person.role is not Role.MEMBER)
    return membership
