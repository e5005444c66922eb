"""Proofs of supersession are kept for each owner; once a day all chains are proven, and what is broken is told."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memories.models import Fact
from memories.selectors.history.chains import chain_of_owner
from memories.services import chain_proofs
from memories.services.chain_proofs import prove_daily, prove_supersession
from memories.services.facts.remember import remember_fact
from memories.types import Owner, Scope
from memoryhub.health import PartState
from memoryhub.jobs import JobResult
from tenants.apps import record_is_whole
from tenants.audit.anchoring import anchor
from tenants.audit.verification import KEPT, TRIGGERS, broken, latest
from tenants.models import AuditEvent, AuditHead, AuditPayload, ChainCheck, Checked
from tenants.principal import Principal
from tests.audit import drop_triggers, install_triggers
from tests.memories.services.test_collection import at_work
from tests.serving_role import as_owner

pytestmark = pytest.mark.django_db


def moved(principal: Principal, *cities: str) -> list[Fact]:
    for city in cities:
        remember_fact(principal, text=f"Lives in {city}", key="home_city")
    return list(Fact.objects.of(principal).order_by("learned_at"))


def owner(principal: Principal) -> Owner:
    return Owner(principal.tenant_id, principal.user_id)


def test_one_owner_is_proven_alone(principal: Principal, other_member: Principal) -> None:
    moved(principal, "Bristol", "Leeds")
    Fact.objects.filter(pk=moved(other_member, "Cork", "Sligo")[0].pk).update(superseded_by=None)
    good, bad = prove_supersession(owner(principal)), prove_supersession(owner(other_member))
    assert (good.ok, good.count, bad.ok) == (True, 2, False)
    assert latest(chain_of_owner(owner(principal)), Checked.SUPERSESSION) == good


def test_a_chain_link_that_was_changed_is_kept_with_the_event_that_tells_of_it_and_logged_by_ids(
    principal: Principal, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = moved(principal, "Bristol", "Leeds", "York")
    Fact.objects.filter(pk=first.pk).update(superseded_by=third.pk)
    event = AuditEvent.objects.get(target_id=first.pk, action="fact.superseded")
    with caplog.at_level(logging.ERROR):
        prove_daily()
    check = prove_supersession(owner(principal))
    assert (check.first_bad, check.event_id, check.count) == (event.sequence, event.pk, 2)
    assert check.reason == f"semantic {first.pk} has another successor than the audit tells of, and 1 more"
    assert str(second.pk) not in check.reason
    assert check.reason in caplog.text and "Bristol" not in caplog.text


@pytest.mark.parametrize("check", ["prove", "prove_supersession"])
def test_a_chain_whose_check_fails_counts_as_broken_and_all_others_are_proven(
    principal: Principal, other_member: Principal, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    for member in (principal, other_member):
        moved(member, "Bristol", "Leeds")
    whole, bad = getattr(chain_proofs, check), min(chain_of_owner(owner(each)) for each in (principal, other_member))

    def fail(what: str | Owner, **known: object) -> ChainCheck:
        if (what if isinstance(what, str) else chain_of_owner(what)) == bad:
            raise RecursionError("Lives in Bristol")
        checked: ChainCheck = whole(what, **known)
        return checked

    monkeypatch.setattr(chain_proofs, check, fail)
    assert prove_daily() is JobResult.DONE
    broken = ChainCheck.objects.get(ok=False)
    assert broken.chain == bad and "RecursionError" in broken.reason and "Bristol" not in broken.reason
    assert ChainCheck.objects.filter(ok=True).count() >= 3


def test_what_is_shared_has_a_proof_of_its_own(admin_principal: Principal) -> None:
    remember_fact(admin_principal, text="We close at five", key="hours", scope=Scope.TENANT)
    check = prove_supersession(Owner(admin_principal.tenant_id, None))
    assert (check.ok, check.count, check.chain) == (True, 1, f"tenant:{admin_principal.tenant_id}")
    assert prove_supersession(Owner(None, None)).chain == "platform"


def test_every_chain_is_proven_once_a_day_and_old_proofs_are_let_go_of(
    principal: Principal, other_member: Principal
) -> None:
    moved(principal, "Bristol", "Leeds")
    moved(other_member, "Cork")
    prove_daily()
    audits = ChainCheck.objects.filter(what=Checked.AUDIT).values_list("chain", flat=True)
    owners = ChainCheck.objects.filter(what=Checked.SUPERSESSION).values_list("chain", flat=True)
    assert sorted(audits) == sorted(AuditHead.objects.values_list("chain", flat=True))
    assert sorted(owners) == sorted(chain_of_owner(owner(each)) for each in (principal, other_member))
    once = ChainCheck.objects.count()
    for age, left in ((timedelta(0), once), (timedelta(days=1), 2 * once), (KEPT + timedelta(days=1), once)):
        ChainCheck.objects.update(checked_at=timezone.now() - age)
        prove_daily()
        assert ChainCheck.objects.count() == left


def test_a_proof_that_runs_long_asks_to_run_again(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(principal, "Bristol")
    monkeypatch.setattr(chain_proofs, "RUN_SECONDS", 0)
    assert chain_proofs.prove_daily() is JobResult.MORE
    assert ChainCheck.objects.count() == 0


def test_two_processes_do_not_prove_at_once(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(principal, "Bristol")

    monkeypatch.setattr(chain_proofs, "advisory_lock", at_work)
    prove_daily()
    assert not ChainCheck.objects.exists()


def test_the_daily_proof_misses_a_chain_and_a_trigger_and_readyz_says_so(
    principal: Principal, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    chain = chain_of_owner(owner(principal))
    moved(principal, "Bristol")
    anchor()
    assert record_is_whole() is PartState.OK
    drop_triggers()
    with as_owner():
        for model in (AuditPayload, AuditEvent, AuditHead):
            column = "event__chain" if model is AuditPayload else "chain"
            model.objects.filter(**{column: chain}).delete()
    assert record_is_whole() is PartState.BROKEN
    with caplog.at_level(logging.ERROR):
        prove_daily()
    install_triggers()
    assert "The trigger audit_event_is_not_deleted is missing or disabled." in caplog.messages
    assert any("the chain is gone, and its head" in each for each in caplog.messages)
    assert {check.chain for check in broken()} == {chain, TRIGGERS}
    response = client.get("/readyz")
    others = {state for name, state in response.json().items() if name != "record"}
    assert response.json()["record"] == "broken" and (response.status_code == 200 or others != {"ok"})
    prove_daily()
    assert {check.chain for check in broken()} == {chain}
