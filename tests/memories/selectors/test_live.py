"""The pulse moves with whatever staff sees of a memory, whoever caused it, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.agent.loop import run_turn
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.staff.inspecting import change_token
from memories.services.admin_requests import READINGS, note_reading
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.remember import pin_fact, remember_fact
from memories.types import Kind, Scope
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def beat(principal: Principal) -> str:
    return change_token(principal, ignoring=READINGS)


def _fact(principal: Principal) -> None:
    remember_fact(principal, text="Keeps bees behind the shed")


def _pinned(principal: Principal) -> None:
    pin_fact(principal, fact_id=remember_fact(principal, text="Lives in Porto").memory_id, pinned=True)


def _forgotten(principal: Principal) -> None:
    forget(principal, kind=Kind.SEMANTIC, memory_id=remember_fact(principal, text="Lives in Porto").memory_id)


def _asked(principal: Principal) -> None:
    recall(principal, "Where do I live?")
    recording.flush()


def _chatted(principal: Principal) -> None:
    list(run_turn(principal, text="We moved to Porto"))


def _indexed(principal: Principal) -> None:
    drain()


@pytest.mark.parametrize("change", [_fact, _pinned, _forgotten, _asked, _chatted, _indexed])
def test_it_moves_with_a_change(principal: Principal, change: Callable[[Principal], None]) -> None:
    remember_fact(principal, text="Lives in Braga")
    before = beat(principal)
    change(principal)
    assert beat(principal) != before


def test_it_moves_with_what_is_shared_here(principal: Principal, admin_principal: Principal) -> None:
    beats = {beat(principal)}
    remember_catalog_entry(admin_principal, title="Hours", text="Open from nine.")
    beats.add(beat(principal))
    remember_fact(admin_principal, text="The workshop has two lifts", scope=Scope.TENANT)
    beats.add(beat(principal))
    assert len(beats) == 3


def test_it_rests_while_staff_looks_and_others_write(principal: Principal, stranger: Principal) -> None:
    remember_fact(principal, text="Lives in Braga")
    before = beat(principal)
    note_reading(principal, "inspector")
    _fact(stranger)
    _asked(stranger)
    assert beat(principal) == before


def test_it_costs_a_few_small_statements(principal: Principal) -> None:
    list(run_turn(principal, text="We moved to Porto"))
    with CaptureQueriesContext(connection) as asked:
        beat(principal)
    assert len(asked) == 10
