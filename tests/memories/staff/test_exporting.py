"""Exports from the pages of a member and of a history: downloads that verify, for those who audit."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from memories.models import Episode, ExportRequest
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn
from memories.staff.audit_links import links
from memories.types import Kind
from memoryhub.signing.archive import genuine
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import Principal, Role
from tests.factories import make_membership
from tests.memories.staff.seated import at, signed_in


@pytest.fixture
def auditor(tenant: Tenant) -> Client:
    """The browser of Olga, an auditor of `tenant`."""
    return signed_in(make_membership(tenant, role="auditor", name="Olga"))


def names_in(response: Any) -> set[str]:
    assert response.status_code == 200 and response["Content-Type"] == "application/zip"
    assert "no-store" in response["Cache-Control"] and "attachment" in response["Content-Disposition"]
    with genuine(io.BytesIO(b"".join(response.streaming_content))) as opened:
        return {entry.name for entry in opened.files}


@pytest.fixture
def hollis(tenant: Tenant) -> Client:
    """The browser of Hollis, an administrator of `tenant`."""
    return signed_in(make_membership(tenant, role="admin", name="Hollis"))


def test_an_administrator_takes_a_memory_along_once(
    hollis: Client, membership: Membership, principal: Principal
) -> None:
    remember_fact(principal, text="Bakes rye bread")
    hollis.post(at("export_ask", membership.pk), {"reason": "a claim"})
    take = at("export", ExportRequest.objects.get().pk)
    assert take in hollis.get(at("exporting", membership.pk)).content.decode()
    names = names_in(hollis.post(take, {"csv": "1"}))
    assert {"memory.jsonl", "facts.csv", "audit_events.jsonl"} <= names and "sessions.jsonl" not in names
    assert "was taken already" in hollis.post(take, follow=True).content.decode()
    assert take not in hollis.get(at("exporting", membership.pk)).content.decode()


def test_an_auditor_takes_no_memory_along_but_its_audit_log(
    auditor: Client, hollis: Client, membership: Membership, principal: Principal
) -> None:
    fact = remember_fact(principal, text="Bakes rye bread").memory_id
    page = auditor.get(at("exporting", membership.pk)).content.decode()
    assert at("export_ask", membership.pk) not in page and "Export the audit log" in page
    assert auditor.post(at("export_ask", membership.pk), {"reason": "mine"}).status_code == 403
    hollis.post(at("export_ask", membership.pk), {"reason": "a claim"})
    assert auditor.post(at("export", ExportRequest.objects.get().pk)).status_code == 403
    form = {"tenant": membership.tenant.slug, "member": str(membership.user_id), "csv": "1"}
    log = reverse("admin:tenants_auditevent_export")
    assert b"rye" not in unzipped(auditor.post(log, form))
    auditor.get(at("history", Kind.SEMANTIC.value, fact))
    assert b"rye" in unzipped(auditor.post(log, form))


def unzipped(response: Any) -> bytes:
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as zipped:
        return b"".join(zipped.read(name) for name in zipped.namelist())


def test_another_administrator_approves_on_the_same_page(
    hollis: Client, membership: Membership, principal: Principal
) -> None:
    marit = signed_in(make_membership(membership.tenant, role="admin", name="Marit"))
    hollis.post(at("export_ask", membership.pk), {"reason": "a claim"})
    request = ExportRequest.objects.get()
    assert names_in_vain(hollis.post(at("export", request.pk)))
    hollis.post(at("export_decide", request.pk), {"decision": "approve"})
    assert "1 export of a whole memory needs a second approval" in marit.get(reverse("admin:index")).content.decode()
    assert "Approve" in marit.get(at("exporting", membership.pk)).content.decode()
    marit.post(at("export_decide", request.pk), {"decision": "approve"})
    assert names_in_vain(marit.post(at("export", request.pk)))
    assert "memory.jsonl" in names_in(hollis.post(at("export", request.pk)))


def names_in_vain(response: Any) -> bool:
    return bool(response.status_code == 302)


def test_an_auditor_takes_a_history_along(auditor: Client, principal: Principal) -> None:
    fact = remember_fact(principal, text="Bakes rye bread").memory_id
    url = at("history_export", Kind.SEMANTIC.value, fact)
    assert {"states.csv", "states.jsonl", "words.csv", "audit_events.jsonl"} <= names_in(auditor.post(url))
    assert auditor.get(url).status_code == 405


def test_without_a_key_the_page_says_what_to_do(
    hollis: Client, membership: Membership, principal: Principal, settings: Settings
) -> None:
    fact = remember_fact(principal, text="Bakes rye bread").memory_id
    hollis.post(at("export_ask", membership.pk), {"reason": "a claim"})
    request = ExportRequest.objects.get()
    settings.PRODUCTION, settings.MEMORYHUB_SIGNING_KEYS = True, ()
    for url in (at("export", request.pk), at("history_export", Kind.SEMANTIC.value, fact)):
        assert "MEMORYHUB_SIGNING_KEYS" in hollis.post(url, follow=True).content.decode()
    request.refresh_from_db()
    assert request.taken_at is None


def test_an_event_leads_to_what_it_is_about_as_far_as_one_may_go(principal: Principal) -> None:
    session = start_session(principal).pk
    begin_turn(principal, session_id=session, text="We bake on Fridays")
    remember_fact(principal, text="Bakes rye bread")
    said = Episode.objects.of(principal).get()

    def offered(action: str, role: Role) -> list[str]:
        event = AuditEvent.objects.get(action=action)
        return [link.words for link in links(event, lambda roles: role in roles)]

    assert offered("fact.created", Role.AUDITOR) == ["Its history"]
    assert offered("fact.created", Role.ADMIN) == ["Its history", "Its record", "The member's memory"]
    assert "The turn in which it was said" in offered("episode.created", Role.ADMIN) and said.message_id
    assert "The conversation" in offered("session.created", Role.ADMIN)


def test_the_trail_of_a_member_leads_to_their_export(auditor: Client, membership: Membership) -> None:
    context = auditor.get(reverse("admin:tenants_auditevent_changelist"), {"member": "Ada"}).context
    assert [link.url for link in context["links"]] == [at("exporting", membership.pk)]
