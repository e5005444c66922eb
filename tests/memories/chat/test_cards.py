"""Cards: a memory with where it came from and what took its place."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from memories.chat.presenting import cards_of
from memories.selectors.memories import get_memory
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn
from memories.types import Kind, Scope
from tenants.principal import Principal
from tests.memories.chat.lives import live

pytestmark = pytest.mark.django_db


def test_a_replaced_fact_links_to_what_replaced_it(principal: Principal) -> None:
    life = live(principal)
    (card,) = cards_of(principal, [get_memory(principal, Kind.SEMANTIC, life.bristol)])
    assert card.successor
    assert (card.successor.text, str(life.edinburgh) in card.successor.url) == ("Lives in Edinburgh", True)
    assert (card.current, card.can_correct, card.can_forget) == (False, False, True)


def test_what_is_shared_can_be_read_and_not_changed(principal: Principal, admin_principal: Principal) -> None:
    entry = remember_catalog_entry(admin_principal, title="Holidays", text="27 days").memory_id
    fact = remember_fact(admin_principal, text="We close in August", scope=Scope.TENANT).memory_id
    rows = [get_memory(principal, Kind.CATALOG, entry), get_memory(principal, Kind.SEMANTIC, fact)]
    for card in cards_of(principal, rows, quotes=True):
        assert (card.shared, card.can_correct, card.can_forget) == (True, False, False)


def test_what_the_reader_said_is_told_in_the_second_person(principal: Principal) -> None:
    episode = begin_turn(principal, text="I live in Hull").episode_id
    assert episode
    with translation.override("de"):
        (card,) = cards_of(principal, [get_memory(principal, Kind.EPISODIC, episode)])
        assert "Sie haben das gesagt" in render_to_string("_origin.html", {"card": card})
