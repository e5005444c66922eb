"""Hourly anchors of the audit log, by which a chain that is gone is missed."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from memoryhub.health import PartState
from memoryhub.signing.keys import verify
from tenants.apps import record_is_whole
from tenants.audit.anchors import ANCHORS, anchor, anchored, anchored_at, file_faults
from tenants.audit.chain import owner_chain
from tenants.audit.digests import canonical_json
from tenants.audit.verification import accept_file_faults, anchor_and_guard, verify_all, verify_chain
from tenants.models import AuditErasure, AuditEvent, AuditHead, AuditPayload
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.tenants.audit_events import append, execute


@pytest.fixture
def chain(principal: Principal) -> str:
    """A chain with three events."""
    append(principal, *["fact.created"] * 3)
    return owner_chain(principal.tenant_id, principal.user_id)


@pytest.fixture
def file(tmp_path: Path, settings: Settings) -> Path:
    """The anchor file."""
    settings.MEMORYHUB_ANCHOR_FILE = tmp_path / "anchors.jsonl"
    return tmp_path / "anchors.jsonl"


def remove(chain: str, after: int = 0) -> None:
    """Remove a chain's events after this one, and the head with them or back to it; the seal is as it was there."""
    with audit_unguarded():
        for model in (AuditPayload, AuditErasure):
            model.objects.filter(event__chain=chain, event__sequence__gt=after).delete()
        AuditEvent.objects.filter(chain=chain, sequence__gt=after).delete()
        AuditHead.objects.filter(chain=chain).delete()


def broken() -> dict[str, str]:
    return {report.chain: report.reason for report in verify_all() if not report.ok}


def test_a_chain_that_is_gone_with_its_head_is_missed(chain: str) -> None:
    assert anchor() == 1
    remove(chain)
    assert list(broken()) == [chain]
    assert broken()[chain].startswith("the chain is gone, and its head: the anchor of 2")
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=(out := StringIO()))
    assert "names 3 events" in out.getvalue()


def test_an_old_state_of_a_chain_that_is_put_back_is_missed(chain: str, principal: Principal) -> None:
    old = AuditHead.objects.get(chain=chain)
    append(principal, "fact.forgotten")
    anchor()
    remove(chain, after=3)
    old.save(force_insert=True)
    assert "cut off" in broken()[chain] and "names 4 events" in broken()[chain]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take times alone")
def test_an_anchor_that_cannot_be_read_hides_no_other(chain: str, principal: Principal) -> None:
    anchor()
    append(principal, "fact.pinned")
    anchor()
    remove(chain)
    with audit_unguarded():
        execute(
            "UPDATE tenants_auditevent SET created_at = '9999-99-99 00:00' WHERE chain = 'anchors' AND sequence = 2"
        )
    assert broken()[ANCHORS] == "the event cannot be read"
    assert "names 3 events" in broken()[chain]


def test_a_forged_anchor_accuses_its_own_chain_alone(chain: str) -> None:
    anchor()
    with audit_unguarded():
        AuditPayload.objects.filter(event__chain=ANCHORS).update(
            document='{"after":{"heads":[["tenant:nobody",7,"x"]]},"before":null,"reason":""}'
        )
    assert broken() == {ANCHORS: "the payload was changed"}


def test_only_chains_that_grew_are_anchored_again(chain: str, principal: Principal, other_member: Principal) -> None:
    append(other_member, "fact.created")
    assert anchor() == 2
    append(principal, "fact.pinned")
    anchor()
    assert anchored()[chain].length == 4
    assert anchored_at(chain, newest=1) == anchored_at(chain) == anchored()[chain]
    assert broken() == {}


def test_a_head_that_somebody_set_is_not_anchored(chain: str) -> None:
    with audit_unguarded():
        AuditHead.objects.filter(chain=chain).update(digest="0" * 64)
    assert anchor() == 0


