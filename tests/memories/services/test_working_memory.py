"""Working memory: each change is kept at once, slots and entries together, and survives whoever made it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection

from memories.constants import MAX_CONSTRAINTS, MAX_PLAN_STEPS, SLOT_CHARACTERS
from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import EntryKind, Session, SessionEntry
from memories.selectors.session_memory import working_memory
from memories.services.erasure.forget import forget
from memories.services.sessions import working_memory as services
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn
from memories.services.sessions.working_memory import (
    SlotChanges,
    advance_plan,
    note,
    observe,
    set_plan,
    set_slots,
    set_task,
)
from memories.slots import from_json
from memories.types import Importance, Kind
from memoryhub.env.values import development_secret
from memoryhub.installation import BASE_DIR
from tenants.models import AuditEvent, AuditPayload
from tenants.principal import Principal
from tests.kills import killed_anywhere

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

CHANGES: dict[str, Callable[..., object]] = {
    "set_task": lambda who, session: set_task(who, session_id=session, goal="Repot the fern", constraints=["No peat"]),
    "set_plan": lambda who, session: set_plan(who, session_id=session, steps=["Buy soil", "Repot"], done=1),
    "advance_plan": lambda who, session: advance_plan(who, session_id=session),
    "observe": lambda who, session: observe(who, session_id=session, text="The pot is cracked"),
    "note": lambda who, session: note(who, session_id=session, text="12 cm pot"),
    "set_slots": lambda who, session: set_slots(who, session_id=session, changes=SlotChanges(goal="Water it")),
}
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@pytest.fixture
def session(principal: Principal) -> UUID:
    return start_session(principal).pk


def entries(session: UUID) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in SessionEntry.objects.filter(session=session)]


def agree(session: UUID) -> bool:
    """Whether each slot is from entries that there are, in their words."""
    kept = Session.objects.get(pk=session).working_memory
    slots = from_json(kept)
    words = {entry.place: entry.text for entry in SessionEntry.objects.filter(session=session)}
    noted = [*slots.constraints, *slots.observations, *slots.scratchpad, *([slots.goal] if slots.goal else [])]
    plan = slots.plan
    return (
        all(words.get(each.place) == each.text for each in noted)
        and (not plan.steps or words.get(plan.places[0]) == "\n".join(plan.steps))
        and (not plan.done or words[plan.places[-1]].startswith(f"{plan.done} of {len(plan.steps)} done"))
        and slots.places <= words.keys()
    )


def test_a_task_is_written_through(principal: Principal, session: UUID) -> None:
    set_task(principal, session_id=session, goal=" Repot the fern ", constraints=["No peat"])
    set_plan(principal, session_id=session, steps=["Buy soil", "Repot", "Water"])
    advance_plan(principal, session_id=session)
    observe(principal, session_id=session, text="The pot is cracked", importance=Importance.CRITICAL)
    note(principal, session_id=session, text="12 cm pot")
    assert entries(session) == [
        ("goal", "Repot the fern"),
        ("constraint", "No peat"),
        ("plan", "Buy soil\nRepot\nWater"),
        ("progress", "1 of 3 done; now: Repot"),
        ("observation", "The pot is cracked"),
        ("note", "12 cm pot"),
    ]
    slots = working_memory(principal, session)
    assert slots.goal and slots.goal.text == "Repot the fern"
    assert (slots.plan.current, slots.plan.next, slots.plan.done) == ("Repot", "Water", 1)
    assert agree(session)


WORKER = """
import sys, uuid, django
django.setup()
from memories.selectors.session_memory import working_memory
from memories.services.sessions.working_memory import advance_plan, note, observe
from tenants.models import Membership
from tenants.principals import system_principal

who, session = system_principal(Membership.objects.get(pk=sys.argv[1])), uuid.UUID(sys.argv[2])
print(working_memory(who, session).plan.current, flush=True)
while True:
    number = advance_plan(who, session_id=session, done=2).plan.done
    observe(who, session_id=session, text=f"seen {number}")
    note(who, session_id=session, text="x" * 200)
    advance_plan(who, session_id=session, done=1)
