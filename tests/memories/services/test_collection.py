"""The collection: what is due ends, once, with an audit event; dry and real runs agree; nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

import pytest
from django.utils import timezone

from memories.hygiene.ageing import Cause, Ending
from memories.models import Fact, MemoryPolicy, OutboxEntry
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.history.chains import verify_chains
from memories.selectors.memories import chain_of
from memories.selectors.retention import plan
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.retention import collection
from memories.services.retention.collection import CollectionReport, collect, collect_daily
from memories.services.write import housekeeping
from memories.types import Kind, Scope, Status
from memoryhub.db.advisory_lock import LockTaken
from tenants.audit.chain import verify_all
from tenants.models import AuditEvent, AuditPayload, Membership
from tenants.principal import Principal
from tests.memories.retelling import retell

pytestmark = pytest.mark.django_db

NOW = timezone.now()
YEAR = timedelta(days=365)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def fact(principal: Principal, text: str, **columns: Any) -> UUID:
    """A fact with these columns, whatever the services would have made of it."""
    id_ = remember_fact(principal, text=text, learned_at=ago(400)).memory_id
    Fact.objects.filter(pk=id_).update(**columns)
    retell(principal, id_)
    return id_


def live(principal: Principal) -> dict[str, UUID]:
    """A memory of each fate."""
    lives = {
        "young": fact(principal, "Lives in Bristol"),
        "expired": fact(principal, "Parks on level 3", expires_at=ago(1)),
        "unused": fact(principal, "Prefers tea", review_after=ago(1)),
        "used": fact(principal, "Prefers rail", review_after=ago(1), last_used_at=ago(2)),
        "doubtful": fact(principal, "Owns a boat", confidence=0.2),
        "replaced": fact(principal, "Works at Voltara", key="employer"),
        "evicted": fact(
            principal, "Rides a trike", status=Status.EVICTED, evicted_at=ago(40), evicted_from=Status.ACTIVE
        ),
        "how-to": remember_playbook(principal, title="Bleed", steps=["open"], learned_at=ago(400)).memory_id,
    }
    remember_fact(principal, text="Works at Quill", key="employer", learned_at=ago(300))
    remember_playbook(
        principal, title="Bleed", steps=["open", "push"], supersedes_ids=[lives["how-to"]], learned_at=ago(200)
    )
    return lives


def fates(report: CollectionReport) -> dict[UUID, tuple[Ending, Cause]]:
    return {each.memory_id: (each.ending, each.cause) for each in report.decisions}


def test_each_memory_meets_its_fate(principal: Principal) -> None:
    lives = live(principal)
    report = collect(apply=True)
    assert fates(report) == {
        lives["expired"]: (Ending.EVICTED, Cause.EXPIRED),
        lives["unused"]: (Ending.EVICTED, Cause.UNUSED),
        lives["doubtful"]: (Ending.STALE, Cause.DOUBTFUL),
        lives["replaced"]: (Ending.ARCHIVED, Cause.REPLACED),
        lives["how-to"]: (Ending.ARCHIVED, Cause.REPLACED),
        lives["evicted"]: (Ending.ERASED, Cause.OVERDUE),
    }
    assert report.counts[Ending.ARCHIVED, Cause.REPLACED] == 2
    rows = {name: Fact.objects.filter(pk=id_).first() for name, id_ in lives.items()}
    assert {name: row.status for name, row in rows.items() if row} == {
        "young": Status.ACTIVE,
        "expired": Status.EVICTED,
        "unused": Status.EVICTED,
        "used": Status.ACTIVE,
        "doubtful": Status.STALE,
        "replaced": Status.SUPERSEDED,
    }
    unused, replaced = rows["unused"], rows["replaced"]
    assert unused and (unused.evicted_from, unused.evicted_at is not None) == (Status.ACTIVE, True)
    assert replaced and replaced.archived_at
    assert verify_chains().ok
    assert all(chain.ok for chain in verify_all())


def test_a_dry_run_says_the_same_and_changes_nothing(principal: Principal, other_tenant_member: Principal) -> None:
    live(principal)
    live(other_tenant_member)
    events = AuditEvent.objects.count()
    before = list(Fact.objects.order_by("pk").values())
    planned = collect(apply=False, now=NOW)
    assert (list(Fact.objects.order_by("pk").values()), AuditEvent.objects.count()) == (before, events)
    applied = collect(apply=True, now=NOW)
    assert planned.decisions == applied.decisions
    assert (planned.applied, applied.applied) == (False, True)


def test_a_second_run_does_nothing(principal: Principal) -> None:
    live(principal)
    assert collect(apply=True, now=NOW).decisions
    events = AuditEvent.objects.count()
    assert not collect(apply=True, now=NOW).decisions
    assert not collect(apply=False, now=NOW).decisions
    assert AuditEvent.objects.count() == events


def test_every_decision_is_audited_without_a_word_of_the_memory(principal: Principal) -> None:
    lives = live(principal)
    collect(apply=True)
    (event,) = AuditEvent.objects.filter(action="fact.evicted", target_id=lives["unused"])
    assert (event.actor_kind, event.owner_id) == ("system", principal.user_id)
    assert event.payload.data == {"reason": Cause.UNUSED, "before": {"status": "active"}, "after": None}
    assert AuditEvent.objects.filter(action="fact.archived", target_id=lives["replaced"]).exists()
    assert AuditEvent.objects.filter(action="playbook.archived", target_id=lives["how-to"]).exists()
    assert AuditEvent.objects.filter(action="fact.stale", target_id=lives["doubtful"]).exists()


def test_the_search_plane_is_told(principal: Principal) -> None:
    live(principal)
    drain()
    collect(apply=True)
    told = OutboxEntry.objects.values_list("memory_id", "version")
    assert set(Fact.objects.exclude(status=Status.ACTIVE).values_list("pk", "version")) <= set(told)
    drain()
    said = {item.text for item in recall(principal, "What do I prefer?", include_superseded=True).items}
    assert "Prefers rail" in said and "Prefers tea" not in said


def test_what_is_erased_leaves_no_word(principal: Principal) -> None:
    lives = live(principal)
    collect(apply=True)
    assert not AuditPayload.objects.filter(document__contains="trike").exists()
    event = AuditEvent.objects.get(action="fact.forgotten", target_id=lives["evicted"])
    assert event.payload.data["reason"] == Cause.OVERDUE


def test_what_was_archived_stays_in_its_chain_and_in_the_past(principal: Principal) -> None:
    lives = live(principal)
    collect(apply=True)
    drain()
    assert [link.text for link in chain_of(principal, Kind.SEMANTIC, lives["replaced"])] == [
        "Works at Voltara",
        "Works at Quill",
    ]
    then = recall(principal, "Where do I work?", as_of=ago(350), types=[Kind.SEMANTIC])
    assert "Works at Voltara" in {item.text for item in then.items}


def test_a_tenant_may_keep_what_was_replaced(principal: Principal, other_tenant_member: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, keep_superseded=True)
    mine, theirs = live(principal), live(other_tenant_member)
    collect(apply=True)
    archived = Fact.objects.exclude(archived_at=None)
    assert [row.pk for row in archived] == [theirs["replaced"]]
    assert Fact.objects.get(pk=mine["expired"]).status == Status.EVICTED


def test_one_tenant_is_collected_alone(principal: Principal, other_tenant_member: Principal) -> None:
    live(principal)
    theirs = live(other_tenant_member)
    report = collect(apply=True, tenant_id=principal.tenant_id)
    assert {each.owner.tenant_id for each in report.decisions} == {principal.tenant_id}
    assert Fact.objects.get(pk=theirs["expired"]).status == Status.ACTIVE


def test_the_memory_of_who_may_not_act_any_more_ends_too(principal: Principal) -> None:
    lives = live(principal)
    Membership.objects.update(is_active=False)
    assert len(collect(apply=True).decisions) == 6
    assert not Fact.objects.filter(pk=lives["evicted"]).exists()


def test_what_a_tenant_shares_is_collected_and_told_in_its_own_chain(admin_principal: Principal) -> None:
    shared = remember_fact(admin_principal, text="Lift code 12", scope=Scope.TENANT).memory_id
    Fact.objects.update(expires_at=ago(1))
    collect(apply=True)
    assert Fact.objects.get(pk=shared).status == Status.EVICTED
    event = AuditEvent.objects.get(action="fact.evicted")
    assert event.chain == f"tenant:{admin_principal.tenant_id}"
    Fact.objects.update(evicted_at=ago(40))
    assert not collect(apply=True).decisions, "whose transcripts repeat it is not known here"


def at_work(work: str) -> NoReturn:
    """Another process holds the lock."""
    raise LockTaken(work)


def test_two_at_once_do_not_meet(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    lives = live(principal)
    monkeypatch.setattr("memories.services.retention.collection.advisory_lock", at_work)
    with pytest.raises(LockTaken):
        collect(apply=True)
    collect_daily()
    assert collect(apply=False).decisions
    assert Fact.objects.get(pk=lives["expired"]).status == Status.ACTIVE


def test_the_job_of_the_day_collects(principal: Principal) -> None:
    lives = live(principal)
    collect_daily()
    assert Fact.objects.get(pk=lives["expired"]).status == Status.EVICTED


class Killed(Exception):
    """The process is gone."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("survives", [0, 1, 3])
