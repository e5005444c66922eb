"""Importing memories: the gates hold, chains keep their shape and times, twice adds nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.errors import InvalidInput
from memories.importing import parse_memory
from memories.importing.records import MemoryRecord, record_line
from memories.models import CatalogEntry, Episode, Fact, MemoryPolicy, OutboxEntry, Playbook, Session
from memories.selectors.history.chains import verify_chains
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.portability.memories_export import export_memories
from memories.services.portability.memories_import import hash_of, import_memories
from memories.types import Contradiction, Kind, Source, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal

pytestmark = pytest.mark.django_db

MARCH, APRIL, MAY = (datetime(2025, month, 1, tzinfo=UTC) for month in (3, 4, 5))


def fact(text: str, **values: Any) -> MemoryRecord:
    """A record of a fact, placed by its text."""
    return parse_memory({"kind": "semantic", "text": text, **values}, place=f"line of {text}")


def playbook(title: str, **values: Any) -> MemoryRecord:
    """A record of a playbook."""
    return parse_memory({"kind": "procedural", "title": title, "steps": ["do it"], **values}, place=f"line of {title}")


def episode(text: str, **values: Any) -> MemoryRecord:
    """A record of an episode."""
    return parse_memory({"kind": "episodic", "text": text, **values}, place=f"line of {text}")


BRISTOL = fact("Lives in Bristol", id="f1", key="home_city", valid_from="2025-03-01T00:00:00Z")
LEEDS = fact("Lives in Leeds", id="f2", key="home_city", valid_from="2025-05-01T00:00:00Z", supersedes=["f1"])


def only(principal: Principal, text: str) -> Fact:
    """The fact with this text."""
    return Fact.objects.of(principal).get(text=text)


@pytest.mark.parametrize("apart", [False, True])
def test_metadata_and_apps_leave_and_come_back(principal: Principal, other_member: Principal, apart: bool) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, apps_apart=apart)
    given = [
        fact("Lives in Bristol", key="home_city", app="planner", metadata={"a": [1, {"b": None}]}),
        episode("We left Bristol.", app="planner", metadata={"a": "b"}, happened_at="2025-05-01T09:00:00Z"),
        playbook("Move", app="garage", metadata={"rooms": 3}),
        *([fact("Lives in Leeds", key="home_city", app="garage")] if apart else []),
    ]
    import_memories(principal, given)
    lines = [json.loads(record_line(record)) for record in export_memories(principal)]
    import_memories(other_member, [parse_memory(line) for line in lines])
    for owner in (principal, other_member):
        found = [row for model in (Fact, Episode, Playbook) for row in model.objects.of(owner).current()]
        assert {(row.content_hash, row.app, str(row.metadata)) for row in found} == {
            (hash_of(each), each.app, str(each.metadata or {})) for each in given
        }
    assert verify_chains().faults == ()


def test_metadata_against_the_rules_names_its_line(principal: Principal) -> None:
    with pytest.raises(InvalidInput, match="line of Likes tea"):
        import_memories(principal, [fact("Likes tea", metadata={"a.b": 1})])


def test_a_fact_is_believed_since_it_was_true_and_counts_as_imported(principal: Principal) -> None:
    report = import_memories(principal, [BRISTOL])
    row = only(principal, "Lives in Bristol")
    assert (row.learned_at, row.valid_from, row.source, row.confidence) == (MARCH, MARCH, Source.IMPORTED, 0.9)
    assert report.ids == {"f1": row.pk}


@pytest.mark.parametrize("successor", [LEEDS, replace(LEEDS, supersedes=())], ids=["it says so", "by the key alone"])
def test_a_successor_may_stand_before_what_it_replaces(principal: Principal, successor: MemoryRecord) -> None:
    import_memories(principal, [successor, BRISTOL])
    old, new = only(principal, "Lives in Bristol"), only(principal, "Lives in Leeds")
    assert (old.status, old.superseded_by_id, old.superseded_at, old.valid_to) == ("superseded", new.pk, MAY, MAY)
    assert (new.status, new.learned_at) == ("active", MAY)
    assert verify_chains().ok


def test_a_retired_fact_does_not_meet_the_next_one_of_its_key(principal: Principal) -> None:
    retired = replace(BRISTOL, status=Status.SUPERSEDED, superseded_at=APRIL)
    import_memories(principal, [retired, replace(LEEDS, supersedes=())])
    old = only(principal, "Lives in Bristol")
    assert (old.superseded_by_id, old.superseded_at) == (None, APRIL)


def test_a_newer_fact_of_the_owner_wins_over_an_imported_one(principal: Principal) -> None:
    known = remember_fact(principal, text="Lives in York", key="home_city").memory_id
    import_memories(principal, [BRISTOL, LEEDS])
    assert [row.pk for row in Fact.objects.of(principal).current()] == [known]
    assert only(principal, "Lives in Leeds").superseded_by_id == known
    assert verify_chains().ok


def test_the_ending_is_as_the_source_tells_it(principal: Principal) -> None:
    wrong = fact(
        "Is vegan", id="v", valid_from="2025-03-01", status="superseded", contradiction="harsh", valid_to="2025-04-01"
    )
    stale = fact("Has a cold", id="c", valid_from="2025-03-01", status="stale")
    import_memories(principal, [wrong, stale])
    row = only(principal, "Is vegan")
    assert (row.status, row.superseded_by_id, row.superseded_at, row.valid_to) == ("superseded", None, APRIL, APRIL)
    assert (row.contradiction, row.retracted) == (Contradiction.HARSH, True)
    assert only(principal, "Has a cold").status == Status.STALE
    assert AuditEvent.objects.filter(target_id=row.pk, action="fact.retired").exists()


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.EVICTED])
def test_nothing_ends_that_is_still_to_come(principal: Principal, status: Status) -> None:
    retired = replace(BRISTOL, status=status, superseded_at=timezone.now() + timedelta(days=900))
    import_memories(principal, [retired])
    ended = only(principal, "Lives in Bristol").superseded_at
    assert ended is not None and ended <= timezone.now()
    assert verify_chains().ok


def test_episodes_come_in_their_sessions_and_support_facts(principal: Principal) -> None:
    said = [
        episode("I moved", id="e1", session="s", happened_at="2025-05-01T08:00:00Z", speaker="Ines"),
        episode("to Leeds", id="e2", session="s", happened_at="2025-05-01T08:01:00Z"),
        episode("no session", happened_at="2025-05-02T08:00:00Z"),
    ]
    report = import_memories(principal, [replace(LEEDS, supersedes=(), supported_by=("e1", "e2")), *said])
    assert (report.sessions, report.added[Kind.EPISODIC]) == (2, 3)
    support = only(principal, "Lives in Leeds").supporting_episodes.order_by("sequence")
    assert [(row.text, row.speaker) for row in support] == [("I moved", "Ines"), ("to Leeds", "Ada")]


def test_a_playbook_keeps_its_outcomes_and_a_title_is_made_if_missing(principal: Principal) -> None:
    records = [
        playbook("Bleed brakes", success_count=3, failure_count=1, valid_from="2025-03-01"),
        parse_memory({"kind": "procedural", "trigger": "lever soft", "text": "Bleed."}),
    ]
    import_memories(principal, records)
    bleed = Playbook.objects.of(principal).get(title="Bleed brakes")
    assert (bleed.success_count, bleed.failure_count, bleed.learned_at) == (3, 1, MARCH)
    assert Playbook.objects.of(principal).filter(title="lever soft").exists()


ALL_KINDS = [BRISTOL, LEEDS, fact("No id"), fact("No id"), playbook("P", id="p"), episode("E"), episode("E")]


def test_twice_adds_nothing_and_another_text_under_an_id_is_refused(principal: Principal) -> None:
    first = import_memories(principal, ALL_KINDS)
    before = (AuditEvent.objects.count(), OutboxEntry.objects.count(), Session.objects.of(principal).count())
    second = import_memories(principal, ALL_KINDS)
    assert first.total_added == 6
    assert (second.total_added, second.ids) == (0, first.ids)
    with pytest.raises(InvalidInput, match='line of Bath: "id" was imported before with another text'):
        import_memories(principal, [fact("Bath", id="f1")])
    assert (AuditEvent.objects.count(), OutboxEntry.objects.count(), Session.objects.of(principal).count()) == before


def test_an_import_isolates_others_who_import_the_same(principal: Principal, stranger: Principal) -> None:
    mine, theirs = (import_memories(who, ALL_KINDS).ids for who in (principal, stranger))
    assert not set(mine.values()) & set(theirs.values())
    assert Fact.objects.of(stranger).count() == Fact.objects.of(principal).count() == 3


def test_what_is_known_already_gains_and_is_not_doubled(principal: Principal) -> None:
    known = remember_fact(principal, text="Lives in Bristol", source=Source.AGENT_INFERRED, learned_at=APRIL).memory_id
    remember_playbook(principal, title="P", steps=["do it"], success_count=2)
    records = [BRISTOL, playbook("P", success_count=5)]
    first, second = import_memories(principal, records), import_memories(principal, records)
    row = only(principal, "Lives in Bristol")
    assert (first.merged, second.merged, first.ids["f1"]) == (2, 2, known)
    assert (row.confidence, row.key, row.version) == (0.9, "home_city", 2)
    assert Playbook.objects.of(principal).get().success_count == 2


def test_facts_that_meet_no_gate_are_stored_together(
    principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    remember_fact(principal, text="Likes tea", key="drink")
    apart = [fact(f"Fact {n}", id=f"n{n}", key=f"key_{n}") for n in range(300)]
    meeting = [fact("Likes coffee", key="drink", valid_from="2030-01-01"), fact("Fact 1000"), fact("Fact 1000.")]
    with django_assert_max_num_queries(90):
        report = import_memories(principal, [*meeting, *apart])
    assert (report.added[Kind.SEMANTIC], report.merged) == (302, 1)
    assert Fact.objects.of(principal).current().count() == 302
    assert only(principal, "Likes tea").superseded_by == only(principal, "Likes coffee")


def test_an_owner_s_own_memory_can_be_named_by_its_id(principal: Principal) -> None:
    mine = remember_fact(principal, text="Lives in Bristol", learned_at=MARCH).memory_id
    import_memories(principal, [fact("Lives in Bath", valid_from="2025-04-01", supersedes=[str(mine)])])
    assert only(principal, "Lives in Bristol").superseded_by == only(principal, "Lives in Bath")


def test_forgotten_memories_do_not_come_back(principal: Principal) -> None:
    report = import_memories(principal, [BRISTOL, LEEDS])
    forget(principal, kind=Kind.SEMANTIC, memory_id=report.ids["f1"])
    again = import_memories(principal, [BRISTOL, LEEDS])
    assert (again.forgotten, again.known, set(again.ids)) == (1, 1, {"f2"})
    assert not Fact.objects.of(principal).filter(text="Lives in Bristol").exists()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        pytest.param(fact(""), 'line of : "text" is empty', id="empty"),
        pytest.param(episode("a\ud800"), "half of a character", id="a lone surrogate in an episode"),
        pytest.param(fact("a", supersedes=["ghost"]), "neither in the file nor a memory", id="unknown predecessor"),
        pytest.param(fact("a", supported_by=["ghost"]), "nor an episode of this member", id="unknown support"),
        pytest.param(fact("a", valid_from="2025-05-01", valid_to="2025-03-01"), "lies before valid_from", id="times"),
        pytest.param(playbook("p", steps=["s"] * 51), '"steps" has 51 steps', id="too many steps"),
        pytest.param(episode(""), "text is empty", id="empty episode"),
    ],
)
def test_one_bad_record_leaves_nothing(principal: Principal, bad: MemoryRecord, message: str) -> None:
    good = [fact(f"fact {n}", id=str(n)) for n in range(20)]
    with pytest.raises(InvalidInput, match=message):
        import_memories(principal, [*good, episode("fine"), bad])
    assert not Fact.objects.of(principal).exists()
    assert not Episode.objects.of(principal).exists()
    assert not AuditEvent.objects.exists()


def test_the_catalog_goes_to_the_tenant_and_needs_more_than_a_member(
    principal: Principal, other_member: Principal, other_tenant_member: Principal
) -> None:
    entry = parse_memory({"kind": "catalog", "id": "c1", "title": "Returns", "text": "Within 30 days."})
    with pytest.raises(Forbidden):
        import_memories(principal, [entry])
    report = import_memories(replace(principal, actor_kind=ActorKind.SYSTEM), [entry])
    again = import_memories(replace(other_member, actor_kind=ActorKind.SYSTEM), [entry])
    assert (report.added[Kind.CATALOG], again.added.get(Kind.CATALOG, 0)) == (1, 0)
    assert CatalogEntry.objects.visible_to(other_member).get().title == "Returns"
    assert not CatalogEntry.objects.visible_to(other_tenant_member).exists()


@pytest.mark.parametrize("field", ["supersedes", "supported_by", "id"])
def test_an_import_isolates_other_members(principal: Principal, other_member: Principal, field: str) -> None:
    """The id of another owner's memory is answered exactly as an unknown one."""
    theirs = import_memories(other_member, [fact("secret", id="f"), episode("told", id="e")]).ids
    foreign = str(theirs["e" if field == "supported_by" else "f"])
    answers = []
    for name in (foreign, str(uuid4())):
        try:
            import_memories(principal, [fact("mine", **{field: [name] if field != "id" else name})])
            answers.append("stored")
        except InvalidInput as error:
            answers.append(str(error).replace(name, "ID"))
        Fact.objects.of(principal).delete()
    assert answers[0] == answers[1]
    assert only(other_member, "secret").status == Status.ACTIVE


