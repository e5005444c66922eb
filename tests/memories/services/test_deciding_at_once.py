"""Several people decide at once, or one of them twice: one decision counts, and the others are told."""

from __future__ import annotations

import pytest

from memories.errors import Conflict
from memories.models import Fact, ReviewItem
from memories.services.facts.supersede import retire
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tenants.principals import staff_principal
from tests.factories import make_membership
from tests.memories.services.reviewing import answer, current, take_back
from tests.memories.services.test_concurrency import together

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("everything_is_whole")]


@pytest.fixture
def deciders(principal: Principal, membership: Membership) -> list[Principal]:
    """Ada, and an administrator of her tenant."""
    return [principal, staff_principal(membership, staff=make_membership(membership.tenant, role="admin").user)]


def test_two_deciders_at_once_make_one_decision(
    deciders: list[Principal], pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    def one_decides(number: int) -> str | None:
        try:
            answer(deciders[number % 2], item, "keep_one", keep=pair[number % 2].pk)
        except Conflict as error:
            return str(error)
        return None

    said = together(one_decides)
    assert said.count(None) == 1
    assert {words for words in said if words} == {"This review was decided already. Undo that decision to decide anew."}
    assert len(current(deciders[0])) == 1
    assert AuditEvent.objects.filter(action="review.decided").count() == 1


def test_an_undo_and_another_ending_meet(deciders: list[Principal], pair: tuple[Fact, Fact], item: ReviewItem) -> None:
    answer(deciders[0], item, "keep_one", keep=pair[0].pk)

    def one_acts(number: int) -> bool:
        try:
            if number % 4 == 0:
                retire(deciders[0], kind=Kind.SEMANTIC, memory_id=pair[0].pk)
            else:
                take_back(deciders[number % 2], item)
        except Conflict:
            return False
        return True

    together(one_acts)
    item.refresh_from_db()
    # Whichever came first: undone and then withdrawn, or retired and no longer to be undone as a whole.
    assert (item.decision, len(current(deciders[0]))) in [("withdrawn", 1), ("keep_one", 0)]
