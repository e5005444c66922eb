"""What must not be stored stays out of an import, and the rest comes in as if it had never been there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memories.hygiene.sensitivity.findings import label
from memories.importing import ConversationSession, parse_memory
from memories.importing.conversations import ConversationTurn
from memories.importing.records import MemoryRecord
from memories.models import Episode, Fact, Message, Playbook, SealedOriginal, Session
from memories.services.policies import set_policy
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import import_sessions
from memories.types import SensitiveKind
from tenants.models import AuditEvent
from tenants.principal import SYSTEM, Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

CARD = "4111 1111 1111 " + "1111"
PHONE = "+44 20 7946 " + "0958"
REMOVED = label(SensitiveKind.PAYMENT_CARD)
MARKS = {"payment_card": "mask"}


def record(kind: str, text: str, **values: Any) -> MemoryRecord:
    """A record, placed by its id."""
    return parse_memory({"kind": kind, "text": text, **values}, place=f"line {values.get('id', '?')}")


def conversation(*texts: str, title: str = "", from_assistant: bool = False) -> ConversationSession:
    """A session of turns a minute apart."""
    said = [datetime(2025, 3, 1, 12, minute, tzinfo=UTC) for minute in range(len(texts))]
    turns = (
        ConversationTurn(
            f"t{at.minute}", f"turn {at.minute}", text, at, from_assistant=from_assistant, remembered=not from_assistant
        )
        for text, at in zip(texts, said, strict=True)
    )
    return ConversationSession("s", tuple(turns), title)


def events(principal: Principal, action: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(owner_id=principal.user_id, action=action))


def test_a_turn_is_stored_without_the_value_everywhere_and_its_original_sealed(principal: Principal) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, keep_originals=True)
    report = import_sessions(principal, [conversation(f"My card is {CARD}.", "Thanks")], source="jsonl")
    message, episode = Message.objects.get(turn=1), Episode.objects.get(sequence=1)
    assert message.text == episode.text == Session.objects.get().title == f"My card is {REMOVED}."
    assert message.sensitivity == episode.sensitivity == MARKS
    assert report.masked == 1
    assert [event.target_id for event in events(principal, "memory.masked")] == [episode.pk]
    assert SealedOriginal.objects.get().memory_id == episode.pk


def test_titles_and_the_words_of_assistants_are_masked_too(principal: Principal) -> None:
    said = conversation(f"You gave me {CARD}", title=f"About {CARD}", from_assistant=True)
    import_sessions(principal, [said], source="x")
    assert Session.objects.get().title == f"About {REMOVED}"
    assert Message.objects.get().text == f"You gave me {REMOVED}"


def test_a_memory_with_a_value_is_left_out_and_named_by_place(principal: Principal) -> None:
    records = [
        record("semantic", "Likes tea", id="1"),
        record("semantic", f"Pays with {CARD}", id="2"),
        record("procedural", "", id="3", title="Pay", steps=["open the shop", f"type {CARD}"]),
    ]
    report = import_memories(principal, records)
    assert [fact.text for fact in Fact.objects.all()] == ["Likes tea"] and not Playbook.objects.exists()
    assert [(each.place, each.kinds) for each in report.left_out] == [
        ("line 2", ("payment_card",)),
        ("line 3", ("payment_card",)),
    ]
    told = [event.payload.data["after"] for event in events(principal, "memory.blocked")]
    assert told == [
        {"spots": [{"field": "text", "kind": "payment_card"}]},
        {"spots": [{"field": "steps.1", "kind": "payment_card"}]},
    ]


def test_an_episode_of_a_file_is_masked_supports_and_is_known_again(principal: Principal) -> None:
    said = record("episodic", f"I pay with {CARD}", id="e", happened_at="2025-03-01T00:00:00Z")
    learned = record("semantic", "Pays by card", id="f", supported_by=["e"])
    first, second = (import_memories(principal, [said, learned]) for _ in range(2))
    assert Episode.objects.get().text == f"I pay with {REMOVED}"
    assert [episode.pk for episode in Fact.objects.get().supporting_episodes.all()] == [first.ids["e"]]
    assert (first.masked, second.masked, second.known) == (1, 0, 2)
    with pytest.raises(Exception, match="imported before with another text"):
        import_memories(principal, [replace(said, text=f"I never pay with {CARD}")])


def test_a_file_is_known_whatever_the_tenant_masks_by_now(principal: Principal) -> None:
    records = [
        record("episodic", f"Ring {PHONE} or {CARD}", id="e", happened_at="2025-03-01T00:00:00Z"),
        record("semantic", f"Can be reached at {PHONE}", id="f"),
        record("procedural", "", id="p", title="Ring the shop", steps=[f"Dial {PHONE}."]),
    ]
    for added, handling in ((3, "mask"), (0, "allow"), (0, "block")):
        set_policy(SYSTEM, tenant_id=principal.tenant_id, handling={"phone": handling})
        report = import_memories(principal, records)
        assert (report.known, report.total_added, report.left_out) == (3 - added, added, ())


CHAIN = [
    record("semantic", "Pays in cash", id="a", learned_at="2025-01-01T00:00:00Z"),
    record("semantic", f"Pays with {CARD}", id="b", learned_at="2025-02-01T00:00:00Z", supersedes=["a"]),
    record("semantic", "Pays by phone", id="c", learned_at="2025-03-01T00:00:00Z", supersedes=["b"]),
]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)], ids=["in order", "backwards"])
def test_a_chain_closes_over_what_is_left_out(principal: Principal, order: tuple[int, ...]) -> None:
    import_memories(principal, [CHAIN[place] for place in order])
    old, new = Fact.objects.get(text="Pays in cash"), Fact.objects.get(text="Pays by phone")
    assert old.superseded_by == new and new.status == "active"


def test_what_was_replaced_by_something_left_out_is_over_all_the_same(principal: Principal) -> None:
    import_memories(principal, CHAIN[:2])
    (old,) = Fact.objects.all()
    assert (old.status, old.superseded_by, old.superseded_at) == ("superseded", None, datetime(2025, 2, 1, tzinfo=UTC))


def test_a_circle_through_what_is_left_out_ends(principal: Principal) -> None:
    records = [
        record("semantic", f"Pays with {CARD}", id="a", supersedes=["b"]),
        record("semantic", f"Paid with {CARD}", id="b", supersedes=["a"]),
        record("semantic", "Pays by phone", id="c", supersedes=["a"]),
    ]
    assert len(import_memories(principal, records).left_out) == 2
    assert Fact.objects.get().text == "Pays by phone"


def test_nothing_is_told_of_an_import_that_was_refused(principal: Principal) -> None:
    bad = record("semantic", "x", id="2", supersedes=["nobody"])
    with pytest.raises(Exception, match="nobody"):
        import_memories(principal, [record("semantic", f"Pays with {CARD}", id="1"), bad])
    assert not events(principal, "memory.blocked")
