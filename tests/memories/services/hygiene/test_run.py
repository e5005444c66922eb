"""A run of the scan: interrupted anywhere it goes on and ends the same; one at a time; nobody waits for who fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from memories.models import Fact, HygieneRun, HygieneState, ReviewItem
from memories.services import contradictions
from memories.services.contradictions import ScanResult
from memories.services.erasure.receipt import stored_receipt, verify_receipt
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.services.erasure.stores import hygiene_places
from memories.services.retention import hygiene_run
from memories.services.retention import hygiene_scan as scanning
from memories.services.retention.hygiene_run import hygiene_scan
from memories.services.retention.hygiene_scan import found_in
from memories.services.write import housekeeping
from memories.types import Owner
from memoryhub.db.advisory_lock import LockTaken
from memoryhub.jobs import JobResult
from tenants.audit.chain import verify_all
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, Principal
from tests.factories import make_membership, make_tenant, own_principal
from tests.memories.services.hygiene.lives import NOW, live
from tests.memories.services.test_collection import at_work
from tests.stored import stored

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def living(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Callable[[], list[Principal]]:
    return stored(several, django_db_blocker)


@pytest.fixture
def owners(db: None, living: Callable[[], list[Principal]]) -> list[Principal]:
    """Three with a fact of each standing, and the pages of a scan are two long."""
    return living()


def several() -> list[Principal]:
    """Two of one tenant and one of another, who lived."""
    tenant = make_tenant()
    owners = [own_principal(make_membership(of)) for of in (tenant, tenant, None)]
    for owner in owners:
        live(owner)
    return owners


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "PAGE", 2)


def state() -> list[Any]:
    """What a scan leaves: statuses, staleness and versions, proposals, events, runs."""
    return [
        list(Fact.objects.order_by("pk").values_list("pk", "status", "staleness", "version")),
        sorted(map(str, ReviewItem.objects.values_list("kind", "first", "evidence", "decision"))),
        sorted(
            map(str, AuditEvent.objects.values_list("chain", "action", "target_id").exclude(action="review.opened"))
        ),
        list(HygieneRun.objects.values_list("state", "counts")),
    ]


def of_a_whole_scan() -> list[Any]:
    """What a scan that nobody interrupts leaves; it is taken back again."""
    whole: list[Any] = []
    with contextlib.suppress(Killed), transaction.atomic():
        hygiene_scan(apply=True, now=NOW)
        whole += state()
        raise Killed
    return whole


WORDS = "Plays the cello"


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("pages", [1, 3, 7])
def test_an_interrupted_scan_is_gone_on_with(owners: list[Principal], pages: int) -> None:
    whole = of_a_whole_scan()
    left = iter([False] * (pages - 1) + [True])
    first = hygiene_scan(apply=True, now=NOW, stop=lambda: next(left))
    assert first.state is HygieneState.INTERRUPTED
    second = hygiene_scan(apply=True, now=NOW + timedelta(hours=1))
    assert (second.state, second.went_on, second.run_id) == (HygieneState.DONE, True, first.run_id)
    assert state() == whole
    assert all(chain.ok for chain in verify_all())


@pytest.mark.parametrize("survives", [0, 2, 5])
def test_a_scan_that_was_killed_leaves_no_page_half_done(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    whole = of_a_whole_scan()
    left = [survives]

    @contextmanager
    def mortal(owner: Owner) -> Iterator[Any]:
        with housekeeping(owner) as w:
            yield w
            left[0] -= 1
            if left[0] < 0:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "housekeeping", mortal)
        with pytest.raises(Killed):
            hygiene_scan(apply=True, now=NOW)
    assert HygieneRun.objects.get().state == HygieneState.RUNNING
    hygiene_scan(apply=True, now=NOW + timedelta(hours=1))
    assert state() == whole
    assert all(chain.ok for chain in verify_all())


def test_what_was_interrupted_long_ago_is_begun_anew(owners: list[Principal]) -> None:
    hygiene_scan(apply=True, now=NOW - timedelta(days=3), stop=lambda: True)
    again = hygiene_scan(apply=True, now=NOW)
    assert (again.went_on, again.counts["facts"]) == (False, 18)
    assert HygieneRun.objects.count() == 2


@pytest.mark.english
def test_other_rules_begin_anew_and_read_all_words_again(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    hygiene_scan(apply=True, now=NOW)
    Fact.objects.update(updated_at=NOW - timedelta(days=30))
    assert hygiene_scan(apply=False, now=NOW).counts["junk"] == 0
    monkeypatch.setattr(hygiene_run, "rules", lambda: "newer")
    assert hygiene_scan(apply=False, now=NOW).counts["junk"] == 3


def test_an_owner_who_fails_keeps_nobody_waiting(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, second = scanning._decide, sorted(owners, key=lambda each: each.membership_id)[1]

    def fail(task: scanning.Task, *rest: Any) -> Any:
        if task.owner.user_id == second.user_id:
            raise ValueError(WORDS)
        return whole(task, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "_decide", fail)
        patch.setattr(scanning, "MOST_LEFT_OUT", 1)
        scanned = hygiene_scan(apply=True, now=NOW)
    assert (scanned.state, scanned.counts["owners"], scanned.counts["failed"]) == (HygieneState.FAILED, 2, 2)
    assert HygieneRun.objects.get().error.startswith("2 memories or owners could not be scanned")
    assert "ValueError" in caplog.text and WORDS not in caplog.text
    assert Fact.objects.filter(staleness=None).count() == 6
    assert hygiene_scan(apply=True, now=NOW + timedelta(hours=1)).counts["owners"] == 3


@pytest.mark.parametrize("place", [0, 3], ids=["first", "in the middle"])
def test_a_memory_that_fails_is_left_out_and_all_others_are_scanned(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: int
) -> None:
    bad = Fact.objects.of(owners[0]).order_by("pk")[place].pk
    whole = scanning._carry_out

    def fail(w: Any, asking: Any, decided: scanning.Decided) -> None:
        whole(w, asking, decided)
        rows = [*decided.aged, *(row for some in decided.status.values() for row in some)]
        if bad in {row.pk for row in rows}:
            raise ValueError(WORDS)

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "_carry_out", fail)
        scanned = hygiene_scan(apply=True, now=NOW)
    assert list(Fact.objects.filter(staleness=None).values_list("pk", flat=True)) == [bad]
    assert (scanned.counts["owners"], scanned.counts["facts"], scanned.counts["failed"]) == (3, 17, 1)
    assert HygieneRun.objects.get().counts == dict(scanned.counts)
    assert str(bad) in caplog.text and WORDS not in caplog.text
    assert all(chain.ok for chain in verify_all())
    again = hygiene_scan(apply=True, now=NOW + timedelta(hours=1))
    assert (again.state, again.counts["failed"]) == (HygieneState.DONE, 0)


def test_a_pair_that_cannot_be_settled_keeps_no_memory_from_being_scanned(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> ScanResult:
        raise ValueError(WORDS)

    monkeypatch.setattr(contradictions, "scan_owner", fail)
    scanned = hygiene_scan(apply=True, now=NOW)
    assert (scanned.counts["failed"], scanned.counts["facts"]) == (3, 18)


def test_who_may_not_act_any_more_is_scanned_as_well(owners: list[Principal]) -> None:
    Membership.objects.update(is_active=False)
    assert hygiene_scan(apply=True, now=NOW).counts["owners"] == 3
    assert not Fact.objects.filter(staleness=None).exists()


@pytest.mark.english
def test_two_at_once_are_refused_and_a_dry_one_is_not(owners: list[Principal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hygiene_run, "advisory_lock", at_work)
    with pytest.raises(LockTaken):
        hygiene_scan(apply=True)
    hygiene_run.scan_daily()
    assert not HygieneRun.objects.exists()
    assert hygiene_scan(apply=False, now=NOW).counts["owners"] == 3


def test_the_task_scans_once_a_day(owners: list[Principal]) -> None:
    hygiene_run.scan_daily()
    assert HygieneRun.objects.get().counts["facts"] == 18
    hygiene_run.scan_daily()
    assert HygieneRun.objects.count() == 1


def test_what_the_task_has_no_time_for_is_another_task(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hygiene_run, "RUN_SECONDS", 0.0)
    assert hygiene_run.scan_daily() is JobResult.MORE
    assert HygieneRun.objects.get().state == HygieneState.INTERRUPTED


def test_no_place_is_kept_in_a_member_who_is_erased_while_they_are_scanned(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a scan would name them after their receipt said that none does."""
    last = max(Membership.objects.filter(user__in=[each.user_id for each in owners]), key=lambda each: each.pk)
    erased: list[UUID] = []

    def erasing(kind: Any, ids: Any, **given: Any) -> Any:
        found = found_in(kind, ids, **given)
        if not erased and Fact.objects.filter(pk__in=ids, user=last.user_id).exists():
            erased.append(ask_erasure(SYSTEM, membership_id=last.pk, reason="asked by letter").pk)
            assert carry_out(erased[0])
        return found

    monkeypatch.setattr(scanning, "found_in", erasing)
    assert hygiene_scan(apply=True, now=NOW).state is HygieneState.DONE
    assert erased and not hygiene_places(last).exists()
    assert HygieneRun.objects.get().counts["failed"] == 0
    assert verify_receipt(stored_receipt(erased[0])).ok


def test_no_place_is_kept_after_the_contradictions_of_a_member_who_is_erased_then(
    owners: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(Membership.objects.filter(user__in=[each.user_id for each in owners]), key=lambda each: each.pk)

    def erasing(task: scanning.Task, **_: Any) -> ScanResult:
        if task.owner.user_id != last.user_id:
            return ScanResult()
        assert carry_out(ask_erasure(SYSTEM, membership_id=last.pk, reason="asked by letter").pk)
        return ScanResult(contradictions=1)

    monkeypatch.setattr(scanning, "_contradictions", erasing)
    hygiene_scan(apply=True, now=NOW)
    assert not hygiene_places(last).exists()
