"""The pages of the audit log: sentences without words, events that tell who read them, one's own tenant alone."""

from __future__ import annotations

import io
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from memoryhub.signing.archive import genuine
from tenants.audit.chain import EventDraft, erase_some, owner_chain, record_event, record_tenant_event
from tenants.audit.listing import PAGE
from tenants.audit.verification import prove
from tenants.locks import lock_owner
from tenants.models import AuditEvent, AuditPayload, ChainCheck, Membership, Tenant, User
from tenants.principal import Actor, ActorKind, Principal
from tests.audit import audit_unguarded, drop_triggers
from tests.factories import make_membership
from tests.tenants.audit_events import append, execute

LIST = "tenants_auditevent_changelist"
WORDS = "is afraid of geese"


@pytest.fixture
def auditor(client: Client, tenant: Tenant) -> Client:
    """The browser of Olga, an auditor of `tenant`."""
    olga = make_membership(tenant, role="auditor", name="Olga").user
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    client.force_login(User.objects.get(pk=olga.pk))
    return client


def address(name: str = LIST, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


def shown(browser: Client, **asked: str) -> str:
    response = browser.get(address(), asked)
    assert response.status_code == 200
    return str(response.content.decode())


def listed(browser: Client, **asked: str) -> list[AuditEvent]:
    return [line["event"] for line in browser.get(address(), asked).context["lines"]]


def changed(principal: Principal, actor: Principal | None = None, reason: str = "") -> AuditEvent:
    """Somebody superseded Ada's home city."""
    before = {"key": "home_city", "text": f"Ada {WORDS} in Hull", "contradiction": "natural"}
    lock_owner(principal)
    return record_event(
        actor or principal.as_agent(), action="fact.superseded", target_kind="semantic", target_id=uuid.uuid4(),
        reason=reason, before=before, after={"key": "home_city", "text": f"Ada {WORDS} in York"},
    )  # fmt: skip


@pytest.mark.parametrize("document", ["", "{", "[]", "null", '{"before": [], "after": "x"}', "[" * 5000])
def test_an_unreadable_payload_breaks_the_proof_alone(auditor: Client, principal: Principal, document: str) -> None:
    event = changed(principal)
    with audit_unguarded():
        execute("UPDATE tenants_auditpayload SET document = %s", document)
    assert "superseded" in shown(auditor)
    text = auditor.get(address("tenants_auditevent_change", event.pk)).content.decode()
    assert "The payload was changed." in text


def test_the_list_reads_as_sentences_without_words(auditor: Client, principal: Principal) -> None:
    changed(principal, reason=f"she {WORDS}")
    text = " ".join(shown(auditor).split())
    assert "The agent of Ada" in text and "superseded" in text and "home city" in text and ">changed<" in text
    assert "geese" not in text and AuditPayload.objects.get().salt not in text


def test_an_event_shows_before_and_after_and_who_read_it(auditor: Client, principal: Principal) -> None:
    event = changed(principal, reason="told so")
    text = auditor.get(address("tenants_auditevent_change", event.pk)).content.decode()
    assert "<del>Hull</del>" in text and "<ins>York</ins>" in text and "told so" in text
    assert event.digest in text and event.previous_digest in text and "Ada</bdi> <code>" in text
    read = AuditEvent.objects.get(action="audit.read")
    assert (read.chain, read.target_id, read.actor_kind) == (event.chain, event.pk, "staff")
    assert "read an event of the audit log" in shown(auditor)


def test_an_event_is_read_in_the_language_of_the_reader(auditor: Client, principal: Principal) -> None:
    event = changed(principal, reason="said in chat")
    User.objects.filter(memberships__role="auditor").update(language="de")
    page = auditor.get(address("tenants_auditevent_change", event.pk)).content.decode()
    assert page.count("im Chat gesagt") == 1
    assert "<dd>Agent <code>" in page and "<dd>Fakt <code>" in page and "Widerspruch" in page


def test_the_look_is_recorded_first(auditor: Client, principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    event = changed(principal)
    monkeypatch.setattr("tenants.admin.audit_event.sentences", lambda _: pytest.fail("shown first"))
    monkeypatch.setattr("tenants.admin.audit_event.note_event_read", _refuse)
    with pytest.raises(ConnectionError):
        auditor.get(address("tenants_auditevent_change", event.pk))


def _refuse(*_: object, **__: object) -> None:
    raise ConnectionError


def test_erased_words_are_said_to_be(auditor: Client, principal: Principal) -> None:
    event = changed(principal)
    erase_some(AuditPayload.objects.filter(event=event), by=event.pk)
    assert "words erased" in shown(auditor)
    text = auditor.get(address("tenants_auditevent_change", event.pk)).content.decode()
    assert "was erased with the memory" in text and "geese" not in text


def test_what_somebody_changed_is_shouted_where_it_is_shown(auditor: Client, principal: Principal) -> None:
    event = changed(principal)
    assert "Do not rely" not in shown(auditor)
    drop_triggers()
    execute("DELETE FROM tenants_auditpayload")
    for text in (shown(auditor), shown(auditor, member="Ada")):
        assert "Do not rely on this page" in text and "disabled: audit_erasure_is_not_deleted" in text
        assert text.count("The payload is missing, and no event erased it.") >= 1
    text = auditor.get(address("tenants_auditevent_change", event.pk)).content.decode()
    assert "Do not rely on this page" in text and "was erased with the memory" not in text
    assert not ChainCheck.objects.filter(chain=owner_chain(principal.tenant_id, principal.user_id)).latest("pk").ok


def test_a_long_chain_is_verified_up_to_an_event_and_says_so(
    auditor: Client, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(principal, *["fact.created"] * 6)
    monkeypatch.setattr("tenants.audit.verification.SEEN_EVENTS", 4)
    assert "verified in part" in shown(auditor, member="Ada")
    prove(owner_chain(principal.tenant_id, principal.user_id))
    append(principal, "fact.pinned")
    text = shown(auditor, member="Ada")
    assert "verified up to event 6" in text and "Events 4 to 7 were verified for this page." in text
    drop_triggers()
    execute("UPDATE tenants_auditevent SET action = 'fact.merged' WHERE sequence = 1")
    prove(owner_chain(principal.tenant_id, principal.user_id))
    assert "broken at event 1" in shown(auditor, member="Ada")


def test_several_actions_are_one_list(auditor: Client, principal: Principal, other_member: Principal) -> None:
    append(principal, "memory.exported", "fact.created", "review.opened")
    append(other_member, "chain.exported", "memory.exported")
    asked = "memory.exported,chain.exported, memory.exported"
    found = [event.action for event in listed(auditor, action=asked)]
    assert sorted(found) == ["chain.exported", "memory.exported", "memory.exported"]
    assert f'name="action" value="{asked}"' in shown(auditor, action=asked)
    with_a_sort = {event.action for event in listed(auditor, action="fact.*,chain.exported")}
    assert with_a_sort == {"fact.created", "chain.exported"}
    assert len(listed(auditor, action=asked, member="Ada")) == 1


def test_actions_are_counted_in_the_chosen_period(auditor: Client, principal: Principal) -> None:
    append(principal, "fact.created", "fact.superseded")
    with audit_unguarded():
        AuditEvent.objects.filter(action="fact.created").update(created_at=timezone.now() - timedelta(days=40))
    asked = {"since": f"{timezone.now() - timedelta(days=2):%Y-%m-%d}"}
    page: Any = auditor.get(address(), asked)
    assert {group.action: group.count for group, _ in page.context["actions"]}["fact.*"] == 1
    gone: Any = auditor.get(address(), {**asked, "action": "fact.created"})
    assert gone.context["lines"] == [] and not gone.context["fault"]


def test_pages_of_several_actions_follow_each_other(auditor: Client, principal: Principal) -> None:
    append(principal, *["fact.created", "fact.pinned", "fact.merged"] * 40)
    asked = {"action": "fact.created,fact.pinned"}
    first = auditor.get(address(), asked).context
    second = auditor.get(first["next"]).context
    found = [line["event"].sequence for line in (*first["lines"], *second["lines"])]
    assert len(found) == 80 and found == sorted(found, reverse=True) and not second["next"]


def test_a_wrong_filter_is_said_and_shows_nothing(auditor: Client, principal: Principal) -> None:
    changed(principal)
    for asked in ({"since": "soon"}, {"member": "Nobody"}, {"cursor": "made-up"}):
        response = auditor.get(address(), asked)
        assert response.status_code == 200
        assert "Nothing is shown." in response.content.decode() and not response.context["lines"]


def test_pages_follow_each_other_while_events_come_in(auditor: Client, principal: Principal) -> None:
    append(principal, *[f"fact.number_{number}" for number in range(PAGE + 3)])
    first = auditor.get(address()).context
    append(principal, "fact.late")
    second = auditor.get(first["next"]).context
    actions = [line["event"].action for line in (*first["lines"], *second["lines"])]
    assert actions == [f"fact.number_{number}" for number in reversed(range(PAGE + 3))]
    assert not second["next"]
    along = auditor.get(address(), {"member": "Ada"}).context
    assert [line["event"].action for line in auditor.get(along["next"]).context["lines"]][-1] == "fact.number_0"


def test_a_filter_without_an_index_looks_a_stretch_at_a_time(
    auditor: Client, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenants.audit.listing.LOOKED_AT", 4)
    event = changed(principal)
    append(principal, *["fact.created"] * 9)
    for asked in ({"actor_kind": "agent"}, {"actor_kind": "agent", "member": "Ada"}):
        context, pages = auditor.get(address(), asked).context, 1
        while not context["lines"]:
            assert context["page"].looked_back_to
            context, pages = auditor.get(context["next"]).context, pages + 1
        assert [line["event"] for line in context["lines"]] == [event] and pages == 3


def test_the_list_reads_the_trail_once(auditor: Client, principal: Principal) -> None:
    changed(principal)
    auditor.get(address())
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            auditor.get(address())
        counts.append(len([query for query in queries if "tenants_audit" in query["sql"]]))
        for _ in range(5):
            changed(principal)
    assert counts == [9, 9]


def test_verify_now_proves_the_chain_and_shows_it(auditor: Client, principal: Principal) -> None:
    changed(principal)
    context = auditor.get(address(), {"member": "Ada"}).context
    response = auditor.post(context["badge"].verify_url, {"back": context["badge"].back})
    assert response["Location"] == context["badge"].back
    check = ChainCheck.objects.get()
    assert check.ok and check.chain == owner_chain(principal.tenant_id, principal.user_id)


def test_a_broken_chain_names_its_first_bad_event(auditor: Client, principal: Principal) -> None:
    append(principal, *["fact.created"] * 3)
    bad = AuditEvent.objects.get(sequence=2)
    drop_triggers()
    execute("UPDATE tenants_auditevent SET action = 'fact.pinned' WHERE sequence = 2")
    auditor.post(auditor.get(address(), {"member": "Ada"}).context["badge"].verify_url)
    assert address("tenants_auditevent_change", bad.pk) in shown(auditor, member="Ada")
    text = shown(auditor)
    assert "did not verify the last time" in text
    assert "<bdi>Ada</bdi></a>. " in text


def test_verification_leads_nowhere_else(auditor: Client, principal: Principal) -> None:
    url = auditor.get(address()).context["badge"].verify_url
    assert auditor.post(url, {"back": "https://example.org/"})["Location"].startswith(address())


def test_the_list_exports_what_it_shows(auditor: Client, principal: Principal, other_member: Principal) -> None:
    changed(principal)
    append(other_member, "playbook.created")
    filters = auditor.get(address(), {"action": "fact.*"}).context["narrowed_to"]
    response: Any = auditor.post(address("tenants_auditevent_export"), {**filters, "csv": "1"})
    assert response.streaming and response["Content-Type"] == "application/zip"
    with genuine(io.BytesIO(b"".join(response.streaming_content))) as opened:
        assert {entry.name: entry.rows for entry in opened.files} == {"audit_events.jsonl": 1, "audit_events.csv": 1}
    assert AuditEvent.objects.filter(action="audit.exported").count() == 1


def test_a_wrong_export_says_why_and_leaves_nothing(auditor: Client, settings: Settings, tenant: Tenant) -> None:
    response = auditor.post(address("tenants_auditevent_export"), {"since": "soon"})
    assert response.status_code == 400 and "From: Give a day" in response.content.decode()
    settings.PRODUCTION = True
    response = auditor.post(address("tenants_auditevent_export"), follow=True)
    assert "MEMORYHUB_SIGNING_KEYS" in response.content.decode()
    assert not AuditEvent.objects.filter(action="audit.exported").exists()


def test_events_of_other_tenants_are_as_unknown_ones(auditor: Client, other_tenant_member: Principal) -> None:
    event = changed(other_tenant_member)
    for key in (event.pk, uuid.uuid4()):
        assert auditor.get(address("tenants_auditevent_change", key)).status_code == 404
    for tenant in (str(other_tenant_member.tenant_id), str(uuid.uuid4()), "platform"):
        assert auditor.get(address(), {"tenant": tenant}).status_code == 404
        assert auditor.post(address("tenants_auditevent_export"), {"tenant": tenant}).status_code == 404
        assert auditor.post(f"{address('tenants_auditevent_verify')}?tenant={tenant}").status_code == 404


@pytest.mark.parametrize("field", ["member", "actor", "target", "request"])
def test_no_filter_finds_what_is_of_another_tenant(
    field: str, auditor: Client, other_tenant_member: Principal, principal: Principal
) -> None:
    event = changed(other_tenant_member, replace(other_tenant_member, request_id="request-of-eve"))
    value = {
        "member": other_tenant_member.user_id, "actor": other_tenant_member.user_id, "target": event.target_id,
        "request": "request-of-eve",
    }[field]  # fmt: skip
    assert listed(auditor, **{field: str(value)}) == []


def test_a_name_of_another_tenant_is_not_shown(auditor: Client, tenant: Tenant, other_tenant_member: Principal) -> None:
    foreign = Actor(ActorKind.STAFF, other_tenant_member.user_id)
    record_tenant_event(foreign, tenant.pk, EventDraft("user.changed", "user", other_tenant_member.user_id))
    User.objects.filter(pk=other_tenant_member.user_id).update(display_name="Quentin Zephyr")
    assert "Zephyr" not in shown(auditor)


def test_the_platform_reads_every_tenant_and_itself(
    platform_browser: Client, principal: Principal, other_tenant_member: Principal
) -> None:
    mine, theirs = changed(principal), changed(other_tenant_member)
    assert listed(platform_browser, tenant=str(principal.tenant_id)) == [mine]
    assert listed(platform_browser, tenant=str(other_tenant_member.tenant_id)) == [theirs]
    assert listed(platform_browser, tenant="platform") == []


def test_the_trail_of_a_past_member_is_readable(auditor: Client, membership: Membership, principal: Principal) -> None:
    event = changed(principal)
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    response: Any = auditor.get(address("tenants_auditevent_change", event.pk))
    assert response.status_code == 200


def test_nothing_changes_the_trail(platform_browser: Client, principal: Principal) -> None:
    event = changed(principal)
    assert platform_browser.post(address("tenants_auditevent_change", event.pk), {"action": "x"}).status_code == 405
    assert platform_browser.post(address()).status_code == 405
