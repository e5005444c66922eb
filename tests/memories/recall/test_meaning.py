"""Recalls with the encoder of a provider, and with the bundled one in its place: never with both."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from memories.embedding import bundled_encoder_name
from memories.models import Fact, RecallTrace
from memories.recall.meaning import StoodIn
from memories.recall.pipeline import recall
from memories.search import reembedding
from memories.search.checking import IndexProblem, check
from memories.search.outbox import drain
from memories.search.reembedding import embed_some
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.types import Owner
from memoryhub import json_endpoint
from memoryhub.jobs import JobResult
from tenants.principal import Principal
from tests.openai_server import OpenAIServer, Refuse, openai_server
from tests.parts import about_the_embedded_plane
from tests.providers import DIMENSIONS, NAME, embed_with, vectors

pytestmark = [pytest.mark.django_db, about_the_embedded_plane]

QUESTION = "What makes her throat swell?"


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job has not looked yet, and an endpoint is tried again at once."""
    monkeypatch.setattr(reembedding, "_pass", None)
    monkeypatch.setattr(json_endpoint, "RETRY_SECONDS", 0.01)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(vectors()) as running:
        yield running


@pytest.fixture
def stored(principal: Principal) -> Principal:
    """Ada with an indexed fact, whose vector is that of the encoder of this time."""
    remember_fact(principal, text="Peanuts make her throat swell")
    drain()
    return principal


def said(principal: Principal, query: str = QUESTION) -> tuple[float, dict[str, object]]:
    """The cosine of the only answer, and the parameters that its trace holds."""
    (item,) = recall(principal, query).items
    return item.signals["cosine"], RecallTrace.objects.latest("created_at").parameters


def test_memories_and_queries_have_vectors_of_the_provider(
    settings: Settings, server: OpenAIServer, principal: Principal
) -> None:
    embed_with(settings, server)
    remember_fact(principal, text="Peanuts make her throat swell")
    drain()
    assert Fact.objects.values_list("embedding_model", flat=True).get() == NAME
    assert len(Fact.objects.get().embedding or b"") == DIMENSIONS
    cosine, trace = said(principal)
    assert cosine > 0.5 and trace["encoder"] == NAME and trace["model_tokens"] == 7 and "stood_in" not in trace
    assert said(principal)[1]["model_tokens"] == 0  # the query is cached


def test_a_just_written_memory_is_encoded_by_the_provider(
    settings: Settings, server: OpenAIServer, principal: Principal
) -> None:
    embed_with(settings, server)
    remember_fact(principal, text="Peanuts make her throat swell")
    assert said(principal)[0] > 0.5


def test_the_bundled_encoder_stands_in_for_an_endpoint_that_does_not_answer(
    settings: Settings, server: OpenAIServer, principal: Principal
) -> None:
    bundled = said_by_the_bundled(principal)
    embed_with(settings, server)
    while embed_some() is JobResult.MORE:
        pass
    server.script = [Refuse(503)]
    cosine, trace = said(principal)
    assert cosine == pytest.approx(bundled, abs=0.02)
    assert (trace["encoder"], trace["stood_in"]) == (bundled_encoder_name(), StoodIn.NO_ANSWER)


def said_by_the_bundled(principal: Principal) -> float:
    remember_fact(principal, text="Peanuts make her throat swell")
    drain()
    return said(principal)[0]


def test_an_outage_of_the_endpoint_keeps_a_write_for_later_and_recalls_it_meanwhile(
    settings: Settings, server: OpenAIServer, principal: Principal
) -> None:
    embed_with(settings, server)
    server.script = [Refuse(401)]
    remember_fact(principal, text="Peanuts make her throat swell")
    assert drain().failed == 1
    assert said(principal)[1]["stood_in"] == StoodIn.NO_ANSWER


def test_until_an_owner_is_re_embedded_their_recall_uses_the_encoder_before(
    settings: Settings, server: OpenAIServer, stored: Principal
) -> None:
    before, _ = said(stored)
    embed_with(settings, server)
    (difference,) = check(Owner(stored.tenant_id, stored.user_id)).differences
    assert difference.problem is IndexProblem.OTHER_ENCODER
    meanwhile, trace = said(stored)
    assert meanwhile == pytest.approx(before, abs=0.02) and trace["stood_in"] == StoodIn.RE_EMBEDDING
    while embed_some() is JobResult.MORE:
        pass
    after, trace = said(stored)
    assert after != pytest.approx(before, abs=0.02) and trace["encoder"] == NAME


def test_what_a_tenant_shares_is_re_embedded_before_its_members_use_the_new_encoder(
    settings: Settings, server: OpenAIServer, stored: Principal, admin_principal: Principal
) -> None:
    remember_catalog_entry(admin_principal, title="Throat", text="Peanuts may swell it")
    drain()
    embed_with(settings, server)
    Fact.objects.update(embedding=None)
    drain()
    assert {item.signals["cosine"] != 0 for item in recall(stored, QUESTION).items} == {True}
    assert RecallTrace.objects.latest("created_at").parameters["encoder"] == bundled_encoder_name()


def test_vectors_of_a_provider_that_is_gone_are_searched_by_words_until_they_are_made_anew(
    settings: Settings, server: OpenAIServer, principal: Principal
) -> None:
    embed_with(settings, server)
    remember_fact(principal, text="Peanuts make her throat swell")
    drain()
    settings.MEMORYHUB_EMBEDDING_MODEL = ""
    cosine, trace = said(principal)
    assert trace["by_words_alone"] and cosine > 0.3
    while embed_some() is JobResult.MORE:
        pass
    assert "by_words_alone" not in said(principal)[1]


def test_the_progress_is_shown_and_a_command_goes_on_where_an_outage_stopped(
    settings: Settings,
    server: OpenAIServer,
    stored: Principal,
    capsys: pytest.CaptureFixture[str],
) -> None:
    embed_with(settings, server)
    server.script = [Refuse(401)]
    with pytest.raises(CommandError, match="status-401"):
        call_command("index", "embed", "--now")
    server.script = [vectors()]
    shown = []
    for options in ([], ["--now"]):
        call_command("index", "embed", "--json", *options)
        shown.append(json.loads(capsys.readouterr().out))
    assert [(each["encoder"], each["memories"], each["embedded"]) for each in shown] == [(NAME, 1, 0), (NAME, 1, 1)]
    assert shown[0]["owners_waiting"] and not shown[1]["owners_waiting"]
