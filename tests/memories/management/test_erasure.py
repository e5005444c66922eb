"""`manage.py erasure`: carries out, says how it stands, and verifies receipts: genuine, changed, forged, outdated."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from memories.models import ErasureRequest, Fact, RequestState
from memories.services.erasure.receipt import stored_receipt
from memories.services.erasure.requests import ask_erasure
from memories.services.facts.remember import remember_fact
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, Principal
from tests.audit import audit_unguarded

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> Any:
    out = StringIO()
    call_command("erasure", *arguments, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def refused(*arguments: str) -> str:
    """The troubles that the command prints before it ends with code 1."""
    out = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("erasure", *arguments, "--json", stdout=out, stderr=StringIO())
    assert end.value.code == 1
    return " ".join(json.loads(out.getvalue())["troubles"])


@pytest.fixture
def erasure(principal: Principal, membership: Membership) -> ErasureRequest:
    remember_fact(principal, text="Plays the cello")
    return ask_erasure(SYSTEM, membership_id=membership.pk, reason="asked by letter")


def test_it_carries_out_what_is_approved_and_says_so(erasure: ErasureRequest) -> None:
    (before,) = said("status")["erasures"]
    assert before["state"] == RequestState.APPROVED
    (after,) = said("run")["erasures"]
    assert (after["state"], after["erased"]["facts"]) == (RequestState.DONE, 1)
    assert said("run")["erasures"] == []
    assert said("run", str(erasure.pk))["erasures"] == [after]


def test_a_genuine_receipt_verifies_by_id_and_by_file(erasure: ErasureRequest, tmp_path: Path) -> None:
    said("run", str(erasure.pk))
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(stored_receipt(erasure.pk), indent=2))
    for named in (str(erasure.pk), str(file)):
        verdict = said("verify", named)
        assert verdict["ok"]
        assert {each["found"] for each in verdict["asked"]} == {0}


def test_a_changed_or_forged_receipt_does_not(erasure: ErasureRequest, tmp_path: Path) -> None:
    said("run")
    file = tmp_path / "receipt.json"
    genuine = stored_receipt(erasure.pk)
    file.write_text(json.dumps(genuine | {"receipt": genuine["receipt"] | {"promoted_copies": 7}}))
    assert "changed" in refused("verify", str(file))
    file.write_text(json.dumps(genuine | {"signature": genuine["signature"][:-6] + "AAAA=="}))
    assert "signature" in refused("verify", str(file))


def test_what_came_back_is_found(erasure: ErasureRequest, membership: Membership) -> None:
    said("run")
    Fact.objects.create(tenant=membership.tenant, user=membership.user, text="back", content_hash="x")
    Membership.objects.update(external_id="crm-7")
    troubles = refused("verify", str(erasure.pk))
    assert "1 left in facts" in troubles and "1 left in names" in troubles


def test_a_chain_that_was_tampered_with_is_found(erasure: ErasureRequest) -> None:
    said("run")
    with audit_unguarded():
        AuditEvent.objects.filter(action="fact.created").update(action="fact.retired")
    assert "audit chain" in refused("verify", str(erasure.pk))


def test_what_is_unknown_or_no_receipt_is_said_in_a_sentence(tmp_path: Path, db: None) -> None:
    for action in ("run", "status"):
        with pytest.raises(CommandError, match="no erasure"):
            said(action, str(uuid4()))
    with pytest.raises(CommandError, match="No such receipt"):
        said("verify", str(uuid4()))
    file = tmp_path / "receipt.json"
    file.write_text('{"receipt": 1}')
    with pytest.raises(CommandError, match="not a receipt"):
        said("verify", str(file))
    file.write_text("[" * 100_000)
    with pytest.raises(CommandError, match="not JSON"):
        said("verify", str(file))
