"""Session memory: what mattered is proposed once, by the normal write path; what expires is erased as a whole."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone

from memories.errors import InvalidInput, NotFound
from memories.models import EntryKind, Episode, Fact, MemoryPolicy, Message, Session, SessionEntry
from memories.selectors.session_memory import search_session, session_entries, working_memory
from memories.services.facts.remember import remember_fact
from memories.services.sessions import sessions
from memories.services.sessions.sessions import (
    Sweep,
    end_session,
    expire_session,
    expire_sessions,
    start_session,
)
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.sessions.working_memory import advance_plan, note, observe, set_plan, set_task
from memories.services.write import Write
from memories.types import Importance, Source, WriteResult
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.kills import killed_anywhere

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


@pytest.fixture
def worked(principal: Principal) -> UUID:
    """A session in which a task was worked on in one turn."""
    turn = begin_turn(principal, text="Help me repot the fern")
    where: dict[str, Any] = {"session_id": turn.session_id, "turn": turn.turn}
    set_task(principal, goal="Repot the fern", constraints=["No peat"], **where)
    set_plan(principal, steps=["Buy soil", "Repot"], **where)
    advance_plan(principal, **where)
    observe(principal, text="The roots are dry", **where)
    observe(principal, text="The old pot is cracked", importance=Importance.CRITICAL, **where)
    observe(principal, text="Use the clay pot", kind=EntryKind.DECISION, **where)
    note(principal, text="12 cm", **where)
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Done for today.")
    return turn.session_id


def texts() -> set[str]:
    return set(Fact.objects.values_list("text", flat=True))


SUMMARY = "Task: Repot the fern. Outcome: It grows again. Decided: Use the clay pot."


def test_the_end_of_a_task_proposes_what_mattered(principal: Principal, worked: UUID) -> None:
    ended = end_session(principal, session_id=worked, outcome="It grows again", learned=["Ferns want clay pots"])
    assert texts() == {"No peat", "The old pot is cracked", "Ferns want clay pots", SUMMARY}
    assert [outcome.result for outcome in ended.proposed] == [WriteResult.CREATED] * 4
    for fact in Fact.objects.all():
        assert (fact.category, fact.source, fact.confidence) == ("task", Source.TASK_OUTCOME, 0.7)
    assert list(Fact.objects.get(text="No peat").supporting_episodes.all()) == [Episode.objects.get()]
    assert ended.goal == "Repot the fern"
    assert working_memory(principal, worked).empty
    assert SessionEntry.objects.filter(proposed_at=None).count() == 5  # plan, progress, outcome, one observation, note


def test_a_task_ends_once_and_the_next_one_has_a_summary_of_its_own(principal: Principal, worked: UUID) -> None:
    end_session(principal, session_id=worked, outcome="It grows again")
    versions = list(Fact.objects.order_by("pk").values_list("pk", "version"))
    assert end_session(principal, session_id=worked).proposed == ()
    assert list(Fact.objects.order_by("pk").values_list("pk", "version")) == versions
    set_task(principal, session_id=worked, goal="Water the fern")
    assert [each.result for each in end_session(principal, session_id=worked, outcome="Done!").proposed] == ["created"]
    assert "Task: Water the fern. Outcome: Done!" in texts()


def test_what_is_known_is_merged(principal: Principal, worked: UUID) -> None:
    known = remember_fact(principal, text="no peat").memory_id
    ended = end_session(principal, session_id=worked)
    assert (ended.proposed[0].result, ended.proposed[0].memory_id) == (WriteResult.MERGED, known)
    assert SessionEntry.objects.get(text="No peat").memory_id == known


def test_what_the_write_path_refuses_is_not_proposed_again(
    principal: Principal, worked: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InvalidInput("text", "holds a card number.")

    monkeypatch.setattr(sessions, "remember_fact", refuse)
    assert end_session(principal, session_id=worked, outcome="Fine").proposed == ()
    monkeypatch.undo()
    assert end_session(principal, session_id=worked).proposed == ()


@pytest.mark.parametrize(
    ("options", "field"), [({"outcome": "x" * 501}, "outcome"), ({"learned": ["a"] * 6}, "learned")]
)
def test_a_bad_end_changes_nothing(principal: Principal, worked: UUID, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        end_session(principal, session_id=worked, **options)
    assert caught.value.field == field
    assert not Fact.objects.exists() and not working_memory(principal, worked).empty


def later(**span: float) -> datetime:
    return timezone.now() + timedelta(**span)


def test_a_session_expires_a_day_after_its_last_turn(principal: Principal, worked: UUID) -> None:
    assert expire_sessions(later(hours=23)) == Sweep()
    assert expire_sessions(later(hours=25)) == Sweep(expired=1)
    session = Session.objects.get()
    assert session.expired_at and session.working_memory == {}
    assert not SessionEntry.objects.exists()
    assert Message.objects.filter(text="Done for today.").exists()
    assert texts() >= {"No peat", "The old pot is cracked"}
    assert expire_sessions(later(hours=26)) == Sweep()
    assert AuditEvent.objects.filter(action="session.expired").count() == 1


def test_a_tenant_decides_how_long_sessions_live_and_imported_ones_never_expire(principal: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, session_hours=2)
    turn = begin_turn(principal, text="Hello")
    assert Session.objects.get().expires_at == turn.message.created_at + timedelta(hours=2)
    Session.objects.update(expires_at=None)
    assert expire_sessions(later(days=999)) == Sweep()


def overdue(session: UUID, **columns: object) -> None:
    Session.objects.filter(pk=session).update(expires_at=timezone.now() - timedelta(hours=1), **columns)


def test_what_is_over_is_gone_before_any_sweep(principal: Principal, worked: UUID) -> None:
    overdue(worked)
    assert working_memory(principal, worked).empty and not session_entries(principal, worked)
    assert [found.part for found in search_session(principal, worked, "cracked fern pot", limit=9)] == ["said"]


@pytest.fixture(params=[True, False], ids=["swept", "not swept yet"])
def over(request: pytest.FixtureRequest, worked: UUID) -> UUID:
    """The session, whose time is over."""
    overdue(worked)
    if request.param:
        expire_sessions()
    return worked


def test_a_session_that_goes_on_after_its_end_starts_afresh(principal: Principal, over: UUID) -> None:
    begin_turn(principal, text="Hello again", session_id=over)
    session = Session.objects.get()
    assert (session.expired_at, session.ended_at, session.working_memory) == (None, None, {})
    assert session.expires_at and session.expires_at > later(hours=23)
    assert "The old pot is cracked" in texts()
    observe(principal, session_id=over, text="Fresh")
    assert [entry.text for entry in session_entries(principal, over)] == ["Fresh"]


def test_the_end_of_what_is_over_leaves_nothing_behind(principal: Principal, over: UUID) -> None:
    end_session(principal, session_id=over, learned=["Ferns want clay pots"])
    assert texts() >= {"Ferns want clay pots", "The old pot is cracked"}
    assert not SessionEntry.objects.exists()
    assert expire_sessions() == Sweep()


def test_a_member_who_is_not_active_keeps_everything(principal: Principal, worked: UUID) -> None:
    Membership.objects.update(is_active=False)
    assert expire_sessions(later(days=9)) == Sweep()
    Membership.objects.update(is_active=True)
    assert expire_sessions(later(days=9)) == Sweep(expired=1)


def test_one_session_that_fails_does_not_keep_others(
    principal: Principal, worked: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_session(principal)
    real = sessions._propose

    def fail(w: Write, session: Session, **options: Any) -> Any:
        if session.pk == worked:
            raise NotFound("membership")
        return real(w, session, **options)

    monkeypatch.setattr(sessions, "_propose", fail)
    assert expire_sessions(later(days=2)) == Sweep(expired=1, failed=1)
    monkeypatch.undo()
    assert SessionEntry.objects.exists()
    assert expire_sessions(later(days=2)) == Sweep(expired=1)


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda who, it: end_session(who, session_id=it, outcome="Fine"), id="end"),
        pytest.param(lambda who, it: expire_session(who, session_id=it, now=later(days=2)), id="expire"),
    ],
)
def test_whatever_statement_is_the_last_nothing_is_half_done(
    principal: Principal, worked: UUID, work: Callable[[Principal, UUID], object]
) -> None:
    assert killed_anywhere(lambda: work(principal, worked), everything, every=7) > 20
    assert len(texts()) == 3


def everything() -> list[object]:
    models = (Session, SessionEntry, Fact, AuditEvent)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


@pytest.mark.django_db(transaction=True)
def test_sweeps_beside_each_other_expire_a_session_once(principal: Principal, worked: UUID) -> None:
    now = later(days=2)

    def run(_: int) -> int:
        try:
            return expire_sessions(now).expired
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, range(8))) == 1
    assert set(Fact.objects.values_list("version", flat=True)) == {1}


def test_session_memory_isolates_others(worked: UUID, stranger: Principal) -> None:
    before = everything()
    for target in (worked, uuid4()):
        calls: list[Callable[[], object]] = [
            partial(end_session, stranger, session_id=target),
            partial(search_session, stranger, target, "fern", limit=9),
            partial(session_entries, stranger, target),
        ]
        for call in calls:
            with pytest.raises(NotFound, match="No such session"):
                call()
        assert expire_session(stranger, session_id=target, now=later(days=9)) is False
    assert everything() == before


def test_a_session_is_searched_with_all_that_it_holds(principal: Principal, worked: UUID) -> None:
    begin_turn(principal, text="Which pot was it?", session_id=worked)
    found = search_session(principal, worked, "which pot?", limit=9, before=2)
    assert [(each.part, each.text) for each in found] == [
        ("decision", "Use the clay pot"),
        ("observation", "The old pot is cracked"),
    ]
    assert search_session(principal, worked, "today", limit=9)[0].part == "answered"
    assert len(search_session(principal, worked, "", limit=3)) == 3
    assert search_session(principal, worked, "zebra", limit=9) == ()
    assert search_session(principal, start_session(principal).pk, "fern pot", limit=9) == ()
