"""Outcomes of playbooks: counted once for an episode, times that never move back, and versions with a record each."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Playbook
from memories.services.erasure.forget import forget
from memories.services.facts.supersede import retire
from memories.services.facts.undo import undo
from memories.services.playbooks import COUNTED, record_outcome, remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Kind, WriteResult
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

OLD, NEW = ["Pull the plug", "Wait 30 seconds"], ["Pull the plug", "Wait 90 seconds"]


@pytest.fixture
def playbook_id(principal: Principal) -> UUID:
    return remember_playbook(principal, title="Reset the hub", trigger="E31", steps=OLD).memory_id


def said(principal: Principal, text: str) -> UUID:
    return remember_episode(principal, session_id=start_session(principal).pk, text=text).memory_id


def tell(principal: Principal, playbook_id: UUID, success: bool, at: datetime | None = None) -> Playbook:
    outcome = record_outcome(principal, playbook_id=playbook_id, success=success, at=at)
    return Playbook.objects.get(pk=outcome.memory_id)


def test_outcomes_are_counted_and_audited_without_a_word(principal: Principal, playbook_id: UUID) -> None:
    now = timezone.now()
    tell(principal, playbook_id, True, now)
    row = tell(principal, playbook_id, False, now + timedelta(days=1))
    assert (row.success_count, row.last_success_at, row.failure_count, row.version) == (1, now, 1, 3)
    events = AuditEvent.objects.filter(target_id=playbook_id).order_by("sequence")
    assert [event.action for event in events] == ["playbook.created", "playbook.succeeded", "playbook.failed"]
    assert "plug" not in str(events[1].payload.data)


def test_times_never_move_back(principal: Principal, playbook_id: UUID) -> None:
    now = timezone.now()
    for success in (True, False):
        tell(principal, playbook_id, success, now)
        tell(principal, playbook_id, success, now - timedelta(days=9))
    row = Playbook.objects.get()
    assert (row.last_success_at, row.last_failure_at, row.success_count, row.failure_count) == (now, now, 2, 2)


def test_an_episode_counts_once(principal: Principal, playbook_id: UUID) -> None:
    heard, again = said(principal, "That worked!"), said(principal, "Worked again.")
    for ids in ([heard], [heard], [heard, again]):
        record_outcome(principal, playbook_id=playbook_id, success=True, supporting_episode_ids=ids)
    last = record_outcome(principal, playbook_id=playbook_id, success=True, supporting_episode_ids=[again, heard])
    row = Playbook.objects.get()
    assert (last.result, last.reason, row.success_count) == (WriteResult.MERGED, COUNTED, 2)
    assert {*row.supporting_episodes.values_list("pk", flat=True)} == {heard, again}


def test_a_refinement_after_success_keeps_the_record(principal: Principal, playbook_id: UUID) -> None:
    tell(principal, playbook_id, True)
    outcome = record_outcome(principal, playbook_id=playbook_id, success=True, refined_steps=NEW)
    new, old = Playbook.objects.current().get(), Playbook.objects.get(pk=playbook_id)
    assert (outcome.result, outcome.memory_id, outcome.superseded_ids) == (WriteResult.SUPERSEDED, new.pk, (old.pk,))
    assert (new.steps, new.title, new.trigger, new.success_count) == (NEW, "Reset the hub", "E31", 2)
    assert new.last_success_at is not None
    assert (old.success_count, old.superseded_by_id, old.contradiction) == (2, new.pk, Contradiction.NATURAL)


def test_a_refinement_after_failure_begins_with_its_own(principal: Principal, playbook_id: UUID) -> None:
    tell(principal, playbook_id, True)
    record_outcome(principal, playbook_id=playbook_id, success=False, refined_steps=NEW)
    new, old = Playbook.objects.current().get(), Playbook.objects.get(pk=playbook_id)
    assert (new.success_count, new.failure_count, new.last_failure_at) == (0, 0, None)
    assert (old.success_count, old.failure_count, old.retracted) == (1, 1, False)


def test_what_is_told_of_an_old_version_counts_for_the_current_one_once(
    principal: Principal, playbook_id: UUID
) -> None:
    heard, later = said(principal, "Better wait 90 seconds"), said(principal, "Worked")
    for _ in range(2):
        record_outcome(
            principal, playbook_id=playbook_id, success=False, refined_steps=NEW, supporting_episode_ids=[heard]
        )
    record_outcome(principal, playbook_id=playbook_id, success=True, supporting_episode_ids=[later])
    new = Playbook.objects.current().get()
    assert (new.steps, new.success_count, new.failure_count, Playbook.objects.count()) == (NEW, 1, 0, 2)


def test_an_undone_refinement_brings_back_the_old_record(principal: Principal, playbook_id: UUID) -> None:
    new = record_outcome(principal, playbook_id=playbook_id, success=True, refined_steps=NEW).memory_id
    undo(principal, kind=Kind.PROCEDURAL, memory_id=new)
    row = tell(principal, playbook_id, True)
    assert (row.steps, row.success_count) == (OLD, 2)


def test_a_version_told_of_late_does_not_begin_before_the_old_one(principal: Principal, playbook_id: UUID) -> None:
    long_ago = timezone.now() - timedelta(days=400)
    new = record_outcome(principal, playbook_id=playbook_id, success=True, refined_steps=NEW, at=long_ago).memory_id
    assert Playbook.objects.get(pk=new).learned_at > long_ago


def test_nothing_is_stored_of_what_is_wrong_or_of_a_retired_playbook(principal: Principal, playbook_id: UUID) -> None:
    with pytest.raises(InvalidInput):
        record_outcome(principal, playbook_id=playbook_id, success=True, refined_steps=["Pull", " "])
    with pytest.raises(InvalidInput):
        tell(principal, playbook_id, True, datetime(2026, 5, 1))  # noqa: DTZ001 - without a zone on purpose
    with pytest.raises(NotFound):
        record_outcome(principal, playbook_id=playbook_id, success=True, supporting_episode_ids=[uuid4()])
    retire(principal, kind=Kind.PROCEDURAL, memory_id=playbook_id)
    with pytest.raises(Conflict):
        tell(principal, playbook_id, True)
    assert Playbook.objects.get().success_count == 0
    assert not AuditEvent.objects.filter(action="playbook.succeeded").exists()


def test_outcomes_isolate_others(principal: Principal, playbook_id: UUID, stranger: Principal) -> None:
    heard = said(principal, "That worked!")
    own = remember_playbook(stranger, title="Own", steps=OLD).memory_id
    with pytest.raises(NotFound):
        tell(stranger, playbook_id, True)
    with pytest.raises(NotFound):
        record_outcome(stranger, playbook_id=own, success=True, supporting_episode_ids=[heard])
    assert Playbook.objects.get(pk=playbook_id).version == 1


def test_forgetting_the_only_words_behind_a_playbook_takes_it_along_if_asked(principal: Principal) -> None:
    heard, other = said(principal, "Reset the hub so"), said(principal, "Yes, that worked")
    taught = remember_playbook(principal, title="Reset", steps=OLD, supporting_episode_ids=[heard]).memory_id
    record_outcome(principal, playbook_id=taught, success=True, supporting_episode_ids=[other])
    forget(principal, kind=Kind.EPISODIC, memory_id=other, cascade=True)
    row = Playbook.objects.get()
    assert [*row.supporting_episodes.values_list("pk", flat=True)] == [heard]
    forget(principal, kind=Kind.EPISODIC, memory_id=heard, cascade=True)
    assert not Playbook.objects.exists()
