"""Facts that a scan of hygiene does something about, for members who are made with them: `… tests.proofs.unclean 2000`.

All are old, so that a scan finds the same of them at whatever moment it begins.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memories.english.wording import likeness  # noqa: E402 - after the set-up
from memories.hygiene.text import content_hash  # noqa: E402
from memories.models import Fact, RecallTrace, ReviewItem  # noqa: E402
from tenants.models import Membership  # noqa: E402
from tenants.services import add_member, create_tenant, create_user  # noqa: E402
from tests.unguarded import pass_tests  # noqa: E402

pass_tests(pytest.MonkeyPatch())

MEMBERS = 3
LEARNED_AT = datetime.now(UTC) - timedelta(days=800)
WRONG = {0: "How can I help you today, {}?", 1: "Sings in choir {}", 2: "Has a quiet house in street {}"}


def fill(member: Membership, count: int) -> None:
    """Junk, what contradicts itself, and much that is only old."""
    owner = {"tenant_id": member.tenant_id, "user_id": member.user_id}
    texts = [WRONG.get(number % 10, "Keeps old bicycle {}").format(number) for number in range(count)]
    facts = [
        Fact(**owner, text=text, content_hash=content_hash(text), likeness=likeness(text), learned_at=LEARNED_AT)
        for text in texts
    ]
    Fact.objects.bulk_create(facts, batch_size=500)
    pairs = zip(facts[1::10], facts[2::10], strict=False)
    ReviewItem.objects.bulk_create(
        ReviewItem(**owner, first=one, second=other, reason="They disagree.") for one, other in pairs
    )
    RecallTrace.objects.create(**owner)


def main() -> None:
    """Make the members and their facts."""
    tenant = create_tenant(name="Unclean", slug="unclean")
    for number in range(MEMBERS):
        fill(add_member(tenant=tenant, user=create_user(username=f"unclean{number}")), int(sys.argv[1]) // MEMBERS)


if __name__ == "__main__":
    main()
