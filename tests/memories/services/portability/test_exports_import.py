"""Importing exports of other products: dry runs, repeated and cut-off imports, and who learns from what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from memories.importing.formats import ExportFormat, parse_export
from memories.importing.peers import PeerExport, parse_mem0, parse_zep
from memories.models import Episode, Fact, LearningOperation, Message, Session
from memories.selectors.history.chains import verify_chains
from memories.services.erasure.forget import forget
from memories.services.portability import exports_import
from memories.services.portability.exports_import import Imported, import_export
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.kills import Killed

pytestmark = pytest.mark.django_db

EXPORTS = Path(__file__).parents[2] / "importing" / "exports"
CARD = "4111 1111 1111 " + "1111"
LATER = "2025-03-03T09:00:00Z"


def bring(principal: Principal, name: str, **options: Any) -> Imported:
    form, export = parse_export((EXPORTS / name).read_bytes())
    return import_export(principal, form, export, **options)


def mem0(principal: Principal, *texts: str, **options: Any) -> Imported:
    entries = [{"id": str(number), "memory": text, "user_id": "a"} for number, text in enumerate(texts)]
    return import_export(principal, ExportFormat.MEM0, parse_mem0(entries), **options)


def everything(principal: Principal) -> list[Any]:
    models = (Fact, Episode, Message, Session, LearningOperation)
    return [sorted(map(str, model._default_manager.of(principal).values_list("pk", flat=True))) for model in models]


@pytest.mark.parametrize(
    ("name", "facts", "episodes", "messages"),
    [("mem0.json", 2, 0, 0), ("zep.json", 2, 1, 2), ("letta.af", 2, 1, 2), ("langgraph.json", 2, 0, 0)],
)
def test_an_export_comes_once_and_as_its_dry_run_said(
    principal: Principal, other_member: Principal, name: str, facts: int, episodes: int, messages: int
) -> None:
    told = bring(principal, name, dry_run=True)
    assert everything(principal) == [[], [], [], [], []]
    assert not AuditEvent.objects.filter(owner_id=principal.user_id, action="fact.created").exists()
    done = bring(principal, name)
    assert told.report.added == done.report.added
    assert (done.report.added[Kind.SEMANTIC], done.report.added[Kind.EPISODIC]) == (facts, episodes)
    assert (told.refused, told.report.messages) == (done.refused, messages)
    assert {text for _, text in told.examples} >= {fact.text for fact in Fact.objects.of(principal)}
    before = everything(principal)
    again = bring(principal, name)
    assert (everything(principal), again.report.total_added) == (before, 0)
    assert again.report.known == facts + messages
    assert everything(other_member) == [[], [], [], [], []]
    assert verify_chains().ok


def test_what_zep_holds_for_ended_is_ended(principal: Principal) -> None:
    bring(principal, "zep.json")
    ended = Fact.objects.of(principal).get(text="Alice lives in Porto")
    assert (ended.status, ended.superseded_at is not None) == (Status.SUPERSEDED, True)


def test_only_the_users_words_are_remembered(principal: Principal) -> None:
    bring(principal, "zep.json")
    (episode,) = Episode.objects.of(principal)
    assert (episode.text, episode.speaker) == ("I moved to Lisbon in January.", principal.speaker)
    assert Message.objects.of(principal).filter(own=True).count() == 1


@pytest.mark.parametrize("learn", [True, False])
def test_new_conversations_are_learned_from_if_wanted(principal: Principal, learn: bool) -> None:
    done = bring(principal, "zep.json", learn=learn)
    assert (done.operation is not None) is learn
    assert set(Message.objects.of(principal).values_list("learn", flat=True)) == {learn}
    if done.operation:
        assert (done.operation.first_ordinal, done.operation.last_ordinal) == (1, 1)
    assert bring(principal, "zep.json", learn=learn).operation is None


def test_entries_that_may_not_be_stored_are_refused_alone(principal: Principal) -> None:
    done = mem0(principal, "Likes trains.", f"Pays with {CARD}.", "Likes boats.")
    assert done.report.added == {Kind.SEMANTIC: 2}
    (refused,) = done.refused
    assert (refused.place, CARD in refused.reason, "payment card" in refused.reason) == ("results.1", False, True)


def test_what_changed_at_its_source_is_refused_and_what_was_erased_stays_away(principal: Principal) -> None:
    mem0(principal, "Likes trains.", "Likes boats.")
    boats = Fact.objects.of(principal).get(text="Likes boats.").pk
    forget(principal, kind=Kind.SEMANTIC, memory_id=boats)
    done = mem0(principal, "Likes trams.", "Likes boats.", "Likes bikes.")
    assert [(each.place, "another text" in each.reason) for each in done.refused] == [("results.0", True)]
    assert done.report.forgotten == 1
    assert set(Fact.objects.of(principal).values_list("text", flat=True)) == {"Likes trains.", "Likes bikes."}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports_import, "PART", 2)


@contextmanager
def killed_at(number: int) -> Iterator[None]:
    """The process ends at this SQL statement."""
    seen = 0

    def kill(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal seen
        if "SAVEPOINT" not in sql:  # a kill rolls back the transaction; in a test, its savepoint
            seen += 1
            if seen == number:
                raise Killed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(kill), pytest.raises(Killed):
        yield


def long_export() -> PeerExport:
    said = [
        {"uuid": f"m{n}", "role": "user", "content": f"I rowed {n} miles in May.", "created_at": LATER}
        for n in range(6)
    ]
    threads = [{"thread_id": f"t{n}", "messages": [each]} for n, each in enumerate(said)]
    edges = [{"uuid": f"e{n}", "fact": f"Owns {n} oars of ash.", "created_at": LATER} for n in range(6)]
    return parse_zep({"threads": threads, "edges": edges})


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("number", [10, 30, 50, 70])
def test_an_import_that_was_cut_off_goes_on(principal: Principal, other_member: Principal, number: int) -> None:
    with killed_at(number):
        import_export(principal, ExportFormat.ZEP, long_export())
    kept = Episode.objects.of(principal).count() + Fact.objects.of(principal).count()
    assert kept < 12
    again = import_export(principal, ExportFormat.ZEP, long_export())
    assert again.report.total_added + kept == 12
    assert (Episode.objects.of(principal).count(), Fact.objects.of(principal).count()) == (6, 6)
    assert verify_chains().ok


@pytest.mark.usefixtures("small_parts")
def test_an_import_whose_time_is_over_says_so(principal: Principal) -> None:
    done = import_export(principal, ExportFormat.ZEP, long_export(), seconds=-1)
    assert (done.complete, done.report.total_added) == (False, 0)
    assert import_export(principal, ExportFormat.ZEP, long_export(), seconds=60).complete
