"""A message of nothing but questions, from which a consolidation learned nothing, is kept out of recall."""

from __future__ import annotations

from uuid import UUID

import pytest
from pytest_django import Settings

from memories.consolidation.rules import is_all_questions
from memories.models import Episode, Session
from memories.recall.pipeline import recall
from memories.search.checking import check
from memories.search.outbox import drain, rebuild_owner
from memories.services.consolidation import consolidate
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.types import Kind, Owner
from tenants.principal import Principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, literally, nothing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


@pytest.fixture(autouse=True)
def _no_rules(settings: Settings) -> None:
    settings.MEMORYHUB_RULES = ""


def said(principal: Principal, text: str) -> UUID:
    turn = begin_turn(principal, text=text)
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="Gut.")
    assert turn.episode_id
    return turn.episode_id


def recallable() -> set[str]:
    return set(Episode.objects.filter(recallable=True).values_list("text", flat=True))


def test_a_question_is_kept_out_once_it_was_read_in_vain(principal: Principal) -> None:
    question = said(principal, "Wo wohne ich?")
    news = said(principal, "Ich wohne in Hamburg.")
    assert recallable() == {"Wo wohne ich?", "Ich wohne in Hamburg."}, "before it was read, nobody knows"
    drain()
    consolidate(principal, extractor=ScriptedExtractor([nothing]))
    assert recallable() == {"Ich wohne in Hamburg."}
    drain()
    assert check(Owner(principal.tenant_id, principal.user_id)).ok
    rebuild_owner(Owner(principal.tenant_id, principal.user_id))
    found = {item.id for item in recall(principal, "Wo wohne ich?", types=[Kind.EPISODIC]).items}
    assert news in found and question not in found
    assert Session.objects.of(principal).count() == 2


def test_a_question_with_news_stays(principal: Principal) -> None:
    said(principal, "Ich bin nach Hamburg gezogen, sagte ich das schon?")
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).episodes == 1
    assert recallable() == {"Ich bin nach Hamburg gezogen, sagte ich das schon?"}


def test_a_question_in_a_conversation_of_two_stays_for_its_answer(principal: Principal) -> None:
    asked = said(principal, "Wo wohnst du?")
    answer = EpisodeDraft("In Kiel.", speaker="Olaf")
    remember_episodes(principal, session_id=Episode.objects.get(pk=asked).session_id, drafts=[answer])
    assert consolidate(principal, extractor=ScriptedExtractor([nothing])).episodes == 2
    assert "Wo wohnst du?" in recallable()


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Where?", True),
        ("你住在哪里？", True),
        ("أين أسكن؟", True),
        ("Hi! Where?", False),
        ("Where? In Leeds.", False),
        ("", False),
        ("?!", False),
    ],
)
def test_each_sentence_must_ask(text: str, asks: bool) -> None:
    assert is_all_questions(text) is asks
