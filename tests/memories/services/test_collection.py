"""The collection: what is due ends, once, with an audit event; dry and real runs agree; nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import product
from typing import Any, NoReturn
from uuid import UUID

import pytest
from django.utils import timezone

from memories.hygiene.ageing import Cause, Ending
from memories.models import Fact, MemoryPolicy, OutboxEntry
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.history.chains import verify_chains
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


def test_a_dry_run_says_the_same_and_neither_it_nor_a_second_one_changes_anything(
    principal: Principal, other_tenant_member: Principal
) -> None:
    live(principal)
    live(other_tenant_member)
    before = left()
    planned = collect(apply=False, now=NOW)
    assert left() == before
    applied = collect(apply=True, now=NOW)
    assert planned.decisions == applied.decisions
    assert (planned.applied, applied.applied) == (False, True)
    after = left()
    assert not any(collect(apply=apply, now=NOW).decisions for apply in (True, False))
    assert left() == after


def left() -> list[object]:
    return [*Fact.objects.order_by("pk").values(), AuditEvent.objects.count()]


def test_every_decision_is_audited_without_a_word_of_the_memory(principal: Principal) -> None:
    lives = live(principal)
    collect(apply=True)
    told = {(each.action, each.target_id): each for each in AuditEvent.objects.filter(actor_kind="system")}
    unused, erased = told["fact.evicted", lives["unused"]], told["fact.forgotten", lives["evicted"]]
    assert unused.owner_id == principal.user_id
    assert unused.payload.data == {"reason": Cause.UNUSED, "before": {"status": "active"}, "after": None}
    assert erased.payload.data["reason"] == Cause.OVERDUE
    assert told.keys() >= {("fact.archived", lives["replaced"]), ("playbook.archived", lives["how-to"])}
    assert ("fact.stale", lives["doubtful"]) in told
    assert not AuditPayload.objects.filter(document__contains="trike").exists()


def test_the_search_plane_is_told(principal: Principal) -> None:
    live(principal)
    drain()
    collect(apply=True)
    told = OutboxEntry.objects.values_list("memory_id", "version")
    assert set(Fact.objects.exclude(status=Status.ACTIVE).values_list("pk", "version")) <= set(told)
    drain()
    said = {item.text for item in recall(principal, "What do I prefer?", include_superseded=True).items}
    assert "Prefers rail" in said and "Prefers tea" not in said


@pytest.mark.parametrize("place", [0, 3], ids=["first", "in the middle"])
def test_a_memory_that_fails_is_left_and_all_others_are_collected(
    principal: Principal, other_member: Principal, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    live(principal), live(other_member)
    due = sorted(each.memory_id for each in collect(apply=False).decisions if each.owner.user_id == principal.user_id)
    whole = collection._carry_out

    def fail(w: Any, planned: Any, now: datetime) -> None:
        whole(w, planned, now)
        if due[place] in {each.row.pk for each in planned}:
            raise RecursionError("Parks on level 3")

    with monkeypatch.context() as patch:
        patch.setattr(collection, "_carry_out", fail)
        report = collect(apply=True)
    assert due[place] not in {each.memory_id for each in report.decisions} and len(report.decisions) == 11
    assert [each.user_id for each in report.failed] == [principal.user_id]
    assert [each.memory_id for each in collect(apply=True).decisions] == [due[place]]
    assert verify_chains().faults == () and all(chain.ok for chain in verify_all())


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


def test_the_job_of_the_day_collects_unless_another_is_at_work(
    principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired = Fact.objects.filter(pk=live(principal)["expired"])
    with monkeypatch.context() as patch:
        patch.setattr("memories.services.retention.collection.advisory_lock", at_work)
        with pytest.raises(LockTaken):
            collect(apply=True)
        collect_daily()
        assert collect(apply=False).decisions
    assert expired.get().status == Status.ACTIVE
    collect_daily()
    assert expired.get().status == Status.EVICTED


class Killed(BaseException):
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
    names = ("review_after", "last_used_at", "expires_at", "confidence")
    values = ((None, ago(1), ago(-1)), (None, ago(1), ago(31)), (None, ago(0.1), ago(-1)), (0.1, 0.9))
    for number, chosen in enumerate(product(*values)):
        fact(principal, f"Fact {number}", **dict(zip(names, chosen, strict=True)))
    ids = list(Fact.objects.order_by("pk").values_list("pk", flat=True))
    everything = plan(Kind.SEMANTIC, ids, now=NOW, keep_superseded=False)
    assert {each.row.pk for each in everything} == set(fates(collect(apply=False, now=NOW)))
    assert 0 < len(everything) < len(ids)
