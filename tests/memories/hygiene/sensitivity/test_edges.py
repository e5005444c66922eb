"""The labelled texts through each edge: what must not be stored is stopped there, and little else."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from memories.models import Episode, Message
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, say
from tests.memories.api.caller import caller_of
from tests.memories.hygiene.sensitivity import through_edges as edges
from tests.memories.hygiene.sensitivity.labelled import LABELLED

pytestmark = pytest.mark.django_db

# A request for each text takes its time: all of them are a proof, see tests/proofs/test_masking.py.
SOME, FEW = LABELLED[::8], LABELLED[::32]


@pytest.fixture(autouse=True)
def _no_limits(settings: Settings) -> None:
    """One member says in seconds what takes a day."""
    settings.MEMORYHUB_LIMITS = {}


def check(rates: edges.Rates) -> None:
    assert rates.found >= edges.LEAST_FOUND and rates.false <= edges.MOST_FALSE


@pytest.mark.long
def test_the_api_refuses_them(membership: Membership) -> None:
    check(edges.rates(SOME, edges.through_the_api(caller_of(membership), SOME)))


@pytest.mark.long
def test_an_import_of_memories_leaves_them_out(principal: Principal) -> None:
    check(edges.rates(LABELLED, edges.through_an_import_of_memories(principal, LABELLED)))


@pytest.mark.long
def test_an_import_of_a_conversation_masks_them(principal: Principal) -> None:
    check(edges.rates(LABELLED, edges.through_an_import_of_a_conversation(principal, LABELLED)))
    for stored in (Episode.objects.order_by("sequence"), Message.objects.order_by("turn")):
        assert not edges.spilled(LABELLED, stored.values_list("text", flat=True))


@pytest.mark.long
def test_the_chat_masks_them(membership: Membership, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda _tenant_id: ScriptedModel(say("I see.")))
    client.force_login(membership.user)
    check(edges.rates(FEW, edges.through_the_chat(client, FEW)))
    said = Message.objects.filter(role="user").order_by("created_at")
    assert not edges.spilled(FEW, said.values_list("text", flat=True))