@pytest.mark.english
def test_what_says_the_same_in_other_words_is_imported_as_one_and_again_as_nothing(principal: Principal) -> None:
    first = fact("My dentist is Dr. Keller", id="f1")
    records = [first, fact("Dr. Keller is my dentist", id="f2"), fact("My dentist is Dr. Kessler", id="f3")]
    steps, same = ["stop postfix", "wait 30 seconds", "start postfix"], ("Stop postfix.", "please wait thirty seconds")
    how_to = playbook("Restart the mail server", id="p1", trigger="when mail stops", steps=steps, success_count=1)
    records += [how_to, replace(how_to, id="p2", steps=(*same, "begin postfix"))]
    report = import_memories(principal, records)
    assert (report.added[Kind.SEMANTIC], report.ids["f2"], Fact.objects.count()) == (2, report.ids["f1"], 2)
    written = AuditEvent.objects.count()
    again = import_memories(principal, [replace(record, id=f"other-{record.id}") for record in records])
    assert (AuditEvent.objects.count(), sum(again.added.values())) == (written, 0)
    assert Playbook.objects.get().success_count == 1


def test_a_task_that_cannot_be_stored_is_refused(principal: Principal) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        import_memories(principal, [playbook("Make tea", id="p", steps=("Boil water",), task="\ud800")])
