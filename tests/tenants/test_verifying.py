"""Proofs of chains are kept, found again, and let go of; the latest of each chain stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tenants.audit.chain import owner_chain
from tenants.audit.verification import KEPT, broken, keep, latest, latest_of, prove, proven_since, prune
from tenants.models import AuditEvent, ChainCheck, Checked
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.factories import make_membership
from tests.tenants.audit_events import append, execute

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain(principal: Principal) -> str:
    append(principal, "fact.created", "fact.pinned", "fact.unpinned")
    return owner_chain(principal.tenant_id, principal.user_id)


def test_a_whole_chain_is_kept_as_good_with_its_digest_time_and_prover(chain: str) -> None:
    auditor = make_membership(role="auditor").user
    check = prove(chain, auditor)
    assert (check.ok, check.count, check.erased, check.first_bad) == (True, 3, 0, None)
    assert check.digest == AuditEvent.objects.get(sequence=3).digest
    assert check.took_ms > 0
    assert latest(chain) == check
    assert check.checked_by == auditor


def test_tampering_is_kept_with_the_first_bad_event(chain: str) -> None:
    event = AuditEvent.objects.get(sequence=2)
    with audit_unguarded():
        execute("UPDATE tenants_auditevent SET action = 'x' WHERE sequence = 2")
    check = prove(chain)
    assert (check.ok, check.count, check.first_bad, check.event_id) == (False, 1, 2, event.id)
    assert check.reason == "the event was changed"
    assert list(broken()) == [check]


def test_a_chain_that_was_mended_is_not_broken_any_more(chain: str) -> None:
    keep(chain, Checked.AUDIT, ChainCheck(ok=False, count=1, reason="bad"), took_ms=1.0)
    assert broken(Checked.AUDIT).count() == 1
    assert broken(Checked.SUPERSESSION).count() == 0
    prove(chain)
    assert not broken().exists()


def test_the_latest_of_many_chains_is_found_by_what_was_proven(chain: str) -> None:
    keep(chain, Checked.SUPERSESSION, ChainCheck(ok=True, count=7), took_ms=1.0)
    keep("tenant:other", Checked.AUDIT, ChainCheck(ok=True, count=1), took_ms=1.0)
    prove(chain)
    last = prove(chain)
    assert latest_of([chain, "tenant:none"]) == {chain: last}
    assert latest_of([chain], Checked.SUPERSESSION)[chain].count == 7
    assert proven_since(timezone.now() - timedelta(minutes=1), Checked.SUPERSESSION) == {chain}
    assert proven_since(timezone.now() + timedelta(minutes=1), Checked.AUDIT) == set()


def test_old_proofs_go_but_for_the_latest_of_each_chain(chain: str) -> None:
    old = [prove(chain) for _ in range(2)]
    alone = keep(chain, Checked.SUPERSESSION, ChainCheck(ok=True, count=7), took_ms=1.0)
    ChainCheck.objects.update(checked_at=timezone.now() - KEPT - timedelta(hours=1))
    fresh = prove(chain)
    assert prune(timezone.now()) == len(old)
    assert set(ChainCheck.objects.all()) == {alone, fresh}
