"""Importing conversations: where each turn goes, twice adds nothing, and nothing is half imported."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memories.errors import InvalidInput
from memories.importing import ConversationSession, ConversationTurn
from memories.models import Episode, Message, OutboxEntry, Session
from memories.selectors.sessions import transcript
from memories.services.erasure.forget import forget, forget_session
from memories.services.portability.sessions_import import import_sessions
from memories.types import Kind
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Principal, Right

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

START = datetime(2025, 5, 1, 9, 0, tzinfo=UTC)


def turn(key: str, text: str = "", *, minute: int = 0, assistant: bool = False, speaker: str = "") -> ConversationTurn:
    """One turn, `minute` minutes after START."""
    return ConversationTurn(
        key=key,
        place=f"line {key}",
        text=text or f"said {key}",
        happened_at=START + timedelta(minutes=minute),
        speaker=speaker,
        from_assistant=assistant,
        remembered=not assistant,
    )


CHAT = ConversationSession(
    "chat",
    (
        turn("1", "My bike squeaks"),
        turn("2", "Oil the chain.", minute=1, assistant=True),
        turn("3", "Wipe it after.", minute=2, assistant=True),
        turn("4", "Thanks!", minute=3),
    ),
)


def test_turns_go_to_the_transcript_and_the_owner_s_to_memory_at_their_own_times(principal: Principal) -> None:
    report = import_sessions(principal, [CHAT], source="jsonl")
    session = Session.objects.of(principal).get()
    said, thanks = transcript(principal, session.pk)
    later = START + timedelta(minutes=3)
    assert (report.sessions, report.messages, report.added) == (1, 4, {Kind.EPISODIC: 2})
    assert (session.title, session.created_at, session.last_turn_at) == ("My bike squeaks", START, later)
    assert session.expires_at is None and thanks.episode_id == report.ids["4"]
    assert (said.text, said.speaker, said.answer) == ("My bike squeaks", "Ada", "Oil the chain.\n\nWipe it after.")
    episodes = Episode.objects.of(principal).order_by("sequence").values_list("text", "happened_at")
    assert list(episodes) == [("My bike squeaks", START), ("Thanks!", later)]
    events = AuditEvent.objects.filter(action="episode.created").values_list("target_id", flat=True)
    assert set(events) == set(report.ids.values()) == set(OutboxEntry.objects.values_list("memory_id", flat=True))


def test_in_a_conversation_of_two_people_each_is_remembered_by_name(principal: Principal) -> None:
    said = (turn("1", speaker="Ines"), turn("2", speaker="Olaf", minute=1))
    import_sessions(principal, [ConversationSession("talk", said, "Ines and Olaf")], source="locomo")
    speakers = Episode.objects.of(principal).order_by("sequence").values_list("speaker", flat=True)
    assert list(speakers) == ["Ines", "Olaf"]
    assert Session.objects.of(principal).get().title == "Ines and Olaf"


def test_the_assistant_may_open_the_conversation(principal: Principal) -> None:
    greeting = ConversationSession("g", (turn("1", "Hello!", assistant=True), turn("2", "Hi", minute=1)))
    import_sessions(principal, [greeting], source="jsonl")
    opening, reply = transcript(principal, Session.objects.of(principal).get().pk)
    assert (opening.text, opening.answer, opening.episode_id) == ("", "Hello!", None)
    assert (reply.text, reply.answer_state) == ("Hi", None)


def test_twice_adds_nothing(principal: Principal) -> None:
    first = import_sessions(principal, [CHAT], source="jsonl")
    events, queued = AuditEvent.objects.count(), OutboxEntry.objects.count()
    second = import_sessions(principal, [CHAT], source="jsonl")
    assert (second.total_added, second.messages, second.known) == (0, 0, 4)
    assert second.ids == first.ids
    assert (AuditEvent.objects.count(), OutboxEntry.objects.count()) == (events, queued)


def test_what_the_source_has_more_now_is_appended(principal: Principal) -> None:
    import_sessions(principal, [CHAT], source="jsonl")
    longer = replace(CHAT, turns=(*CHAT.turns, turn("5", "Any time.", minute=4, assistant=True), turn("6", minute=5)))
    report = import_sessions(principal, [longer], source="jsonl")
    _, thanks, last = transcript(principal, Session.objects.of(principal).get().pk)
    assert (report.sessions, report.messages, report.known) == (0, 2, 4)
    assert (thanks.answer, last.text) == ("Any time.", "said 6")
    assert Episode.objects.of(principal).get(text="said 6").sequence == 3


def test_one_turn_that_cannot_be_stored_leaves_nothing(principal: Principal) -> None:
    bad = ConversationSession("bad", tuple(turn(str(n), "\x00" if n == 500 else "", minute=n) for n in range(1, 600)))
    with pytest.raises(InvalidInput, match="line 500: text holds a NUL"):
        import_sessions(principal, [CHAT, bad], source="jsonl")
    assert not any(model.objects.of(principal).exists() for model in (Session, Message, Episode))
    assert not OutboxEntry.objects.exists()


def test_a_turn_id_that_is_used_twice_is_refused(principal: Principal) -> None:
    with pytest.raises(InvalidInput, match="line 1: has the same id as line 1"):
        import_sessions(principal, [ConversationSession("s", (turn("1"), turn("1")))], source="locomo")


def test_what_was_forgotten_does_not_come_back(principal: Principal) -> None:
    other = ConversationSession("other", (turn("9"),))
    report = import_sessions(principal, [CHAT, other], source="jsonl")
    forget(principal, kind=Kind.EPISODIC, memory_id=report.ids["1"])
    forget_session(principal, session_id=Episode.objects.of(principal).get(pk=report.ids["9"]).session_id)
    again = import_sessions(principal, [CHAT, other], source="jsonl")
    assert (again.total_added, again.known, again.forgotten) == (0, 4, 1)
    assert set(again.ids) == {"4"}
    assert Episode.objects.of(principal).count() == 1


def test_an_import_isolates_others(principal: Principal, stranger: Principal) -> None:
    mine, theirs = (import_sessions(who, [CHAT], source="jsonl") for who in (principal, stranger))
    assert theirs.total_added == 2
    assert not set(mine.ids.values()) & set(theirs.ids.values())
    assert Episode.objects.of(principal).count() == Episode.objects.of(stranger).count() == 2


def test_an_import_needs_the_right_to_write(principal: Principal) -> None:
    with pytest.raises(Forbidden, match="memory:write"):
        import_sessions(replace(principal, rights=frozenset({Right.READ})), [CHAT], source="jsonl")
