"""Labelled texts (all, or as many as --texts says) through API and chat; many drawn values through every edge."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import hypothesis
import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from pytest_django import Settings

from memories.models import Message
from tenants.models import Membership
from tests.memories.agent.conftest import ScriptedModel, say
from tests.memories.api.caller import caller_of
from tests.memories.hygiene.sensitivity import pushing
from tests.memories.hygiene.sensitivity import through_edges as edges
from tests.memories.hygiene.sensitivity.labelled import LABELLED, Labelled
from tests.memories.hygiene.sensitivity.values import Value


@pytest.fixture
def labelled(pytestconfig: pytest.Config) -> list[Labelled]:
    """As many of the labelled texts as are asked for, from all over."""
    wanted = int(pytestconfig.getoption("--texts")) or len(LABELLED)
    return list(LABELLED[:: max(1, len(LABELLED) // wanted)])


def check(edge: str, texts: Sequence[Labelled], rates: edges.Rates) -> None:
    print(f"  {edge}: {len(texts)} texts, found {rates.found:.4f}, false {rates.false:.4f}")  # noqa: T201 - the finding
    assert rates.found >= edges.LEAST_FOUND and rates.false <= edges.MOST_FALSE


@pytest.mark.django_db
def test_the_api_refuses_every_labelled_text(membership: Membership, labelled: list[Labelled]) -> None:
    check("API", labelled, edges.rates(labelled, edges.through_the_api(caller_of(membership), labelled)))


@pytest.mark.django_db
def test_the_chat_masks_every_labelled_text(
    membership: Membership, client: Client, monkeypatch: pytest.MonkeyPatch, labelled: list[Labelled]
) -> None:
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda _tenant_id: ScriptedModel(say("I see.")))
    client.force_login(membership.user)
    check("chat", labelled, edges.rates(labelled, edges.through_the_chat(client, labelled)))
    said = Message.objects.filter(role="user").order_by("created_at")
    assert not edges.spilled(labelled, said.values_list("text", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="the files of a server are its own affair")
def test_no_byte_is_kept(index_dir: Path, caplog: pytest.LogCaptureFixture, settings: Settings, values: int) -> None:
    caplog.set_level(logging.DEBUG)

    @hypothesis.settings(
        max_examples=values, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(value=pushing.secrets(), around=pushing.wrapped())
    def push(value: Value, around: tuple[str, str]) -> None:
        pushing.push_and_look(value, around, index_dir, caplog, settings)
        caplog.clear()

    push()
