"""`manage.py verify_chains`: quiet when all is well, exit code 1 and ids when not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from tenants.models import AuditEvent, AuditPayload, Membership
from tenants.principal import Principal
from tests.audit import audit_unguarded
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
    assert str(old) in said
    assert str(event.pk) in said
    if "--json" in arguments:
        told = {"chain": event.chain, "sequence": event.sequence, "id": str(event.pk)}
        assert (json.loads(said)["faults"][0]["event"], json.loads(said)["first_bad"]) == (told, [told])
    else:
        assert f"fact {old} " in said and "semantic" not in said
        assert f"{event.chain}: first bad event {event.sequence} (id {event.pk})." in said
    assert "Bristol" not in said


_FORGED = '{"after":{"superseded_by":null},"before":null,"reason":""}'


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("event", {"action": "fact.pinned"}, "was superseded without an audit event"),
        ("event", {"owner_id": None}, "was superseded without an audit event"),
        ("payload", {"document": _FORGED}, "has another successor than the audit tells of"),
        ("payload", {"document": "unreadable"}, "has another successor than the audit tells of"),
        ("link", {"superseded_by": None}, "has another successor than the audit tells of"),
    ],
    ids=["the action of an event", "the owner of an event", "a payload", "a payload made unreadable", "a link"],
)
def test_tampering_in_the_database_is_found_at_its_event(
    capsys: pytest.CaptureFixture[str], principal: Principal, table: str, change: dict[str, Any], problem: str
) -> None:
    first, *_ = [
        remember_fact(principal, text=f"Lives in {city}", key="home_city").memory_id
        for city in ("Bristol", "Leeds", "York")
    ]
    event = AuditEvent.objects.get(target_id=first, action="fact.superseded")
    rows = {
        "event": AuditEvent.objects.filter(pk=event.pk),
        "payload": AuditPayload.objects.filter(event=event),
        "link": Fact.objects.filter(pk=first),
    }
    with audit_unguarded():
        rows[table].update(**change)
    with pytest.raises(SystemExit):
        call_command("verify_chains", "--json")
    report = json.loads(capsys.readouterr().out)
    (fault,) = report["faults"]
    assert (fault["id"], fault["problem"]) == (str(first), problem)
    if change != {"owner_id": None}:
        assert report["first_bad"] == [{"chain": event.chain, "sequence": event.sequence, "id": str(event.pk)}]
    if table != "link":
        with pytest.raises(CommandError):
            call_command("verify_audit", "--json")
        broken = next(each for each in json.loads(capsys.readouterr().out)["chains"] if not each["ok"])
        assert (broken["first_bad"], broken["event_id"]) == (event.sequence, str(event.pk))
