"""What a member does with a turn: edit it, have it answered again, judge it, undo what it saved."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Fact, Feedback, Message
from memories.selectors.sessions import transcript
from tenants.principal import Principal
from tests.memories.chat.lives import Life
from tests.memories.chat.views.test_sending import STREAM, events_of

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}


def address(name: str, life: Life, turn: int = 1) -> str:
    return reverse(f"chat:{name}", args=[life.session, turn])


def test_an_answer_is_shown_as_markdown(ada: Client) -> None:
    ada.post(reverse("chat:begin"), {"message": "Hello"})
    Message.objects.filter(step__gt=0).update(text="**Hi** <script>x</script>")
    page = ada.get(reverse("chat:session", args=[Message.objects.first().session_id]))  # type: ignore[union-attr]
    assert "<strong>Hi</strong> &lt;script&gt;x&lt;/script&gt;" in page.content.decode()


def test_an_edited_message_is_answered_in_the_place_of_the_old_one(
    ada: Client, life: Life, principal: Principal
) -> None:
    response = ada.post(address("edit", life), {"message": "We left Bristol for Leeds"}, headers=STREAM)
    first, *_, last = events_of(response)
    assert (first["turn"], last["type"], last["state"]) == (2, "page", "complete")
    assert [view.text for view in transcript(principal, life.session)] == ["We left Bristol for Leeds"]
    assert Fact.objects.get(pk=life.edinburgh).retracted
    page = ada.get(reverse("chat:session", args=[life.session])).content.decode()
    assert "We left Bristol for Leeds" in page and 'id="turn-1"' not in page


def test_an_edit_without_words_changes_nothing(ada: Client, life: Life, principal: Principal) -> None:
    refused = ada.post(address("edit", life), {"message": " "}, headers=STREAM)
    assert refused.status_code == 400
    assert len(transcript(principal, life.session)) == 1


def test_the_last_turn_is_answered_again_without_scripts(ada: Client, life: Life, principal: Principal) -> None:
    ada.post(address("again", life), follow=True)
    (view,) = transcript(principal, life.session)
    assert view.answer and view.answer != "Edinburgh it is."
    assert Message.objects.get(text="Edinburgh it is.").replaced_by == 1


def test_an_earlier_turn_is_not_answered_again(ada: Client, life: Life) -> None:
    ada.post(reverse("chat:send", args=[life.session]), {"message": "And now?"})
    refused = ada.post(address("again", life), headers=STREAM)
    assert (refused.status_code, "Only the last message" in refused.json()["message"]) == (409, True)


def test_thumbs_are_pressed_and_released(ada: Client, life: Life) -> None:
    pressed = ada.post(address("feedback", life), {"verdict": "down"}, headers=JSON).json()
    assert 'aria-pressed="true"' in pressed["html"] and "textarea" in pressed["html"]
    ada.post(address("feedback", life), {"verdict": "down", "note": "It is Leeds"}, headers=JSON)
    assert Feedback.objects.get().note == "It is Leeds"
    assert "It is Leeds" in ada.get(reverse("chat:session", args=[life.session])).content.decode()
    released = ada.post(address("feedback", life), {"verdict": ""}, headers=JSON).json()
    assert 'aria-pressed="true"' not in released["html"]
    assert not Feedback.objects.exists()


@pytest.mark.parametrize("form", [{"verdict": "sideways"}, {"verdict": "up", "note": "x" * 501}])
def test_feedback_that_cannot_be_is_refused_with_a_reason(ada: Client, life: Life, form: dict[str, str]) -> None:
    refused = ada.post(address("feedback", life), form, headers=JSON)
    assert (refused.status_code, bool(refused.json()["message"])) == (400, True)
    assert not Feedback.objects.exists()


def test_feedback_without_scripts_leads_back_to_the_answer(ada: Client, life: Life) -> None:
    response = ada.post(address("feedback", life), {"verdict": "up"})
    assert response["Location"] == f"{reverse('chat:session', args=[life.session])}#turn-1"


def test_what_a_turn_saved_is_undone_once(ada: Client, life: Life, principal: Principal) -> None:
    undone = ada.post(address("undo", life), headers=JSON)
    assert (undone.status_code, undone.json()["message"]) == (200, "")
    assert [row.text for row in Fact.objects.of(principal).current()] == ["Lives in Bristol"]
    assert ada.post(address("undo", life), headers=JSON).status_code == 409


@pytest.mark.english
def test_a_turn_that_saved_something_offers_an_undo(ada: Client) -> None:
    saved = ada.post(reverse("chat:begin"), {"message": "Remember that I am allergic to peanuts."}, headers=STREAM)
    assert "Undo" in events_of(saved)[-1]["saved_html"]
    nothing = ada.post(reverse("chat:begin"), {"message": "Hello"}, headers=STREAM)
    assert events_of(nothing)[-1]["saved_html"] == ""
