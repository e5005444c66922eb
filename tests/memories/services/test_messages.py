"""Messages of other agents as a service: one transaction, the turns of a session, and whose words they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memories.errors import InvalidInput, NotFound
from memories.models import Episode, EpisodeLedger, LearningOperation, Message, MessageRole, Session
from memories.services.sessions.messages import Learn, MessageDraft, record_messages, remember_said
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import begin_turn, finish_turn
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.kills import killed_anywhere

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

SAID = MessageDraft(MessageRole.USER, "I keep bees.")
ANSWERED = MessageDraft(MessageRole.ASSISTANT, "How many?")


def test_a_call_that_is_killed_anywhere_leaves_nothing(principal: Principal) -> None:
    def state() -> list[object]:
        models = (Session, Message, Episode, LearningOperation, EpisodeLedger, AuditEvent)
        return [list(model._default_manager.order_by("pk").values()) for model in models]

    messages = [SAID, ANSWERED, MessageDraft(MessageRole.USER, "Nine hives.")]
    assert killed_anywhere(lambda: record_messages(principal, messages, session="s"), state) > 10
    assert Message.objects.count() == 3 and Episode.objects.count() == 2


def test_messages_follow_the_turns_of_the_chat(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello.")
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Hello!")
    recorded = record_messages(principal, [ANSWERED, SAID], session=turn.session_id)
    assert [(each.message.turn, each.message.step) for each in recorded.messages] == [(1, 2), (2, 0)]
    assert begin_turn(principal, text="And now?", session_id=turn.session_id).turn == 3


def test_a_session_lives_on_from_now_whenever_its_words_were_said(principal: Principal) -> None:
    past = MessageDraft(MessageRole.USER, "I kept bees.", at=datetime(2020, 5, 1, tzinfo=UTC))
    session = record_messages(principal, [past], session="s").session
    assert session.expires_at is not None and session.expires_at > timezone.now() + timedelta(hours=1)
    assert session.last_turn_at > timezone.now() - timedelta(minutes=1)
    assert Episode.objects.get().happened_at == past.at and session.title == "I kept bees."


def test_episodes_and_operation_are_on_record(principal: Principal) -> None:
    recorded = record_messages(principal, [SAID, ANSWERED, SAID])
    assert recorded.operation is not None
    assert (recorded.operation.first_ordinal, recorded.operation.last_ordinal) == (1, 2)
    assert EpisodeLedger.objects.get().asked == 2
    actions = AuditEvent.objects.filter(owner_id=principal.user_id).order_by("sequence")
    assert [event.action for event in actions] == ["session.created", "episode.created", "episode.created"]


def test_on_schedule_nothing_is_asked_for(principal: Principal) -> None:
    session = start_session(principal)
    remember_said(principal, session_id=session.pk, text="I keep bees.", name="Grace")
    assert EpisodeLedger.objects.get().asked is None and not LearningOperation.objects.exists()
    message = Message.objects.get()
    assert (message.own, message.learn, message.speaker) == (False, True, "Grace")


def test_a_session_by_its_uuid_must_be_ones_own(principal: Principal, stranger: Principal) -> None:
    theirs = start_session(stranger)
    with pytest.raises(NotFound):
        record_messages(principal, [SAID], session=theirs.pk)
    assert not Message.objects.exists()


def test_bad_times_and_ended_members_store_nothing(principal: Principal, membership: Membership) -> None:
    with pytest.raises(InvalidInput) as caught:
        record_messages(principal, [SAID, MessageDraft(MessageRole.USER, "x", at=datetime(2020, 5, 1))])  # noqa: DTZ001
    assert caught.value.field == "messages.1.at"
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    with pytest.raises(Forbidden):
        record_messages(principal, [SAID], learn=Learn.OFF)
    assert not Session.objects.exists()
