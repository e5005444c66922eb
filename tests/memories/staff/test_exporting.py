"""Exports from the pages of a member and of a history: downloads that verify, for those who audit."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from memories.models import Episode
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


def test_an_auditor_takes_a_memory_along(auditor: Client, membership: Membership, principal: Principal) -> None:
    remember_fact(principal, text="Bakes rye bread")
    page = auditor.get(at("exporting", membership.pk))
    assert at("export", membership.pk) in page.content.decode()
    names = names_in(auditor.post(at("export", membership.pk), {"csv": "1"}))
    assert {"memory.jsonl", "facts.csv", "audit_events.jsonl"} <= names and "sessions.jsonl" not in names


def test_an_auditor_takes_a_history_along(auditor: Client, principal: Principal) -> None:
    fact = remember_fact(principal, text="Bakes rye bread").memory_id
    url = at("history_export", Kind.SEMANTIC.value, fact)
    assert {"states.csv", "states.jsonl", "words.csv", "audit_events.jsonl"} <= names_in(auditor.post(url))
    assert auditor.get(url).status_code == 405


def test_without_a_key_the_page_says_what_to_do(
    auditor: Client, membership: Membership, principal: Principal, settings: Settings
) -> None:
    fact = remember_fact(principal, text="Bakes rye bread").memory_id
    settings.PRODUCTION, settings.MEMORYHUB_SIGNING_KEYS = True, ()
    for url in (at("export", membership.pk), at("history_export", Kind.SEMANTIC.value, fact)):
        assert "MEMORYHUB_SIGNING_KEYS" in auditor.post(url, follow=True).content.decode()


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
