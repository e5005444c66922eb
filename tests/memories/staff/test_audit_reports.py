"""Reports of a period, and the comparison of the audit log with the histories."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from memories.models import Fact
from memories.selectors.history.superseded import Difference, compare_superseded
from memories.services.erasure.forget import forget
from memories.services.facts.supersede import supersede
from memories.services.facts.undo import retract
from memories.types import Kind
from tenants.models import AuditEvent, ChainCheck, Checked, Membership
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.memories.services.reviewing import say
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import words

REPORTS = "/admin/memories/audit/reports/"
SUPERSEDED = "/admin/memories/audit/superseded/"
TODAY = {"since": f"{timezone.now() - timedelta(days=100):%Y-%m-%d}", "until": "2090-01-01"}


def moved(principal: Principal, where: str = "Hull") -> Fact:
    """The home city is superseded; the state that ended."""
    old = say(principal, f"Lives in {where}", key=f"home_of_{where.lower()}")
    supersede(principal, old_ids=[old.pk], text=f"Lives in York, not in {where}", reason="moved")
    return Fact.objects.of(principal).get(pk=old.pk)


def differences(principal: Principal) -> dict[object, Difference | None]:
    now = timezone.now()
    found = compare_superseded(principal.tenant_id, since=now - timedelta(days=1), until=now + timedelta(days=1))
    return {each.memory_id: each.difference for each in found.states}


def test_what_both_sides_have_is_no_difference(principal: Principal, other_tenant_member: Principal) -> None:
    old, _ = moved(principal), moved(other_tenant_member)
    assert differences(principal) == {old.pk: None}


def test_each_difference_has_its_reason(principal: Principal) -> None:
    early, gone = (moved(principal, where) for where in ("Hull", "Leeds"))
    unrecorded = say(principal, "Likes tea")
    forget(principal, kind=Kind.SEMANTIC, memory_id=gone.pk)
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=early.pk).update(
            superseded_at=timezone.now() - timedelta(days=40), learned_at=timezone.now() - timedelta(days=50)
        )
        Fact.objects.of(principal).filter(pk=unrecorded.pk).update(superseded_at=F("learned_at"), status="superseded")
    assert differences(principal) == {
        early.pk: Difference.ENDED_BEFORE,
        gone.pk: Difference.ERASED,
        unrecorded.pk: Difference.IMPORTED,
    }


def test_a_state_that_ended_no_more_is_alarming(principal: Principal) -> None:
    old = moved(principal)
    open_again = {"status": "active", "superseded_at": None, "superseded_by": None, "contradiction": "", "key": "other"}
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=old.pk).update(**open_again)
    assert differences(principal) == {old.pk: Difference.NOT_ENDED}


def test_a_row_that_vanished_is_shouted(auditor: Client, principal: Principal) -> None:
    old = moved(principal)
    with audit_unguarded():
        Fact.objects.of(principal).filter(pk=old.pk).delete()
    text = words(auditor.get(SUPERSEDED, TODAY))
    assert "Do not rely on this page" in text and "no event records its erasure" in text


def test_the_comparison_shows_no_words_and_leads_to_both_lists(auditor: Client, principal: Principal) -> None:
    moved(principal)
    answer = auditor.get(SUPERSEDED, TODAY)
    assert "home of hull" in words(answer) and "Lives in" not in words(answer)
    for _, url in [*answer.context["log_urls"], *answer.context["history_urls"]]:
        assert len(auditor.get(url).context["lines"]) == ("procedural" not in url)


def test_an_end_is_called_what_its_history_calls_it(auditor: Client, principal: Principal) -> None:
    moved(principal)
    retract(principal, kind=Kind.SEMANTIC, memory_ids=[say(principal, "Plays the cello").pk])
    outcomes = {line["how"] for line in auditor.get(SUPERSEDED, TODAY).context["lines"]}
    assert outcomes == {"replaced", "never true"}


@pytest.mark.parametrize("asked", [{"since": "3/4/2026"}, {"since": "soon"}, {"since": "2026-03-02"}])
def test_a_period_that_is_none_is_said_on_the_page(auditor: Client, asked: dict[str, str]) -> None:
    answer = auditor.get(SUPERSEDED, asked)
    assert answer.status_code == 200 and 'role="alert"' in answer.content.decode()
    answer = auditor.post(REPORTS, asked)
    assert answer.status_code == 200 and 'role="alert"' in answer.content.decode()
    assert not AuditEvent.objects.filter(action="audit.reported").exists()


def test_a_report_has_who_looked_when_and_why_as_page_and_pdf(
    auditor: Client, support: Client, at: At, principal: Principal, membership: Membership
) -> None:
    moved(principal)
    assert support.get(at("inspector")).status_code == 200
    Client().post(reverse("account_login"), {"username": membership.user.username, "password": "a guess"})
    ChainCheck.objects.create(
        chain=f"tenant:{principal.tenant_id}", what=Checked.AUDIT, ok=False, reason="a forged end"
    )
    made = auditor.post(REPORTS, TODAY)
    report = AuditEvent.objects.get(action="audit.reported")
    assert made["Location"] == reverse("staff:audit_report", args=[report.pk]) and report.chain.startswith("tenant:")
    text = words(auditor.get(made["Location"]))
    pdf = PdfReader(io.BytesIO(auditor.get(f"{made['Location']}pdf/", headers={"accept-language": "de"}).content))
    printed = " ".join(" ".join(page.extract_text() for page in pdf.pages).split())
    looked = AuditEvent.objects.get(action="memory.read").created_at
    for each in (
        "superseded home of hull",
        "looked at the memory of Ada",
        "refused a sign-in of",
        "a forged end",
        f"{looked:%H:%M:%S} UTC",
    ):
        assert each in text and each in printed
    assert "Page 1 of" in printed and "Made by" in printed and "Lives in" not in text + printed


def test_the_page_of_a_report_tells_what_broke_in_its_language(auditor: Client, principal: Principal) -> None:
    broken = {"chain": f"tenant:{principal.tenant_id}", "what": Checked.AUDIT, "ok": False}
    ChainCheck.objects.create(**broken, reason="the event was changed")
    made = auditor.post(REPORTS, TODAY)
    assert "das Ereignis wurde geändert" in words(auditor.get(made["Location"], headers={"accept-language": "de"}))


def test_the_page_of_a_report_names_what_staff_opened_in_its_language(auditor: Client, support: Client, at: At) -> None:
    assert support.get(at("inspector")).status_code == 200
    made = auditor.post(REPORTS, TODAY)
    assert "(Gedächtnis)" in words(auditor.get(made["Location"], headers={"accept-language": "de"}))


def test_the_next_report_and_the_list_begin_where_the_last_ended(auditor: Client, principal: Principal) -> None:
    address = reverse("admin:tenants_auditevent_changelist")
    assert "No report of this organisation" in words(auditor.get(address, {"since": "last-audit"}))
    moved(principal)
    auditor.post(REPORTS, TODAY)
    later = moved(principal, "Leeds")
    shown = auditor.get(address, {"since": "last-audit", "action": "fact.superseded"}).context["lines"]
    assert [line["event"].target_id for line in shown] == [later.pk]
    assert words(auditor.get(REPORTS)).count("It begins where the last report ended.") == 1


def test_the_next_report_begins_exactly_at_a_time_that_people_read(auditor: Client) -> None:
    auditor.post(REPORTS, TODAY)
    answer = auditor.get(REPORTS)
    last, asked = answer.context["last"], answer.context["asked"]
    assert asked["since"] == f"{last:%Y-%m-%d %H:%M:%S} UTC"
    auditor.post(REPORTS, asked)
    (_, __, period), _first = auditor.get(REPORTS).context["reports"]
    assert period[0] == last
