"""Classifying: a real endpoint judges suspicious values by their shape; without its answer they are as they were."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.db import transaction
from pytest_django import Settings

from memories.errors import Blocked
from memories.models import Episode, Fact
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn
from tenants.principal import Principal
from tests.openai_server import OpenAIServer, Refuse, Reply, openai_server, said_as_json

pytestmark = pytest.mark.django_db(transaction=True)

VALUE = "q7Vn2Lx9" + "Tz4Rb8Wk1Mj6Hs3Dp5Yc"
TEXT = f"Open the shed with {VALUE} on the pad"
SECRET = said_as_json({"verdict": "secret", "reason": "password"})
HARMLESS = said_as_json({"verdict": "harmless", "reason": "identifier"})


Configure = Callable[[OpenAIServer], None]


@pytest.fixture
def configured(settings: Settings) -> Configure:
    def use(server: OpenAIServer) -> None:
        settings.MEMORYHUB_CLASSIFIER_MODEL = "guard"
        settings.MEMORYHUB_CLASSIFIER_URL = server.base_url
        settings.OPENAI_API_KEY = "sk-of-another-endpoint"

    return use


def test_what_the_model_calls_a_secret_is_blocked(principal: Principal, configured: Configure) -> None:
    with openai_server(SECRET) as server:
        configured(server)
        with pytest.raises(Blocked):
            remember_fact(principal, text=TEXT)
        assert begin_turn(principal, text=TEXT).text == "Open the shed with [secret removed] on the pad"
        asked = json.dumps(server.requests, ensure_ascii=False)
    shape = "".join("9" if each.isdigit() else "A" if each.isupper() else "a" for each in VALUE)
    assert f"Open the shed with ⟦{shape}⟧ on the pad" in asked
    assert VALUE not in asked and VALUE[:6] not in asked
    assert server.keys == ["none"] * 2


def test_what_it_calls_harmless_is_stored_unmarked(principal: Principal, configured: Configure) -> None:
    with openai_server(HARMLESS) as server:
        configured(server)
        begin_turn(principal, text=TEXT)
    episode = Episode.objects.get()
    assert (episode.text, episode.sensitivity) == (TEXT, {})


@pytest.mark.parametrize("reply", [Refuse(500), said_as_json({"verdict": "perhaps"})], ids=["down", "nonsense"])
def test_without_an_answer_it_stays_suspicious(
    reply: Reply, principal: Principal, configured: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    with openai_server(reply) as server:
        configured(server)
        begin_turn(principal, text=TEXT)
    assert Episode.objects.get().sensitivity == {"suspicious": "allow"}
    assert "not classified" in caplog.text and VALUE not in caplog.text


def test_nothing_is_asked_while_a_lock_is_held_or_about_plain_words(
    principal: Principal, configured: Configure
) -> None:
    with openai_server(SECRET) as server:
        configured(server)
        remember_fact(principal, text="Lives in Bristol")
        with transaction.atomic():
            remember_fact(principal, text=TEXT)
        assert server.requests == []
    assert Fact.objects.get(text=TEXT).sensitivity == {"suspicious": "allow"}