def test_each_anchor_is_a_signed_line_of_the_log(chain: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tenants.audit.anchors"):
        anchor()
    stated, _, signature = caplog.messages[0].removeprefix("Anchor of the audit log: ").rpartition(" ")
    assert json.loads(stated)["digest"] == AuditEvent.objects.get(chain=ANCHORS).digest
    assert verify(canonical_json(json.loads(stated)).encode(), signature)


def test_the_file_gets_every_anchor_once_also_those_before_it(chain: str, principal: Principal, file: Path) -> None:
    for _ in range(3):
        append(principal, "fact.pinned")
        anchor()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["anchor"]["sequence"] for line in lines] == [1, 2, 3]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file_faults() == []


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        pytest.param(lambda text: text.replace('"sequence":1', '"sequence":7'), "Line 1 .* was changed", id="changed"),
        pytest.param(lambda text: "".join(text.splitlines(keepends=True)[1:]), "is not anchor 1", id="removed"),
        pytest.param(lambda text: text + "{}\n", "Line 3 .* was changed", id="added"),
    ],
)
def test_a_line_of_the_file_that_was_tampered_with_is_found(
    chain: str, principal: Principal, file: Path, damage: Callable[[str], str], finding: str
) -> None:
    anchor()
    append(principal, "fact.pinned")
    anchor()
    file.write_text(damage(file.read_text()))
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=(out := StringIO()))
    assert re.search(finding, out.getvalue())


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        pytest.param(Path.unlink, "The anchor file lacks the anchors 1 to 3.", id="deleted"),
        pytest.param(lambda file: file.write_text(""), "The anchor file lacks the anchors 1 to 3.", id="emptied"),
        pytest.param(
            lambda file: file.write_text("".join(file.read_text().splitlines(keepends=True)[:2])),
            "The anchor file lacks the anchors 3 to 3.",
            id="shortened",
        ),
    ],
)
def test_a_file_that_was_cut_is_found_until_an_operator_accepts_it(
    chain: str,
    principal: Principal,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], object],
    finding: str,
) -> None:
    monkeypatch.setattr("tenants.audit.anchors._WRITTEN_WITHIN", timedelta(0))
    for _ in range(3):
        append(principal, "fact.pinned")
        anchor_and_guard()
    assert record_is_whole() is PartState.OK
    damage(file)
    assert file_faults() == [finding]
    assert anchor_and_guard() == 1, "the chain grew in this hour"
    lines = [json.loads(line)["anchor"] for line in file.read_text().splitlines()]
    assert [line["sequence"] for line in lines] == [1, 2, 3, 4], "the lines are there again"
    assert lines[-1]["file"] == {"faults": [finding]}, "and a line says so"
    anchor_and_guard()
    assert file_faults() == [finding] and record_is_whole() is PartState.BROKEN
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=(out := StringIO()))
    assert finding in out.getvalue()
    call_command("verify_audit", "--accept-anchor-file", stdout=(out := StringIO()))
    assert finding in out.getvalue()
    assert file_faults() == [] and record_is_whole() is PartState.OK
    assert json.loads(file.read_text().splitlines()[-1])["anchor"]["file"] == {"accepted": [finding]}
    damage(file)
    assert len(file_faults()) == 1, "what was accepted once is found again"


def test_a_changed_line_that_was_accepted_may_not_change_again(chain: str, principal: Principal, file: Path) -> None:
    anchor()
    file.write_text("{}\n")
    (found,) = file_faults()
    assert accept_file_faults() == [found] and file_faults() == []
    file.write_text(file.read_text().replace("{}", '{"a":1}'))
    assert "Line 1 of the anchor file was changed" in file_faults()[0]


def test_a_file_that_is_set_later_gets_the_anchors_before_it(
    chain: str, principal: Principal, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenants.audit.anchors._WRITTEN_WITHIN", timedelta(0))
    anchor()
    settings.MEMORYHUB_ANCHOR_FILE = tmp_path / "anchors.jsonl"
    append(principal, "fact.pinned")
    anchor()
    assert len(settings.MEMORYHUB_ANCHOR_FILE.read_text().splitlines()) == 2
    assert file_faults() == []


def test_the_file_convicts_who_puts_back_the_database_with_its_anchors(
    chain: str, principal: Principal, file: Path
) -> None:
    old = AuditHead.objects.get(chain=chain)
    append(principal, "fact.forgotten")
    anchor()
    for name in (ANCHORS, chain):
        remove(name, after=3 if name == chain else 0)
    old.save(force_insert=True)
    assert verify_chain(chain).ok and "cut off" in broken()[chain]
    assert "is in the anchor file, and not in the database" in file_faults()[0]


def test_a_file_that_cannot_be_written_loses_no_anchor(
    chain: str, principal: Principal, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.mkdir()
    anchor()
    assert "The anchor file takes no anchor: Is a directory." in caplog.messages
    file.rmdir()
    append(principal, "fact.pinned")
    anchor()
    assert len(file.read_text().splitlines()) == 2
