"""The whole proof on the embedded plane: clean as the product is, and the report when a guard is missing."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from memories.models import (
    Episode,
    Fact,
    Feedback,
    Message,
    OutboxEntry,
    RecallTrace,
    ReviewItem,
    Session,
    SupportCase,
)
from memories.search import outbox, search_plane
from memories.selectors.history.chains import verify_chains
from memories.types import Owner
from proof import building, erasure
from proof.attacks import attacks_on
from proof.baseline import measured
from proof.report import Conclusion, ProofReport, Tally, leaks_and_guards
from proof.run import AlreadyRunning, Runner, one_proof, prove
from tenants.audit.verification import verify_all
from tenants.models import ApiToken, AuditPayload, Membership, OAuthClient, OAuthGrant, Tenant, User
from tenants.services import add_member, create_tenant, create_user
from tests.parts import about_the_embedded_plane
from tests.proof.conftest import Break

pytestmark = pytest.mark.django_db(transaction=True)

LEFT_NOTHING = (
    Tenant, User, Membership, ApiToken, OAuthClient, OAuthGrant, AuditPayload, BrowserSession,
    Session, Message, Episode, Fact, RecallTrace, OutboxEntry, ReviewItem, Feedback, SupportCase,
)  # fmt: skip

# The third guard, which SQLite lacks.
ROWS = {"rows": True} if connection.vendor == "postgresql" else {}


def attack(attempts: int = 110) -> ProofReport:
    return prove(attempts=attempts, concurrency=4, seed=3)


def guards(report: ProofReport) -> dict[str, bool]:
    return {guard.name: guard.holds for guard in report.guards}


def everything_is_gone() -> bool:
    return not any(model._default_manager.exists() for model in LEFT_NOTHING)


@pytest.mark.long
@about_the_embedded_plane
def test_nothing_leaks_and_nothing_is_left() -> None:
    report = attack(160)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert guards(report) == {"search": True, "database": True, **ROWS}
    assert report.attempts == sum(report.attacks.values()) == 160
    assert everything_is_gone()
    assert set(search_plane().owners()) <= {Owner(None, None)}


@pytest.mark.long
@about_the_embedded_plane
def test_without_a_file_for_each_owner_the_database_still_holds(one_file_for_all: Break) -> None:
    one_file_for_all()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": False, "database": True, **ROWS}


@pytest.mark.long
@about_the_embedded_plane
def test_without_the_filter_of_the_load_step_the_search_plane_still_holds(no_load_filter: Break) -> None:
    no_load_filter()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": True, "database": False, **ROWS}


@pytest.mark.long
@about_the_embedded_plane
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no row-level security")
def test_without_both_row_security_still_holds(one_file_for_all: Break, no_load_filter: Break) -> None:
    one_file_for_all()
    no_load_filter()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": False, "database": False, "rows": True}


@pytest.mark.long
@about_the_embedded_plane
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no row-level security")
def test_without_row_security_the_others_hold(no_row_security: Break) -> None:
    no_row_security()
    report = attack()
    assert report.conclusion is Conclusion.GUARD_BROKEN, "\n".join(report.sentences())
    assert not report.leaks and guards(report) == {"search": True, "database": True, "rows": False}


@pytest.mark.long
@about_the_embedded_plane
def test_without_any_there_are_leaks(one_file_for_all: Break, no_load_filter: Break, no_row_security: Break) -> None:
    one_file_for_all()
    no_load_filter()
    no_row_security()
    report = attack()
    assert report.conclusion is Conclusion.LEAK and report.leaked
    assert any(line.attack == "recall: the words of others" and line.exposure == "text" for line in report.leaks)
    assert guards(report) == {"search": False, "database": False, **dict.fromkeys(ROWS, False)}
    assert everything_is_gone()


@pytest.mark.long
def test_a_later_run_removes_what_a_killed_one_left(smallest: None) -> None:
    building.build(random.Random(1))
    assert Fact.objects.exists()
    assert erasure.erase_leftovers() == 1
    assert everything_is_gone()
    assert not list(search_plane().owners())


@pytest.mark.long
def test_ctrl_c_ends_the_proof_and_erases(smallest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Tally:
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    report = attack()
    assert report.interrupted and report.conclusion is Conclusion.UNPROVEN
    assert everything_is_gone()


@pytest.mark.long
def test_a_tenant_with_a_stranger_in_it_is_left_alone(smallest: None) -> None:
    world = building.build(random.Random(1))
    stranger = create_user(username="ada")
    add_member(tenant=world.companies[0].tenant, user=stranger)
    with pytest.raises(erasure.NotOurs):
        attack()
    assert Tenant.objects.count() == 1 and Fact.objects.exists()


@pytest.fixture
def member() -> Membership:
    """A member of a real tenant."""
    tenant = create_tenant(name="Quill Lane", slug="quill-lane")
    return add_member(tenant=tenant, user=create_user(username="ada"))


def test_real_tenants_are_not_touched(member: Membership) -> None:
    with pytest.raises(erasure.NotOurs):
        erasure.require_ours([member])
    erasure.erase_leftovers()
    assert list(Membership.objects.all()) == [member]


@pytest.mark.long
def test_leftovers_of_a_killed_run_are_no_real_tenants(smallest: None) -> None:
    building.build(random.Random(1))
    erasure.require_no_real_tenant()


@pytest.mark.proof
@pytest.mark.timeout(0)
def test_thousands_of_attempts_find_nothing_and_leave_every_chain_whole(fuzz: int, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = {}  # as the command does: what is left of a limit stands in each answer
    world = building.build(random.Random(20))
    outbox.drain()
    baseline = measured(world, timezone.now())
    tally = Runner(world, baseline, attacks_on(search_plane().name), seed=20).run(fuzz, 4)
    leaks, guards = leaks_and_guards(world, tally)
    assert not leaks and all(guard.holds for guard in guards) and not tally.failures
    assert tally.attempts.total() == fuzz and not baseline.changed(world)
    assert verify_chains().ok
    assert not [report for report in verify_all() if not report.ok]


def test_there_is_one_proof_at_a_time() -> None:
    with one_proof(), ThreadPoolExecutor(1) as others, pytest.raises(AlreadyRunning):
        others.submit(another_proof).result()


def another_proof() -> None:
    with closing(connection), one_proof():
        pass
