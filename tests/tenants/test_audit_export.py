"""Events leave for those who audit, recorded and signed, and verify where there is no database."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from pytest_django import DjangoAssertNumQueries, Settings

from memoryhub.signing.archive import TableFormat, genuine
from memoryhub.signing.keys import public_keys
from tenants.audit.chain import erase_some, owner_chain, tenant_chain
from tenants.audit.export import EVENTS_FILE, EXPORTED, export_audit
from tenants.audit.listing import AuditFilter, note_event_read
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditHead, AuditPayload, Membership, User
from tenants.principal import Actor, ActorKind, Principal
from tests.audit import drop_triggers
from tests.factories import make_membership
from tests.tenants.audit_events import append, execute


@pytest.fixture
def auditor(membership: Membership) -> User:
    return make_membership(membership.tenant, role="auditor", name="Olga").user


def exported(staff: User, wanted: AuditFilter, *forms: TableFormat) -> bytes:
    return b"".join(export_audit(staff, Actor(ActorKind.STAFF, staff.pk, "request-77"), wanted, forms))


def saved(folder: Path, archive: bytes) -> str:
    path = folder / "export.zip"
    path.write_bytes(archive)
    return str(path)


def events_in(archive: bytes) -> list[dict[str, Any]]:
    with genuine(io.BytesIO(archive)) as opened:
        return [json.loads(line) for line in opened.lines(EVENTS_FILE)]


def test_an_export_has_the_events_of_its_tenant_and_says_so(
    auditor: User, principal: Principal, other_member: Principal, other_tenant_member: Principal
) -> None:
    append(principal, "fact.created", "fact.pinned", text="grows leeks")
    append(other_member, "fact.created")
    append(other_tenant_member, "fact.created")
    archive = exported(auditor, AuditFilter(principal.tenant_id))
    assert {event["tenant_id"] for event in events_in(archive)} == {str(principal.tenant_id)}
    actions = [event["action"] for event in events_in(archive)]
    assert actions == ["fact.created", "fact.pinned", "fact.created", EXPORTED]
    with genuine(io.BytesIO(archive)) as opened:
        mine = next(chain for chain in opened.manifest["chains"] if str(principal.user_id) in chain["chain"])
        head = AuditHead.objects.get(chain=owner_chain(principal.tenant_id, principal.user_id))
        assert (mine["first"], mine["last"], mine["events"]) == (1, 2, 2)
        assert (mine["length"], mine["digest"]) == (head.length, head.digest)
        assert opened.manifest["by"] == {"kind": "staff", "id": str(auditor.pk), "request_id": "request-77"}


def test_that_it_was_exported_is_recorded_before_the_first_byte(auditor: User, principal: Principal) -> None:
    wanted = AuditFilter(principal.tenant_id, action="fact.created")
    pieces = export_audit(auditor, Actor(ActorKind.STAFF, auditor.pk), wanted, [TableFormat.CSV])
    event = AuditEvent.objects.get(action=EXPORTED)
    assert event.chain == tenant_chain(principal.tenant_id) and event.actor_id == auditor.pk
    assert event.payload.data["after"] == {"wanted": wanted.as_dict(), "formats": ["csv"]}
    assert next(pieces)


def test_words_leave_only_with_what_the_exporter_opened(auditor: User, principal: Principal, tmp_path: Path) -> None:
    append(principal, "fact.created", "fact.pinned", text="grows leeks")
    opened, closed = AuditEvent.objects.filter(owner_id=principal.user_id).order_by("sequence")
    note_event_read(auditor, Actor(ActorKind.STAFF, auditor.pk), opened)
    archive = exported(auditor, AuditFilter(principal.tenant_id, member=principal.user_id), TableFormat.CSV)
    found = {event["id"]: event for event in events_in(archive)}
    assert "leeks" in found[str(opened.pk)]["payload"]["document"]
    assert found[str(closed.pk)]["payload"] is None and found[str(closed.pk)]["withheld"]
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        rows = list(csv.DictReader(io.StringIO(zipped.read("audit_events.csv").decode("utf-8-sig"), newline="")))
    assert [row["reason"] for row in rows].count("(not opened)") == 1
    call_command("verify_export", saved(tmp_path, archive))


@pytest.mark.parametrize("role", ["member", "support"])
def test_other_roles_export_nothing(role: str, principal: Principal, membership: Membership) -> None:
    staff = make_membership(membership.tenant, role=role).user
    with pytest.raises(Forbidden):
        exported(staff, AuditFilter(principal.tenant_id))
    assert not AuditEvent.objects.filter(action=EXPORTED).exists()


def test_export_isolates_other_tenants(auditor: User, other_tenant_member: Principal) -> None:
    for wanted in (AuditFilter(other_tenant_member.tenant_id), AuditFilter(None)):
        with pytest.raises(Forbidden):
            exported(auditor, wanted)


def test_the_platform_exports_its_own_affairs(db: None) -> None:
    root = User.objects.create_superuser("root")
    archive = exported(root, AuditFilter(None))
    assert {event["chain"] for event in events_in(archive)} == {"platform"}


def test_csv_is_for_reading_and_defused(auditor: User, principal: Principal) -> None:
    append(principal, "fact.created", text='=HYPERLINK("http://example.org")')
    note_event_read(auditor, Actor(ActorKind.STAFF, auditor.pk), AuditEvent.objects.get())
    archive = exported(auditor, AuditFilter(principal.tenant_id, member=principal.user_id), TableFormat.CSV)
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        row, _ = csv.DictReader(io.StringIO(zipped.read("audit_events.csv").decode("utf-8-sig"), newline=""))
    assert row["action"] == "fact.created" and json.loads(row["after"]) == {"text": '=HYPERLINK("http://example.org")'}
    assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


def test_an_erased_payload_stays_erased_and_verifies(auditor: User, principal: Principal, tmp_path: Path) -> None:
    _, by = append(principal, "fact.created", "fact.forgotten", text="keeps bees")
    erase_some(AuditPayload.objects.filter(event__action="fact.created"), by=by.pk)
    archive = exported(auditor, AuditFilter(principal.tenant_id, member=principal.user_id), TableFormat.CSV)
    assert events_in(archive)[0]["payload"] is None
    call_command("verify_export", saved(tmp_path, archive), stdout=io.StringIO())


def test_verification_needs_no_database(
    auditor: User, principal: Principal, tmp_path: Path, django_assert_num_queries: DjangoAssertNumQueries,
    settings: Settings,
) -> None:  # fmt: skip
    append(principal, *["fact.created"] * 3)
    path, public = saved(tmp_path, exported(auditor, AuditFilter(principal.tenant_id))), public_keys()[0].encoded
    call_command("verify_export", path, stdout=(with_key := io.StringIO()))
    assert "All digests of 4 audit events" in with_key.getvalue()
    settings.PRODUCTION, settings.MEMORYHUB_SIGNING_KEYS = True, ()
    said, answer = io.StringIO(), io.StringIO()
    with django_assert_num_queries(0):
        call_command("verify_export", path, f"--public-key={public}", stdout=said)
        call_command("verify_export", path, f"--public-key={public}", "--json", stdout=answer)
    assert "The digests of 4 audit events need the audit key" in said.getvalue()
    assert json.loads(answer.getvalue())["ok"] is True


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param("UPDATE tenants_auditevent SET action = 'fact.pinned' WHERE sequence = 2", "event 2 of chain",
                     id="an event changed"),
        pytest.param("UPDATE tenants_auditpayload SET document = '{}'", "the payload was changed",
                     id="a payload changed"),
        pytest.param("UPDATE tenants_audithead SET digest = 'x'", "head of the chain does not match",
                     id="a head changed"),
    ],
)  # fmt: skip
def test_an_export_of_a_trail_that_was_tampered_with_names_the_event(
    change: str, told: str, auditor: User, principal: Principal, tmp_path: Path
) -> None:
    append(principal, *["fact.created"] * 3)
    drop_triggers()
    execute(change)
    archive = exported(auditor, AuditFilter(principal.tenant_id, member=principal.user_id))
    answer = io.StringIO()
    with pytest.raises(CommandError, match=told) as error:
        call_command("verify_export", saved(tmp_path, archive), "--json", stdout=answer)
    assert error.value.returncode == 1
    assert json.loads(answer.getvalue())["file"] == EVENTS_FILE


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["nowhere.zip"], "cannot be read", id="no file"),
        pytest.param(["nowhere.zip", "--public-key", "bread"], "no public key", id="no key"),
    ],
)
def test_what_cannot_be_checked_has_another_exit_code(arguments: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told) as error:
        call_command("verify_export", *arguments)
    assert error.value.returncode == 2


def test_a_database_that_fails_in_the_middle_leaves_nothing_to_verify(
    auditor: User, principal: Principal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(principal, *["fact.created"] * 5)
    whole = QuerySet.iterator

    def failing(rows: QuerySet[Any], chunk_size: int | None = None) -> Iterator[Any]:
        yield from list(whole(rows, chunk_size))[:2]
        raise ConnectionError("gone")

    monkeypatch.setattr(QuerySet, "iterator", failing)
    sent = io.BytesIO()
    with pytest.raises(ConnectionError):
        sent.writelines(export_audit(auditor, Actor(ActorKind.STAFF, auditor.pk), AuditFilter(principal.tenant_id), []))
    with pytest.raises(CommandError, match="its end is missing"):
        call_command("verify_export", saved(tmp_path, sent.getvalue()))


def test_who_audits_no_more_gets_no_manifest(auditor: User, principal: Principal, tmp_path: Path) -> None:
    append(principal, *["fact.created"] * 5)
    pieces = export_audit(auditor, Actor(ActorKind.STAFF, auditor.pk), AuditFilter(principal.tenant_id), [])
    sent = io.BytesIO()
    sent.write(next(pieces))
    Membership.objects.filter(user=auditor).update(role="support")
    with pytest.raises(Forbidden):
        sent.writelines(pieces)
    with pytest.raises(CommandError, match="its end is missing"):
        call_command("verify_export", saved(tmp_path, sent.getvalue()))
