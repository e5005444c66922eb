"""The verification of everything of a tenant, its certificate, and the check of an uploaded file."""

from __future__ import annotations

import io
import json
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from memories.models import Fact
from memories.services import tenant_checks
from memories.services.tenant_checks import certificate_of, run_due
from memoryhub.jobs import JobResult
from memoryhub.middleware import refusal
from memoryhub.signing.archive import genuine
from tenants.auditors import TenantCheck
from tenants.models import AuditEvent, AuditPayload, Membership, Tenant
from tenants.principal import Principal
from tests.audit import audit_unguarded, drop_triggers
from tests.factories import make_membership
from tests.memories.services.reviewing import say
from tests.memories.staff.conftest import browser_of
from tests.memories.staff.looking import words

CHECKS, FILE = "/admin/memories/audit/verification/", "/admin/memories/audit/file/"


def verified(browser: Client) -> TenantCheck:
    """The whole tenant, by the button and the job."""
    answer = browser.post(CHECKS)
    assert run_due() is JobResult.DONE
    check = TenantCheck.objects.latest("asked_at")
    assert answer["Location"] == reverse("staff:tenant_check", args=[check.pk])
    return check


def certificate(browser: Client, check: TenantCheck) -> bytes:
    answer: Any = browser.post(reverse("staff:certificate", args=[check.pk]))
    return b"".join(answer.streaming_content)


def told(browser: Client, content: bytes, name: str = "export.zip") -> str:
    return words(browser.post(FILE, {"file": SimpleUploadedFile(name, content)}))


def test_a_certificate_says_what_was_verified_and_verifies(
    auditor: Client, principal: Principal, other_tenant_member: Principal, tmp_path: Path
) -> None:
    say(principal, "Lives in Hull")
    say(other_tenant_member, "Lives in Leeds")
    check = verified(auditor)
    assert check.intact and not any(str(other_tenant_member.tenant_id) in each["chain"] for each in check.results)
    archive = certificate(auditor, check)
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        said = json.loads(zipped.read("certificate.json"))
        printed = " ".join(PdfReader(io.BytesIO(zipped.read("certificate.pdf"))).pages[0].extract_text().split())
    assert said["verdict"] == "intact" and said["memories"]["compared"] == 1 and said["guards"] == "present"
    assert (
        "Intact: everything" in printed
        and said["results_sha256"] in printed.replace(" ", "")
        and "Page 1 of 1" in printed
    )
    (tmp_path / "certificate.zip").write_bytes(archive)
    out = StringIO()
    call_command("verify_export", str(tmp_path / "certificate.zip"), stdout=out)
    assert out.getvalue().startswith("Genuine: certificate") and "Verdict of the certificate: intact." in out.getvalue()
    event = AuditEvent.objects.get(action="audit.certified")
    assert event.payload.data["after"]["sha256"] == said["results_sha256"]
    assert AuditEvent.objects.filter(action="certificate.downloaded", target_id=check.pk).count() == 1


def test_a_downloaded_certificate_is_no_export_of_the_audit_log(auditor: Client) -> None:
    certificate(auditor, verified(auditor))
    log = words(auditor.get(reverse("admin:tenants_auditevent_changelist")))
    assert "downloaded a certificate of verification" in log and "exported the audit log" not in log
    today = f"{timezone.now():%Y-%m-%d}"
    report = auditor.post("/admin/memories/audit/reports/", {"since": today, "until": today})
    sections = {section.title: section.total for section, _lines in auditor.get(report["Location"]).context["sections"]}
    assert sections["Exports"] == 0


def test_what_was_tampered_with_is_on_the_page_and_in_the_certificate(auditor: Client, principal: Principal) -> None:
    fact = say(principal, "Lives in Hull")
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=fact.pk).update(text="Lives in Leeds")
    check = verified(auditor)
    text = words(auditor.get(reverse("staff:tenant_check", args=[check.pk])))
    assert "Broken: something of this organisation was changed" in text and "has other words" in text
    assert "Leeds" not in text and not check.intact
    with genuine(io.BytesIO(certificate(auditor, check))) as opened:
        assert opened.manifest["verdict"] == "broken"


