"""The seeded demo: it looks lived in, everything in it holds together, and seeding again changes nothing.

Seeding takes a while, so these tests share one seeding, rolled back when the last of them is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from memories.demo.seeding import is_seeded, seed, steps
from memories.demo.story import OPERATOR, PASSWORD, PEOPLE, Person
from memories.models import CatalogEntry, Episode, Fact, MessageState, OutboxEntry, Playbook, Relation, RequestState
from memories.selectors.history.chains import verify_chains
from memories.selectors.memories import chain_of, list_memories
from memories.selectors.sessions import list_sessions, transcript
from memories.services.erasure.requests import approve_erasure, ask_erasure
from memories.types import Kind
from tenants.audit.verification import verify_all
from tenants.models import User
from tenants.principal import Actor, ActorKind, Principal, Role
from tenants.principals import system_principal
from tenants.selectors import find_membership
from tests.cluster import renew_indices
from tests.factories import mint_at_once
from tests.parts import ON_ELASTICSEARCH

pytestmark = [pytest.mark.long, pytest.mark.django_db]

MEMBERS = [person for person in PEOPLE if person.story]


@pytest.fixture(scope="module")
def seeded(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[int]]:
    """The steps of one seeding; its rows are there while the tests of this module run."""
    reported: list[int] = []
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock(), transaction.atomic():
        patch.setattr("django.conf.settings.MEMORYHUB_INDEX_DIR", tmp_path_factory.mktemp("index"))
        mint_at_once(patch)
        seed(reported.append)
        yield reported
        transaction.set_rollback(True)
    if ON_ELASTICSEARCH:
        renew_indices()


def of(username: str) -> Principal:
    """The system acting for a member of the demo."""
    person = next(person for person in PEOPLE if person.username == username)
    return system_principal(find_membership(person.companies[0], username))


def counts() -> dict[str, int]:
    """How many rows every table has."""
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_seeding_again_changes_nothing(seeded: list[int]) -> None:
    before = counts()
    again: list[int] = []
    seed(again.append)
    assert is_seeded()
    assert sum(seeded) == steps()
    assert (counts(), again) == (before, [])


def test_a_seeding_that_was_interrupted_is_taken_up_and_adds_nothing_twice(
    seeded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts()
    monkeypatch.setattr("memories.demo.seeding.is_seeded", lambda: False)
    seed(lambda _done: None)
    after = counts()
    # Only the note that it is complete is written once more.
    grown = {label for label in after if after[label] != before[label]}
    assert grown == {"tenants.AuditEvent", "tenants.AuditPayload"}
    assert after["tenants.AuditEvent"] == before["tenants.AuditEvent"] + 1


def test_chains_and_audit_trail_hold_and_nothing_waits(seeded: list[int]) -> None:
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())
    assert not OutboxEntry.objects.exists()


@pytest.mark.parametrize("person", MEMBERS, ids=lambda person: person.username)
def test_a_member_s_conversations_are_answered_and_show_their_memories(seeded: list[int], person: Person) -> None:
    principal = of(person.username)
    turns = [turn for session in list_sessions(principal) for turn in transcript(principal, session.pk)]
    answered = [turn for turn in turns if turn.answer_state == MessageState.COMPLETE]
    assert len(answered) >= 5
    assert all(turn.said_at < timezone.now() - timedelta(hours=1) for turn in turns)
    assert any(turn.having(Relation.RECALLED) for turn in answered)
    assert any(turn.having(Relation.WROTE) for turn in answered)


def test_there_are_chains_merges_corrections_and_outcomes(seeded: list[int]) -> None:
    ada = of("ada")
    chains = (("ada", "home_city", 2), ("ada", "appointment_times", 3), ("imani", "backup_reserve", 3))
    for username, key, length in chains:
        fact = list_memories(of(username), Kind.SEMANTIC, key=key).get()
        assert len(chain_of(of(username), Kind.SEMANTIC, fact.pk)) == length
    assert Fact.objects.of(ada).filter(retracted=True).get().text == "Allergic to latex"
    assert Fact.objects.of(ada).get(text__startswith="Both brakes").supersedes.count() == 2
    assert Playbook.objects.of(ada).current().get().success_count == 3
    assert Fact.objects.of(ada).get(text="Has a daughter named June").last_verified_at


def test_each_company_has_staff_of_each_role_a_catalog_and_one_auditor_both(seeded: list[int]) -> None:
    for slug in ("quill-lane", "voltara"):
        assert {person.role for person in PEOPLE if slug in person.companies} == set(Role)
    assert CatalogEntry.objects.visible_to(of("ada")).count() == 12
    assert CatalogEntry.objects.visible_to(of("imani")).count() == 42
    assert User.objects.get(username="colm").check_password(PASSWORD)
    assert User.objects.get(username=OPERATOR).is_superuser
    assert not User.objects.get(username="rhona").has_usable_password()


def test_in_one_company_a_second_administrator_approves_an_erasure(seeded: list[int]) -> None:
    marit, eirik, theo = (find_membership("voltara", name) for name in ("marit", "eirik", "theo"))
    with transaction.atomic():
        asked = ask_erasure(Actor(ActorKind.STAFF, marit.user_id), membership_id=theo.pk, reason="a letter")
        assert asked.state == RequestState.ASKED
        approve_erasure(Actor(ActorKind.STAFF, eirik.user_id), request_id=asked.pk)
        asked.refresh_from_db()
        assert asked.state == RequestState.APPROVED
        transaction.set_rollback(True)


def test_the_demo_isolates_other_tenants_and_other_members(seeded: list[int]) -> None:
    for model in (Episode, Fact, Playbook):
        assert sum(model.objects.of(of(person.username)).count() for person in MEMBERS) == model.objects.count()
    assert not CatalogEntry.objects.visible_to(of("ada")).filter(title__startswith="Arc").exists()
    assert not CatalogEntry.objects.filter(tenant=None).exists()