"""


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_another_process_goes_on_with_the_task_and_may_be_killed_anywhere(
    principal: Principal, session: UUID, tmp_path: Path
) -> None:
    set_task(principal, session_id=session, goal="Repot the fern")
    set_plan(principal, session_id=session, steps=["Buy soil", "Repot"], done=1)
    environment = {
        "PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "memoryhub.settings", "DATABASE_URL": database_url(),
        "MEMORYHUB_DATA_DIR": str(tmp_path), "MEMORYHUB_JOBS": "off",
        "MEMORYHUB_AUDIT_KEYS": development_secret(settings.MEMORYHUB_DATA_DIR, "audit_key"),
    }  # fmt: skip
    chance = random.Random(5)
    for _ in range(3):
        worker = subprocess.Popen(  # noqa: S603 - this interpreter, this project
            [sys.executable, "-c", WORKER, str(principal.membership_id), str(session)],
            stdout=subprocess.PIPE, text=True, cwd=BASE_DIR, env=environment,
        )  # fmt: skip
        with worker:
            assert worker.stdout
            assert worker.stdout.readline().strip() in ("Repot", "")
            time.sleep(chance.uniform(0.02, 0.3))
            worker.send_signal(signal.SIGKILL)
        assert agree(session)
    slots = working_memory(principal, session)
    assert slots.goal and slots.goal.text == "Repot the fern"
    assert SessionEntry.objects.count() > 3


def database_url() -> str:
    """The database of this test, for another process."""
    own = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{own['NAME']}"
    host = quote(str(own["HOST"]), safe="") + (f":{own['PORT']}" if own["PORT"] else "")
    return f"postgres://{quote(own['USER'])}:{quote(own['PASSWORD'])}@{host}/{own['NAME']}"


def test_a_plan_goes_back_too_and_goes_with_its_goal(principal: Principal, session: UUID) -> None:
    set_task(principal, session_id=session, goal="Repot the fern")
    set_plan(principal, session_id=session, steps=["a", "b"], done=2)
    assert advance_plan(principal, session_id=session).plan.done == 2
    assert advance_plan(principal, session_id=session, done=0).plan.current == "a"
    set_task(principal, session_id=session, goal="Repot the fern", constraints=["No peat"])
    assert working_memory(principal, session).plan.steps
    set_task(principal, session_id=session, goal="Water the fern")
    assert not working_memory(principal, session).plan.steps
    assert agree(session)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda who, it: set_task(who, session_id=it, goal=" \n"), "goal"),
        (lambda who, it: set_task(who, session_id=it, goal="x" * (SLOT_CHARACTERS + 1)), "goal"),
        (lambda who, it: set_task(who, session_id=it, goal="x", constraints=["a"] * 9), "constraints"),
        (lambda who, it: set_plan(who, session_id=it, steps=[]), "steps"),
        (lambda who, it: set_plan(who, session_id=it, steps=["a"] * (MAX_PLAN_STEPS + 1)), "steps"),
        (lambda who, it: set_plan(who, session_id=it, steps=["a", "\ud800"]), "steps"),
        (lambda who, it: set_plan(who, session_id=it, steps=["a"], done=2), "done"),
        (lambda who, it: advance_plan(who, session_id=it), "done"),
        (lambda who, it: observe(who, session_id=it, text=""), "text"),
        (lambda who, it: observe(who, session_id=it, text="x", kind=EntryKind.GOAL), "kind"),
        (lambda who, it: set_slots(who, session_id=it, changes=SlotChanges(goal="x", done=1)), "done"),
        (lambda who, it: set_slots(who, session_id=it, changes=SlotChanges(scratchpad=["x" * 300] * 2)), "scratchpad"),
    ],
)
def test_bad_input_changes_nothing(
    principal: Principal, session: UUID, change: Callable[[Principal, UUID], Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        change(principal, session)
    assert caught.value.field == field
    assert Session.objects.get().working_memory == {} and not SessionEntry.objects.exists()


def test_slots_are_set_by_hand_and_what_is_there_makes_no_second_entry(principal: Principal, session: UUID) -> None:
    wanted = SlotChanges(
        goal="Repot", steps=["a", "b"], done=1, constraints=[("No peat", Importance.CRITICAL)],
        observations=[("Dry", Importance.NORMAL)], scratchpad=["12 cm", "clay"],
    )  # fmt: skip
    set_slots(principal, session_id=session, changes=wanted)
    before = entries(session)
    assert len(before) == 7 and agree(session)
    slots = set_slots(principal, session_id=session, changes=wanted)
    assert entries(session) == before
    assert [each.text for each in slots.scratchpad] == ["12 cm", "clay"]
    assert set_slots(principal, session_id=session, changes=SlotChanges(goal="", steps=[])).goal is None
    assert [each.text for each in working_memory(principal, session).constraints] == ["No peat"]


def test_changes_are_audited_without_their_words(principal: Principal, session: UUID) -> None:
    for change in CHANGES.values():
        change(principal, session)
    actions = set(AuditEvent.objects.filter(target_id=session).values_list("action", flat=True))
    assert {"session.task_set", "session.plan_advanced", "session.observed", "session.noted"} <= actions
    assert not any("fern" in str(payload) for payload in AuditPayload.objects.values())


def test_nothing_is_noted_of_words_that_were_erased(principal: Principal) -> None:
    turn = begin_turn(principal, text="Remind me of the clinic")
    assert turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=turn.episode_id)
    with pytest.raises(Conflict):
        observe(principal, session_id=turn.session_id, text="The clinic", turn=turn.turn)
    assert not SessionEntry.objects.exists()


@every_change
def test_changes_isolate_others(
    principal: Principal, session: UUID, change: Callable[..., object], stranger: Principal
) -> None:
    set_plan(principal, session_id=session, steps=["a", "b"])
    before = entries(session)
    for target in (session, uuid4()):
        with pytest.raises(NotFound, match="No such session"):
            change(stranger, target)
    assert entries(session) == before
    with pytest.raises(NotFound):
        working_memory(stranger, session)


@every_change
def test_whatever_statement_is_the_last_slots_and_entries_agree(
    principal: Principal, session: UUID, change: Callable[..., object]
) -> None:
    set_plan(principal, session_id=session, steps=["a", "b", "c"])

    def state() -> object:
        return entries(session), working_memory(principal, session)

    before = state()
    assert killed_anywhere(lambda: change(principal, session), state) > 5
    assert state() != before
    assert agree(session)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_leave_slots_that_agree_with_their_entries(principal: Principal, session: UUID) -> None:
    set_plan(principal, session_id=session, steps=["a", "b"])

    def run(number: int) -> None:
        try:
            observe(principal, session_id=session, text=f"seen {number}", importance=Importance.IMPORTANT)
            observe(principal, session_id=session, text=f"rule {number}", kind=EntryKind.CONSTRAINT)
            note(principal, session_id=session, text=f"note {number}")
            services.advance_plan(principal, session_id=session, done=number % 3)
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(run, range(16)))
    assert agree(session)
    slots = working_memory(principal, session)
    assert (len(slots.constraints), len(slots.observations)) == (MAX_CONSTRAINTS, 5)
    assert SessionEntry.objects.filter(kind=EntryKind.NOTE).count() == 16
    places = list(SessionEntry.objects.values_list("place", flat=True))
    assert sorted(places) == list(range(1, len(places) + 1))