def test_chains_that_no_anchor_states_yet_are_told(auditor: Client, principal: Principal) -> None:
    say(principal, "Lives in Hull")
    page = auditor.get(reverse("staff:tenant_check", args=[verified(auditor).pk]))
    chains = page.context["certificate"]["audit_log"]["chains"]
    assert f"0 of {chains}" in words(page) and "in no anchor yet" in words(page)


def test_the_list_names_the_result_of_each_verification(auditor: Client, principal: Principal) -> None:
    fact = say(principal, "Lives in Hull")
    verified(auditor)
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=fact.pk).update(text="Lives in Leeds")
    verified(auditor)
    auditor.post(CHECKS)
    running, broken, intact = auditor.get(CHECKS).context["checks"]
    assert intact["intact"] and not intact.get("failures")
    assert (broken["intact"], broken["failures"], broken["not_made"]) == (False, 1, 0)
    assert not running["intact"] and "failures" not in running
    assert "broken 1 failure" in words(auditor.get(CHECKS))


def test_a_check_that_could_not_be_made_is_no_failure(
    auditor: Client, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(principal, "Lives in Hull")

    def fail(*_args: object, **_kwargs: object) -> None:
        raise ValueError

    monkeypatch.setattr(tenant_checks, "prove_supersession", fail)
    check = verified(auditor)
    assert "1 check could not be made" in words(auditor.get(CHECKS))
    page = auditor.get(reverse("staff:tenant_check", args=[check.pk]))
    assert page.context["failed"][0]["reason"].startswith("The check could not be made (ValueError")
    assert page.context["alarms"] == ["1 check could not be made."] and page.context["failures"] == 0
    archive = certificate(auditor, check)
    with genuine(io.BytesIO(archive)) as opened:
        assert opened.manifest["verdict"] == certificate_of(check)["verdict"] == "incomplete"
    assert "Certificate: incomplete" in told(auditor, archive)


def test_a_missing_trigger_breaks_the_certificate(auditor: Client, principal: Principal) -> None:
    say(principal, "Lives in Hull")
    drop_triggers()
    check = verified(auditor)
    assert not check.failed and not check.intact and "audit_event_is_not_deleted" in " ".join(check.guards)


def test_a_run_that_ends_early_is_continued(
    auditor: Client, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(principal, "Lives in Hull")
    auditor.post(CHECKS)
    first = iter([0.0, 0.0, 1.0])
    monkeypatch.setattr("memories.services.tenant_checks.RUN_SECONDS", 0.5)
    monkeypatch.setattr("memories.services.tenant_checks.time.monotonic", lambda: next(first, 1.0))
    assert run_due() is JobResult.MORE
    check = TenantCheck.objects.get()
    assert check.finished_at is None and check.total > len(check.results)
    assert "chains verified" in words(auditor.get(reverse("staff:tenant_check", args=[check.pk])))
    assert auditor.post(CHECKS)["Location"].endswith(f"{check.pk}/")  # the one that runs
    monkeypatch.undo()
    assert run_due() is JobResult.DONE
    check.refresh_from_db()
    assert check.intact and len(check.results) == check.total


def test_a_check_that_fails_does_not_stop_the_others(auditor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = TenantCheck.objects.create(tenant=make_membership().tenant, asked_by=None)
    auditor.post(CHECKS)
    steps = tenant_checks._steps

    def broken(check: TenantCheck, known: Any) -> Any:
        if check.pk == failing.pk:
            raise ValueError
        return steps(check, known)

    monkeypatch.setattr(tenant_checks, "_steps", broken)
    run_due()
    assert list(TenantCheck.objects.filter(finished_at=None)) == [failing]


def test_a_member_page_shouts_what_a_verification_found(
    auditor: Client, support: Client, principal: Principal, membership: Membership
) -> None:
    fact = say(principal, "Lives in Hull")
    page = reverse("staff:inspector", args=[membership.pk])
    assert "Do not rely on this page" not in words(support.get(page))
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=fact.pk).update(confidence=F("confidence") / 2)
    verified(auditor)
    assert "Do not rely on this page" in words(support.get(page))
    assert "Do not rely on this page" in words(auditor.get(reverse("staff:histories"), {"member": "Ada"}))


def test_an_uploaded_export_is_checked_and_not_stored(auditor: Client, principal: Principal) -> None:
    say(principal, "Lives in Hull")
    archive = certificate(auditor, verified(auditor))
    events = AuditEvent.objects.count()
    text = told(auditor, archive)
    assert "genuine" in text and "Certificate: intact" in text and "not genuine" not in text
    exported: Any = auditor.post(reverse("admin:tenants_auditevent_export"))
    text = told(auditor, b"".join(exported.streaming_content))
    assert "digests were computed again and fit" in text
    assert AuditEvent.objects.count() == events + 1  # the export


def test_a_changed_file_is_refused(auditor: Client, principal: Principal) -> None:
    archive = certificate(auditor, verified(auditor))
    changed = archive.replace(b'"intact"', b'"broken"')
    assert changed != archive
    for wrong in (archive[:-30], changed, b"PK" + bytes(60), _bomb(), _lying(archive)):
        assert "not genuine" in told(auditor, wrong)
    assert "Choose a file" in words(auditor.post(FILE))


def _bomb() -> bytes:
    """A zip whose entry unpacks to 200 MB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("manifest.json", bytes(200 * 1024 * 1024))
        zipped.writestr("manifest.sig", "x")
    return out.getvalue()


def _lying(archive: bytes) -> bytes:
    """The signed manifest with another, larger file under a name of it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, bytes(50 * 1024 * 1024) if info.filename == "chains.jsonl" else old.read(info))
    return out.getvalue()


def test_a_file_of_another_tenant_is_refused_and_nothing_of_it_told(
    auditor: Client, principal: Principal, other_tenant_member: Principal
) -> None:
    tenant = Tenant.objects.get(pk=other_tenant_member.tenant_id)
    other = browser_of(tenant, "auditor")
    foreign = certificate(other, verified(other))
    text = told(auditor, foreign)
    assert "It is no export of this organisation" in text
    assert tenant.name not in text and str(tenant.pk) not in text
    assert "genuine" in told(other, foreign)


def test_only_this_page_takes_a_file_up_to_its_limit(support: Client) -> None:
    sent = {"CONTENT_TYPE": "multipart/form-data; boundary=x", "HTTP_COOKIE": f"{settings.SESSION_COOKIE_NAME}=a"}
    assert refusal({**sent, "PATH_INFO": CHECKS, "CONTENT_LENGTH": "100"}) is not None
    assert refusal({**sent, "PATH_INFO": FILE, "CONTENT_LENGTH": str(20 * 1024**2)}) is None
    assert refusal({**sent, "PATH_INFO": FILE, "CONTENT_LENGTH": str(26 * 1024**2)}) is not None
    assert support.post(FILE, {"file": SimpleUploadedFile("a.zip", b"x")}).status_code == 403


def test_the_form_wants_its_token(tenant: Tenant) -> None:
    membership = make_membership(tenant, role="auditor")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(membership.user)
    assert browser.post(FILE, {"file": SimpleUploadedFile("a.zip", b"x")}).status_code in (302, 403)


def test_a_certificate_that_the_log_does_not_know_is_said_to_be(auditor: Client, principal: Principal) -> None:
    archive = certificate(auditor, verified(auditor))
    with audit_unguarded():
        event = AuditEvent.objects.get(action="audit.certified")
        AuditPayload.objects.filter(event=event).delete()
        event.delete()
    assert "The audit log has no event of this export" in told(auditor, archive)
