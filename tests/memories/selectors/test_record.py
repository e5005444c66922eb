"""A memory that was rewritten together with its evidence is found: the attacks of the security review."""

from __future__ import annotations

import hashlib

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from memories.models import CatalogEntry, Episode, Fact, Message
from memories.selectors.history.chains import verify_chains, verify_owner, verify_rows
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.types import Kind, Owner
from tenants.audit.verification import verify_all
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.tenants.audit_events import execute

NOW = "No allergies known"


@pytest.fixture
def fact(principal: Principal) -> Fact:
    """What nobody may rewrite."""
    return Fact.objects.get(pk=remember_fact(principal, text="Allergic to penicillin", key="allergy").memory_id)


def rewrite(fact: Fact) -> None:
    Fact.objects.filter(pk=fact.pk).update(
        text=NOW, key="diet", confidence=0.2, content_hash=hashlib.sha256(NOW.casefold().encode()).hexdigest()
    )


def problems() -> set[str]:
    return {fault.problem for fault in verify_chains().faults}


def test_the_database_refuses_to_delete_the_evidence(fact: Fact) -> None:
    with pytest.raises(IntegrityError, match="record of its erasure"), transaction.atomic():
        execute("DELETE FROM tenants_auditpayload")
    assert all(report.ok for report in verify_all())


def test_a_fact_rewritten_after_its_evidence_was_deleted_is_found_by_both(fact: Fact) -> None:
    with audit_unguarded():
        execute("DELETE FROM tenants_auditpayload")
        rewrite(fact)
    assert "is there although the payload of its event is gone" in problems()
    assert {report.reason for report in verify_all()} == {"the payload is missing, and no event erased it"}
    with pytest.raises(SystemExit):
        call_command("verify_chains")


def test_what_was_forgotten_accounts_for_its_own_evidence_alone(fact: Fact, principal: Principal) -> None:
    other = remember_fact(principal, text="Keeps ferrets").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=other)
    assert problems() == set() and all(report.ok for report in verify_all())
    with audit_unguarded():
        execute("DELETE FROM tenants_auditpayload")
    assert [report.ok for report in verify_all()] == [False]


@pytest.mark.parametrize("words", ["ALLERGIC to penicillin", "Allergic  to penicillin", "Allergic to penicillin."])
def test_words_that_count_as_equal_are_told_apart(fact: Fact, words: str) -> None:
    with audit_unguarded():
        Fact.objects.filter(pk=fact.pk).update(text=words)
    assert problems() == {"has other words than the audit tells of"}


def test_an_episode_that_was_rewritten_planted_or_removed_is_found(principal: Principal) -> None:
    session = start_session(principal).id
    said = [remember_episode(principal, session_id=session, text=text).memory_id for text in ("I row", "I sail")]
    with audit_unguarded():
        Episode.objects.filter(pk=said[0]).update(text="I fly")
        Episode.objects.filter(pk=said[1]).delete()
        Episode.objects.create(
            tenant_id=principal.tenant_id, user_id=principal.user_id, session_id=session, text="I swim",
            content_hash="", sequence=9, ordinal=9, happened_at="2026-01-01T00:00:00Z",
        )  # fmt: skip
    assert problems() == {
        "has other words than the audit tells of",
        "is not there although the audit tells of no erasure",
        "was written without an audit event",
    }


def test_what_a_member_said_is_found_changed_in_the_transcript(principal: Principal, other_member: Principal) -> None:
    mine, theirs = (begin_turn(member, text="I row on Sundays") for member in (principal, other_member))
    finish_turn(principal, session_id=mine.session_id, turn=mine.turn, text="Noted.")
    assert problems() == set()
    Message.objects.of(principal).filter(pk=mine.message_id).update(text="I never row")
    (fault,) = verify_chains().faults
    assert (fault.memory_id, fault.problem) == (mine.episode_id, "has other words in the transcript")
    assert verify_owner(Owner(other_member.tenant_id, other_member.user_id)).ok
    assert theirs.episode_id is not None
    forget(other_member, kind=Kind.EPISODIC, memory_id=theirs.episode_id)
    assert {fault.memory_id for fault in verify_chains().faults} == {mine.episode_id}


def test_a_catalog_entry_that_was_rewritten_is_found(admin_principal: Principal) -> None:
    entry = remember_catalog_entry(admin_principal, title="Leave", text="Ask two weeks ahead").memory_id
    with audit_unguarded():
        CatalogEntry.objects.filter(pk=entry).update(text="Never")
    (fault,) = verify_owner(Owner(admin_principal.tenant_id, None)).faults
    assert (fault.kind, fault.problem) == (Kind.CATALOG, "has other words than the audit tells of")


def test_the_rows_of_a_page_are_verified_alone(fact: Fact, principal: Principal, other_member: Principal) -> None:
    other = remember_fact(principal, text="Keeps ferrets").memory_id
    with audit_unguarded():
        rewrite(fact)
    owner = Owner(principal.tenant_id, principal.user_id)
    assert verify_rows(Kind.SEMANTIC, owner, [other]).ok
    assert not verify_rows(Kind.SEMANTIC, owner, [fact.pk]).ok
