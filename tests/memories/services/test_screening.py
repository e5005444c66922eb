"""Screening: what must not be stored is refused in a memory and masked in what is said, and is nowhere afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from memories.constants import MAX_QUERY_CHARACTERS
from memories.errors import Blocked, Spot
from memories.hygiene.sensitivity import detecting
from memories.hygiene.sensitivity.findings import Finding
from memories.models import Episode, Fact, MemoryPolicy, Message, Playbook, RecallTrace, Session, SessionEntry
from memories.recall.pipeline import recall
from memories.services.catalog import remember_catalog_entry
from memories.services.consolidation.gathering import gather
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.screening import Screen
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import rename_session, start_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.services.sessions.working_memory import set_task
from memories.types import Kind, Scope, SensitiveKind, WriteResult
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

CARD = "4539 1488 0343 6467"
IBAN = "DE89" + "370400440532013000"
PAYS = f"Pays with {CARD}"
MASKED = "Pays with [payment card removed]"


def test_a_fact_with_a_card_is_refused_by_kind_and_place(principal: Principal) -> None:
    with pytest.raises(Blocked) as refused:
        remember_fact(principal, text=PAYS)
    assert refused.value.spots == (Spot("text", SensitiveKind.PAYMENT_CARD, 10, 29),)
    assert CARD not in str(refused.value) + repr(refused.value)
    assert not Fact.objects.exists()


@pytest.mark.parametrize("field", ["text", "key", "category", "reason"])
def test_every_word_of_a_fact_and_of_a_playbook_is_looked_at(principal: Principal, field: str) -> None:
    told: dict[str, Any] = {"text": "Lives in Bristol", field: CARD}
    with pytest.raises(Blocked) as refused:
        remember_fact(principal, **told)
    assert [spot.field for spot in refused.value.spots] == [field]
    with pytest.raises(Blocked) as refused:
        remember_playbook(principal, title="Pay", trigger=CARD, steps=["Open it", PAYS])
    assert [spot.field for spot in refused.value.spots] == ["trigger", "steps.1"]


@pytest.mark.parametrize(("key", "text"), [("wifi_password", "bluewhale77"), ("door_code", "4821"), ("iban", IBAN)])
def test_a_key_says_what_the_words_beside_it_are(principal: Principal, key: str, text: str) -> None:
    with pytest.raises(Blocked) as refused:
        remember_fact(principal, key=key, text=text)
    assert [(spot.field, spot.start, spot.end) for spot in refused.value.spots] == [("text", 0, len(text))]
    assert not Fact.objects.exists()
    assert all(text not in str(event.payload) for event in AuditEvent.objects.all())


@pytest.mark.parametrize(("key", "text"), [("password_manager", "1Password"), ("login", "gardengnome42")])
def test_a_key_that_only_resembles_one_says_nothing(principal: Principal, key: str, text: str) -> None:
    assert remember_fact(principal, key=key, text=text).result is WriteResult.CREATED


def test_a_correction_is_read_by_the_key_of_what_it_corrects_and_its_refusal_is_noted(principal: Principal) -> None:
    known = remember_fact(principal, key="wifi_password", text="Is on the fridge").memory_id
    with pytest.raises(Blocked):
        correct(principal, kind=Kind.SEMANTIC, memory_id=known, text="bluewhale77")
    assert AuditEvent.objects.filter(action="memory.blocked").count() == 1


def test_arguments_are_read_by_their_names(principal: Principal) -> None:
    sent = {"wifi_password": "bluewhale77", "facts": [{"key": "door_code", "text": "4821"}], "key": "wifi_password"}
    removed = "[secret removed]"
    assert Screen(principal).arguments(sent) == {
        "wifi_password": removed,
        "facts": [{"key": "door_code", "text": removed}],
        "key": "wifi_password",
    }


def test_changes_are_looked_at_and_leave_what_there_was(principal: Principal, admin_principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Bristol").memory_id
    book = remember_playbook(principal, title="Pay", steps=["Open it"]).memory_id
    attempts: list[Callable[[], object]] = [
        lambda: correct(principal, kind=Kind.SEMANTIC, memory_id=fact, text=PAYS),
        lambda: correct(principal, kind=Kind.PROCEDURAL, memory_id=book, text=PAYS),
        lambda: retire(principal, kind=Kind.SEMANTIC, memory_id=fact, reason=PAYS),
        lambda: record_outcome(principal, playbook_id=book, success=True, refined_steps=[PAYS]),
        lambda: promote(principal, kind=Kind.SEMANTIC, memory_id=fact, to=Scope.TENANT, reason=PAYS),
        lambda: remember_catalog_entry(admin_principal, title="Desk", text=PAYS),
    ]
    for attempt in attempts:
        with pytest.raises(Blocked):
            attempt()
    assert Fact.objects.get().status == Playbook.objects.get().status == "active"


def test_a_turn_goes_on_with_the_value_masked(principal: Principal) -> None:
    turn = begin_turn(principal, text=PAYS)
    message, episode, session = Message.objects.get(), Episode.objects.get(), Session.objects.get()
    assert turn.text == message.text == episode.text == session.title == MASKED
    assert turn.masked == ("payment_card",)
    assert message.sensitivity == episode.sensitivity == {"payment_card": "mask"}
    event = AuditEvent.objects.select_related("payload").get(action="memory.masked")
    assert (event.target_id, event.payload.data["after"]) == (episode.pk, {"kinds": ["payment_card"]})


def test_a_masked_turn_sent_again_is_the_same_turn(principal: Principal) -> None:
    chosen = uuid.uuid4()
    first = begin_turn(principal, text=PAYS, turn_id=chosen)
    again = begin_turn(principal, text=PAYS, turn_id=chosen)
    assert (again.created, again.masked, again.episode_id) == (False, first.masked, first.episode_id)


def test_an_episode_what_came_with_it_its_session_and_a_question_are_masked(principal: Principal) -> None:
    session = start_session(principal, title=PAYS)
    remember_episode(principal, session_id=session.pk, text="Look", context=PAYS)
    episode = Episode.objects.get()
    assert (session.title, episode.context, episode.sensitivity) == (MASKED, MASKED, {"payment_card": "mask"})
    assert rename_session(principal, session_id=session.pk, title=f"{PAYS} again").title == f"{MASKED} again"
    slots = set_task(principal, session_id=session.pk, goal=PAYS, constraints=[CARD])
    assert slots.goal is not None and slots.goal.text == MASKED
    assert CARD not in "".join(SessionEntry.objects.values_list("text", flat=True))
    found = recall(principal, f"Whose is {CARD}?")
    assert found.query == RecallTrace.objects.get().query == "Whose is [payment card removed]?"


def test_what_the_agent_says_and_asks_is_masked(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello")
    session, number = turn.session_id, turn.turn
    call = {"id": "1", "name": "remember_fact", "arguments": {"text": PAYS, "tags": [CARD, 3, None]}}
    add_tool_step(principal, session_id=session, turn=number, tool_calls=[call], text=PAYS)
    add_tool_result(principal, session_id=session, turn=number, tool_call_id="1", text=PAYS)
    finish_turn(principal, session_id=session, turn=number, text=PAYS)
    messages = Message.objects.filter(step__gt=0).order_by("step")
    assert [message.text for message in messages] == [MASKED] * 3
    arguments = messages[0].tool_calls[0]["arguments"]
    assert arguments == {"text": MASKED, "tags": ["[payment card removed]", 3, None]}


def test_the_tenant_decides_on_milder_kinds_for_itself(
    principal: Principal, other_tenant_member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finds_the_phone(text: str) -> tuple[Finding, ...]:
        at = text.find("0117 496 0123")
        return (Finding(SensitiveKind.PHONE, at, at + 13),) if at >= 0 else ()

    monkeypatch.setattr(detecting, "scan", finds_the_phone)
    text = "Call 0117 496 0123"
    remember_fact(principal, text=f"{text} first")
    policy = MemoryPolicy.objects.create(tenant_id=principal.tenant_id, handling={"phone": "mask"})
    remember_fact(principal, text=f"{text} then")
    assert {fact.text: fact.sensitivity for fact in Fact.objects.all()} == {
        "Call 0117 496 0123 first": {"phone": "allow"},
        "Call [phone removed] then": {"phone": "mask"},
    }
    policy.handling = {"phone": "block"}
    policy.save()
    with pytest.raises(Blocked):
        remember_fact(principal, text=f"{text} at last")
    assert begin_turn(principal, text=text).text == "Call [phone removed]"
    assert begin_turn(other_tenant_member, text=text).text == text


def test_a_message_full_of_cards_is_stored_recalled_by_and_learned_from(principal: Principal) -> None:
    """Labels are longer than cards, so the stored text is longer than a message or a query may be."""
    export = "Here is the export:\n" + "4111111111111111\n" * 1_870
    turn = begin_turn(principal, text=export)
    assert len(turn.text) > MAX_QUERY_CHARACTERS > len(export)
    found = recall(principal, turn.text, stored=True)
    assert len(found.query) == MAX_QUERY_CHARACTERS
    assert len(recall(principal, export).query) == MAX_QUERY_CHARACTERS, "a query with the cards is masked and cut"
    material = gather(principal, list(Episode.objects.of(principal)))
    assert [episode.text for episode in material.episodes] == [turn.text]
