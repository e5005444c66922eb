"""The member's account: profile, switches, topics, looks, deletion, readable export, import."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from memories.chat.views import account
from memories.errors import Conflict
from memories.models import Episode, ErasureRequest, Fact, ForgetProposal, Item, Message, ProposalState, Session
from memories.selectors.policies import choices_of
from memories.services.admin_requests import note_question
from memories.services.choices import choose
from memories.services.erasure.proposals import UNDO_FOR, finish_due, forget_everything, undo
from memories.services.erasure.requests import place_hold
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import begin_turn
from memories.types import Kind
from memoryhub.env.limits import DEFAULT_LIMITS
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, Principal
from tenants.principals import reading_principal
from tests.factories import make_membership

pytestmark = pytest.mark.django_db

HOME = "/account/"


def page(client: Client, address: str = HOME) -> str:
    return client.get(address).content.decode()


def test_it_shows_who_and_where_and_links_only_pages_that_exist(ada: Client, membership: Membership) -> None:
    shown = page(ada)
    assert membership.user.speaker in shown and membership.tenant.name in shown
    assert "/connect/" in shown and 'href=""' not in shown


def test_a_chosen_time_zone_holds_on_the_next_page(ada: Client, principal: Principal) -> None:
    ada.cookies["tz"] = "Asia/Tokyo"
    ada.post("/account/profile/", {"time_zone": "America/New_York", "language": "en"})
    begin_turn(principal, text="I like tea.")
    said = Episode.objects.of(principal).get().happened_at
    there = timezone.localtime(said, timezone=ZoneInfo("America/New_York"))
    assert f"{there:%H:%M}" in page(ada, "/remember/events/")


@pytest.mark.parametrize("form", [{"time_zone": "Mars/Base", "language": ""}, {"time_zone": "", "language": "xx"}])
def test_an_unknown_zone_or_language_is_refused(ada: Client, membership: Membership, form: dict[str, str]) -> None:
    assert "is not" in ada.post("/account/profile/", form, follow=True).content.decode()
    membership.user.refresh_from_db()
    assert (membership.user.time_zone, membership.user.language) == ("", "")


def test_a_refused_zone_is_named_in_the_language_of_the_page(ada: Client) -> None:
    ada.post("/account/profile/", {"time_zone": "Mars/Base", "language": ""}, headers={"accept-language": "de"})
    assert "Zeitzone: ist" in ada.get("/account/", headers={"accept-language": "de"}).content.decode()


def test_a_language_that_was_chosen_holds_for_the_notice_at_once(ada: Client) -> None:
    assert "Gespeichert." in ada.post("/account/profile/", {"language": "de"}, follow=True).content.decode()


def test_the_page_of_the_password_leads_back_to_the_account(ada: Client) -> None:
    assert 'href="/account/">Back to the account' in page(ada, reverse("account_change_password"))


def test_switches_and_topics_are_stored(ada: Client, principal: Principal) -> None:
    ada.post("/account/memory/", {"recalls": "on"})
    ada.post("/account/topics/", {"topics": ["money"], "words": "Project Swan\n"})
    own = choices_of(principal)
    assert (own.learns, own.recalls) == (False, True)
    assert own.never_topics.splitlines()[0].startswith("Money:") and own.never_topics.endswith("Project Swan")
    shown = page(ada)
    assert re.search(r'value="money" checked', shown) and "Project Swan</textarea>" in shown
    assert "Memory is paused" in page(ada, "/")


def test_a_topic_that_the_page_does_not_offer_is_refused(ada: Client, principal: Principal) -> None:
    ada.post("/account/topics/", {"topics": ["money", "nonsense"]})
    assert choices_of(principal).never_topics == ""


def test_looks_are_a_table_with_role_exact_time_and_reason(ada: Client, membership: Membership) -> None:
    staff = make_membership(membership.tenant, "support", "Sam")
    note_question(reading_principal(membership, staff=staff.user, purpose="ticket 17"), "Where?")
    event = AuditEvent.objects.get(action="memory.asked")
    shown = page(ada)
    assert f"{timezone.localtime(event.created_at):%Y-%m-%d %H:%M:%S}" in shown
    assert "<td>Support" in shown and "Asked your memory a question" in shown


# Deletion


def with_everything(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Leeds", key="home_city")
    remember_playbook(principal, title="Brew tea", steps=["Boil water"])
    put(principal, namespace=["notes"], key="a", value=1)
    begin_turn(principal, text="I live in Leeds.")


def left(principal: Principal) -> int:
    return sum(model.objects.of(principal).count() for model in (Fact, Episode, Item, Message, Session))


def test_everything_goes_after_the_word_and_the_time_to_undo(
    ada: Client, principal: Principal, other_member: Principal, clock: Any
) -> None:
    with_everything(principal)
    with_everything(other_member)
    before = left(other_member)
    assert '<dd class="numbers">1</dd>' in page(ada, "/account/delete/")
    assert ada.post("/account/delete/", {"word": "yes"}).status_code == 400
    answer = ada.post("/account/delete/", {"word": " Delete  everything "}, follow=True).content.decode()
    assert "1 fact" in answer and "1 conversation" in answer and "Undo" in answer
    assert finish_due() == 0 and left(principal) == 5
    clock(seconds=UNDO_FOR.total_seconds() + 1)
    receipt = page(ada, reverse("chat:forgetting", args=[ForgetProposal.objects.get().pk]))
    assert "Permanently deleted: 1 fact, 1 how-to, 1 event" in receipt and "Receipt" in receipt
    assert left(principal) == 0 and left(other_member) == before
    assert "Receipt" in page(ada)


def test_everything_can_be_kept_for_thirty_seconds(ada: Client, principal: Principal, clock: Any) -> None:
    with_everything(principal)
    proposal = forget_everything(principal)
    assert forget_everything(principal).pk == proposal.pk
    ada.post(reverse("chat:forget-undo", args=[proposal.pk]))
    clock(minutes=5)
    assert finish_due() == 0 and left(principal) == 5
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.KEPT
    with pytest.raises(Conflict):
        undo(principal, proposal.pk)


def test_a_deletion_that_the_time_did_not_suffice_for_goes_on(
    principal: Principal, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_everything(principal)
    forget_everything(principal)
    clock(seconds=UNDO_FOR.total_seconds() + 1)
    monkeypatch.setattr("memories.services.erasure.proposals.ERASE_SECONDS", -1.0)
    assert finish_due() == 0 and 0 < left(principal) < 5
    monkeypatch.undo()
    clock(seconds=UNDO_FOR.total_seconds() + 2)
    assert finish_due() == 1 and left(principal) == 0


def test_a_legal_hold_keeps_everything(ada: Client, principal: Principal, clock: Any) -> None:
    with_everything(principal)
    proposal = forget_everything(principal)
    place_hold(SYSTEM, tenant_id=principal.tenant_id, membership_id=principal.membership_id, reason="a case")
    clock(seconds=UNDO_FOR.total_seconds() + 1)
    assert finish_due() == 0 and left(principal) == 5
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.KEPT
    assert "hold" in ada.post("/account/delete/", {"word": "delete everything"}, follow=True).content.decode()


def test_leaving_needs_the_word_and_is_asked_for_once(ada: Client, membership: Membership) -> None:
    ada.post("/account/delete/account/", {"word": "no"})
    assert not ErasureRequest.objects.exists()
    ada.post("/account/delete/account/", {"word": "delete my account"})
    ada.post("/account/delete/account/", {"word": "delete my account"})
    assert ErasureRequest.objects.get().membership_id == membership.pk


# Export


def test_the_export_to_read_holds_all_that_is_the_member_s_and_no_markup_of_theirs(
    ada: Client, principal: Principal, other_member: Principal
) -> None:
    with_everything(principal)
    old = remember_fact(principal, text="Likes <b>tea</b>", category="food_and_drink").memory_id
    correct(principal, kind=Kind.SEMANTIC, memory_id=old, text="Likes <i>coffee</i>")
    remember_fact(other_member, text="Lives in Hull")
    answer = ada.post("/account/export/")
    document = answer.content.decode()
    assert answer.headers["Content-Disposition"].endswith('.html"')
    told = ("You live in Leeds", "You like &lt;i&gt;coffee", "You like &lt;b&gt;tea")
    for words in (*told, "Brew tea", "Boil water", "I live in Leeds.", "Food and drink"):
        assert words in document
    assert f"{timezone.localdate()} – {timezone.localdate()}" in document
    assert "<b>tea" not in document and "Hull" not in document and "<script" not in document
    assert AuditEvent.objects.filter(action="memory.exported").count() == 1


# Import


def chatgpt(text: str = "I live in Leeds.") -> bytes:
    node = {
        "id": "n1",
        "parent": None,
        "message": {
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": [text]},
            "create_time": 1_700_000_000,
        },
    }
    conversation = {"id": "c1", "title": "Home", "create_time": 1_700_000_000, "current_node": "n1"}
    return json.dumps([conversation | {"mapping": {"n1": node}}]).encode()


def zipped(
    inner: bytes, name: str = "conversations.json", *, method: int = zipfile.ZIP_DEFLATED, beside: int = 0
) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as whole:
        whole.writestr(name, inner)
        for number in range(beside):
            whole.writestr(f"{number}.png", b"")
    return archive.getvalue()


def encrypted(archive: bytes) -> bytes:
    """The archive with the mark of encryption at its file, in the list of files."""
    place = archive.index(b"PK\x01\x02") + 8
    return archive[:place] + b"\x01" + archive[place + 1 :]


def of_method(archive: bytes, method: int) -> bytes:
    """The archive with this method of compression, in the list of files."""
    place = archive.index(b"PK\x01\x02") + 10
    return archive[:place] + method.to_bytes(2, "little") + archive[place + 2 :]


def send(client: Client, body: bytes, *, dry_run: bool = False) -> Any:
    address = "/account/import/run/" + ("?dry_run=1" if dry_run else "")
    return client.post(address, body, content_type="application/octet-stream")


@pytest.mark.parametrize("body", [chatgpt(), zipped(chatgpt())], ids=["json", "zip"])
def test_an_import_says_first_what_would_come(ada: Client, principal: Principal, body: bytes) -> None:
    dry = send(ada, body, dry_run=True).json()
    assert "1 event" in dry["html"] and "I live in Leeds." in dry["html"]
    assert not Episode.objects.of(principal).exists()
    assert send(ada, body).json()["complete"]
    assert "already" in send(ada, body).json()["html"]
    assert [each.text for each in Episode.objects.of(principal)] == ["I live in Leeds."]


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[1", zipped(b"{}", "other.json"), b"PK broken", zipped(b"[" + b" " * 40_000_000), b" " * 9_000_000],
    ids=["empty", "object", "broken", "no conversations", "no archive", "bomb", "large"],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused(ada: Client, principal: Principal, body: bytes) -> None:
    answer = send(ada, body)
    assert answer.status_code in (400, 413) and not Session.objects.of(principal).exists()


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", 'Conversation 0, message n1: "create_time" is not a time'),
        ("de", "Unterhaltung 0, Nachricht n1: „create_time“ ist keine Zeit"),
        ("es", "Conversación 0, mensaje n1: «create_time» no es una hora"),
    ],
)
def test_a_fault_of_a_file_is_told_with_its_place_in_the_language_of_the_page(
    ada: Client, language: str, said: str
) -> None:
    body = chatgpt().replace(b'"create_time": 1700000000}', b'"create_time": "soon"}', 1)
    answer = ada.post("/account/import/run/", body, "application/octet-stream", headers={"Accept-Language": language})
    assert answer.status_code == 400 and answer.json()["message"].startswith(said)


DAMAGED = zipped(chatgpt())[:60] + bytes(20) + zipped(chatgpt())[80:]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (zipped(b"[" + b" " * 40_000_000), "more than 32 MB"),
        (zipped(chatgpt(), beside=10_000), "more than 10,000 files"),
        (zipped(chatgpt(), method=zipfile.ZIP_LZMA), "unusual way"),
        (zipped(b"[" + b" " * 40_000_000, method=zipfile.ZIP_BZIP2), "unusual way"),
        (of_method(zipped(chatgpt()), 99), "unusual way"),
        (encrypted(zipped(chatgpt())), "encrypted"),
        (DAMAGED, "readable conversations.json"),
        (zipped(chatgpt())[:-30], "readable conversations.json"),
    ],
    ids=["bomb", "many files", "lzma", "bzip2", "unknown method", "encrypted", "damaged", "cut"],
)
def test_an_archive_that_is_not_taken_is_refused_with_what_to_do(
    ada: Client, principal: Principal, body: bytes, said: str
) -> None:
    answer = send(ada, body)
    assert answer.status_code == 400 and said in answer.json()["message"]
    assert not Session.objects.of(principal).exists()


def test_an_import_over_the_limit_is_not_even_read(
    ada: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(account, "parse_export", lambda source, _form: read.append(source))
    settings.MEMORYHUB_LIMITS = {**DEFAULT_LIMITS, "member_writes": 1}
    ada.post("/account/profile/", {"time_zone": "UTC", "language": "en"})
    assert send(ada, chatgpt()).status_code == 429 and read == []


def test_with_no_entries_left_no_file_is_read(ada: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_LIMITS = {**DEFAULT_LIMITS, "member_entries": 1}
    assert send(ada, chatgpt(), dry_run=True).status_code == 200
    read: list[bytes] = []
    monkeypatch.setattr(account, "parse_export", lambda source, _form: read.append(source))
    answer = send(ada, chatgpt())
    assert answer.status_code == 409 and "entries" in answer.json()["message"] and read == []


def test_a_paused_memory_imports_nothing(ada: Client, principal: Principal) -> None:
    choose(principal, learns=False)
    answer = send(ada, chatgpt())
    assert answer.status_code == 409 and "paused" in answer.json()["message"]
    assert "Resume it first" in page(ada, "/account/import/")
    assert not Message.objects.of(principal).exists()


# The chat


def test_a_new_member_is_asked_three_things_that_become_facts(ada: Client, principal: Principal) -> None:
    shown = page(ada, "/")
    assert len(re.findall("data-example=", shown)) == 3 and "Where do I live?" not in shown
    for text in ("I live in Leeds.", "I work as a nurse.", "I like cycling."):
        ada.post("/chat/send/", {"message": text})
    assert Fact.objects.of(principal).count() == 3
    assert "Three things" not in page(ada, "/")


@pytest.mark.parametrize("model", [True, False])
def test_examples_are_in_a_language_that_the_chat_reads(ada: Client, settings: Settings, *, model: bool) -> None:
    settings.MEMORYHUB_MODEL = "some-model" if model else ""
    settings.OPENAI_API_KEY = "sk-test"
    shown = ada.get("/", headers={"accept-language": "es"}).content.decode()
    assert ('data-example="Vivo en "' in shown, 'data-example="I live in "' in shown) == (model, not model)
    assert ("solo leo inglés" in shown) is not model


def test_an_empty_chat_offers_to_remember_only_while_memory_is_on(ada: Client, principal: Principal) -> None:
    begin_turn(principal, text="Hello")
    assert "becomes a fact" in page(ada, "/") and "Resume memory" not in page(ada, "/")
    choose(principal, learns=False)
    shown = page(ada, "/")
    assert "becomes a fact" not in shown and "a summary" in shown and "Resume memory" in shown


def test_a_temporary_chat_is_marked_and_ends_with_a_button(ada: Client, principal: Principal) -> None:
    assert "Temporary" in page(ada, "/?temporary=1")
    answer = ada.post("/chat/send/", {"message": "I live in Leeds.", "temporary": "1"}, follow=True)
    session = Session.objects.of(principal).get()
    shown = answer.content.decode()
    assert session.temporary and "End and delete" in shown and "Rename" not in shown
    assert str(session.pk) not in page(ada, "/chat/all/")
    ada.post(f"/chat/{session.pk}/end/")
    assert not Session.objects.of(principal).exists() and not Fact.objects.exists()


def test_a_kept_chat_is_not_ended_that_way(ada: Client, principal: Principal) -> None:
    session = begin_turn(principal, text="Hello").session_id
    assert ada.post(f"/chat/{session}/end/").status_code == 404
    assert Session.objects.of(principal).exists()
