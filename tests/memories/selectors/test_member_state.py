"""How a member stands: what waits, when something last happened, and whether they can search."""

from __future__ import annotations

import pytest

from memories.agent.loop import run_turn
from memories.recall import recording
from memories.search.outbox import drain
from memories.selectors.staff.inspecting import last_turn_of_member, member_state
from tenants.models import Membership
from tenants.principal import Principal
from tests.parts import ON_ELASTICSEARCH

pytestmark = pytest.mark.django_db


def test_it_tells_what_waits_and_what_happened_last(principal: Principal) -> None:
    before = member_state(principal)
    assert (before.last_turn_at, before.last_recall_at, before.queue.waiting) == (None, None, 0)
    list(run_turn(principal, text="We moved to Leeds. Where do I live?"))
    recording.flush()
    state = member_state(principal)
    assert state.last_turn_at is not None and state.last_recall_at is not None
    assert state.queue.waiting > 0 and state.backlog.waiting == 1
    drain()
    assert member_state(principal).queue.waiting == 0


def test_a_key_is_told_of_where_one_is_needed(principal: Principal) -> None:
    state = member_state(principal)
    assert (state.keyless, state.key_works) == (not ON_ELASTICSEARCH, ON_ELASTICSEARCH)


def test_nothing_of_another_member_is_in_it(principal: Principal, other_member: Principal) -> None:
    list(run_turn(principal, text="We moved to Leeds. Where do I live?"))
    state = member_state(other_member)
    assert (state.last_turn_at, state.queue.waiting, state.backlog.waiting) == (None, 0, 0)
    rows = Membership.objects.annotate(last=last_turn_of_member())
    assert rows.get(pk=other_member.membership_id).last is None
    assert rows.get(pk=principal.membership_id).last is not None
