"""The whole proof on the embedded plane: clean as it is, and what it says when a guard is gone."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection

from memories.models import Episode, Fact, Message, OutboxEntry, RecallTrace, ReviewItem, Session
from memories.search import search_plane
from memories.types import Owner
from proof import building, erasing
from proof.proof import AlreadyRunning, alone, prove
from proof.report import Report, Verdict
from proof.running import Runner, Tally
from tenants.models import ApiToken, AuditPayload, Membership, Tenant, User
from tenants.services import add_member, create_tenant, create_user
from tests.parts import about_the_embedded_plane
from tests.proof.conftest import Break

pytestmark = pytest.mark.django_db(transaction=True)

LEFT_NOTHING = (
    Tenant, User, Membership, ApiToken, AuditPayload, BrowserSession,
    Session, Message, Episode, Fact, RecallTrace, OutboxEntry, ReviewItem,
)  # fmt: skip


def attack(attempts: int = 110) -> Report:
    return prove(attempts=attempts, concurrency=4, seed=3)


def guards(report: Report) -> dict[str, bool]:
    return {guard.name: guard.holds for guard in report.guards}


def everything_is_gone() -> bool:
    return not any(model._default_manager.exists() for model in LEFT_NOTHING)


@pytest.mark.long
@about_the_embedded_plane
def test_as_it_is_nothing_leaks_and_nothing_is_left() -> None:
    report = attack(160)
    assert report.verdict is Verdict.CLEAN, list(report.sentences())
    assert guards(report) == {"search": True, "database": True}
    assert report.attempts == sum(report.attacks.values()) == 160
    assert everything_is_gone()
    assert set(search_plane().owners()) <= {Owner(None, None)}


@pytest.mark.long
@about_the_embedded_plane
def test_without_a_file_for_each_owner_the_database_still_holds(one_file_for_all: Break) -> None:
    one_file_for_all()
    report = attack()
    assert report.verdict is Verdict.GUARD_BROKEN, list(report.sentences())
    assert not report.leaks and guards(report) == {"search": False, "database": True}


@pytest.mark.long
@about_the_embedded_plane
def test_without_the_filter_of_the_load_step_the_search_plane_still_holds(no_load_filter: Break) -> None:
    no_load_filter()
    report = attack()
    assert report.verdict is Verdict.GUARD_BROKEN, list(report.sentences())
    assert not report.leaks and guards(report) == {"search": True, "database": False}


@pytest.mark.long
@about_the_embedded_plane
def test_without_both_there_are_leaks(one_file_for_all: Break, no_load_filter: Break) -> None:
    one_file_for_all()
    no_load_filter()
    report = attack()
    assert report.verdict is Verdict.LEAK and report.leaked
    assert any(line.attack == "recall: the words of others" and line.what == "text" for line in report.leaks)
    assert guards(report) == {"search": False, "database": False}
    assert everything_is_gone()


@pytest.mark.long
def test_a_later_run_removes_what_a_killed_one_left(smallest: None) -> None:
    building.build(random.Random(1))
    assert Fact.objects.exists()
    assert erasing.erase_leftovers() == 1
    assert everything_is_gone()
    assert not list(search_plane().owners())


@pytest.mark.long
def test_ctrl_c_ends_the_proof_and_erases(smallest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Tally:
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    report = attack()
    assert report.interrupted and report.verdict is Verdict.UNPROVEN
    assert everything_is_gone()


@pytest.mark.long
def test_what_it_did_not_make_is_left_alone(smallest: None) -> None:
    world = building.build(random.Random(1))
    stranger = create_user(username="ada")
    add_member(tenant=world.companies[0].tenant, user=stranger)
    with pytest.raises(erasing.NotOurs):
        attack()
    assert Tenant.objects.count() == 1 and Fact.objects.exists()


def test_tenants_of_others_are_not_touched() -> None:
    tenant = create_tenant(name="Quill Lane", slug="quill-lane")
    member = add_member(tenant=tenant, user=create_user(username="ada"))
    with pytest.raises(erasing.NotOurs):
        erasing.require_ours([member])
    erasing.erase_leftovers()
    assert list(Membership.objects.all()) == [member]


def test_there_is_one_proof_at_a_time() -> None:
    with alone(), ThreadPoolExecutor(1) as others, pytest.raises(AlreadyRunning):
        others.submit(another_proof).result()


def another_proof() -> None:
    with closing(connection), alone():
        pass
