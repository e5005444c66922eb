"""`manage.py verify_chains`: quiet when all is well, exit code 1 and ids when not."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.memories.management.conftest import Run

pytestmark = pytest.mark.django_db


def test_whole_chains_are_counted(run: Run, principal: Principal) -> None:
    for city in ("Bristol", "Leeds"):
        remember_fact(principal, text=f"Lives in {city}", key="home_city")
    assert run("verify_chains") == "All chains are whole: 2 facts and playbooks, 1 links.\n"
    whole = {"ok": True, "rows": 2, "links": 1, "faults": [], "first_bad": []}
    assert json.loads(run("verify_chains", "--json")) == whole


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_broken_chain_ends_with_code_1_and_names_the_row_but_no_text(
    capsys: pytest.CaptureFixture[str], principal: Principal, membership: Membership, arguments: tuple[str, ...]
) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city").memory_id
    remember_fact(principal, text="Lives in Leeds", key="home_city")
    Fact.objects.filter(pk=old).update(superseded_at="2001-01-01T00:00:00Z")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_chains", *arguments)
    said = capsys.readouterr().out
    event = AuditEvent.objects.get(target_id=old, action="fact.superseded")
    assert ended.value.code == 1
    assert str(old) in said and str(event.pk) in said
    if "--json" in arguments:
        told = {"chain": event.chain, "sequence": event.sequence, "id": str(event.pk)}
        assert (json.loads(said)["faults"][0]["event"], json.loads(said)["first_bad"]) == (told, [told])
    else:
        assert f"fact {old} " in said and "semantic" not in said
        assert f"{event.chain}: first bad event {event.sequence} (id {event.pk})." in said
    assert "Bristol" not in said
