"""All labelled texts through the API and the chat, and many drawn values pushed through every edge."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from pytest_django import Settings

from memories.models import Message
from tenants.models import Membership
from tests.memories.agent.conftest import ScriptedModel, say
from tests.memories.api.caller import caller_of
from tests.memories.hygiene.sensitivity import pushing
from tests.memories.hygiene.sensitivity import through_edges as edges
from tests.memories.hygiene.sensitivity.labelled import LABELLED
from tests.memories.hygiene.sensitivity.values import Value

EXAMPLES = 60


def check(edge: str, rates: edges.Rates) -> None:
    print(f"  {edge}: {len(LABELLED)} texts, found {rates.found:.4f}, false {rates.false:.4f}")  # noqa: T201 - the finding
    assert rates.found >= edges.LEAST_FOUND and rates.false <= edges.MOST_FALSE


@pytest.mark.django_db
def test_the_api_refuses_every_labelled_text(membership: Membership) -> None:
    check("API", edges.rates(LABELLED, edges.through_the_api(caller_of(membership), LABELLED)))


@pytest.mark.django_db
def test_the_chat_masks_every_labelled_text(
    membership: Membership, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.agent.loop.chat_model", lambda: ScriptedModel(say("I see.")))
    client.force_login(membership.user)
    check("chat", edges.rates(LABELLED, edges.through_the_chat(client, LABELLED)))
    said = Message.objects.filter(role="user").order_by("created_at")
    assert not edges.spilled(LABELLED, said.values_list("text", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="the files of a server are its own affair")
@settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(value=pushing.secrets(), around=pushing.wrapped())
def test_no_byte_of_any_value_is_kept(
    index_dir: Path, caplog: pytest.LogCaptureFixture, settings: Settings, value: Value, around: tuple[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    pushing.push_and_look(value, around, index_dir, caplog, settings)
    caplog.clear()