def test_a_run_that_was_killed_leaves_nothing_half_done(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    lives = live(principal)
    monkeypatch.setattr(collection, "BATCH", 1)
    planned = set(fates(collect(apply=False, now=NOW)))
    whole, left = housekeeping, [survives]

    @contextmanager
    def mortal(owner: Any) -> Iterator[Any]:
        with whole(owner) as keeper:
            yield keeper
            left[0] -= 1
            if left[0] < 0:
                raise Killed

    monkeypatch.setattr(collection, "housekeeping", mortal)
    with pytest.raises(Killed):
        collect(apply=True, now=NOW)
    assert verify_chains().ok
    assert all(chain.ok for chain in verify_all())
    monkeypatch.setattr(collection, "housekeeping", whole)
    rest = set(fates(collect(apply=True, now=NOW)))
    # A batch may hold a memory that is looked at and stays.
    assert rest <= planned and len(planned) - survives <= len(rest) <= len(planned)
    for memory_id in planned - rest:
        assert AuditEvent.objects.filter(target_id=memory_id, actor_kind="system").exists()
    assert not Fact.objects.filter(pk=lives["evicted"]).exists()


def test_the_database_narrows_down_to_no_less_than_is_due(principal: Principal) -> None:
    """Every combination of what decides, against a look at all rows."""
    for number, (review, used, expires, confidence) in enumerate(
        (review, used, expires, confidence)
        for review in (None, ago(1), ago(-1))
        for used in (None, ago(1), ago(31))
        for expires in (None, ago(0.1), ago(-1))
        for confidence in (0.1, 0.9)
    ):
        fact(
            principal,
            f"Fact {number}",
            review_after=review,
            last_used_at=used,
            expires_at=expires,
            confidence=confidence,
        )
    ids = list(Fact.objects.order_by("pk").values_list("pk", flat=True))
    everything = plan(Kind.SEMANTIC, ids, now=NOW, keep_superseded=False)
    assert {each.row.pk for each in everything} == set(fates(collect(apply=False, now=NOW)))
    assert 0 < len(everything) < len(ids)
