"""The script itself: its size, and that it names what it expects without mistakes."""

from __future__ import annotations

from tests.memories.english.script import load

SCRIPT = load()


def test_sixty_statements_over_two_years_change_something_25_times() -> None:
    assert len(SCRIPT.statements) == 60
    assert sum(said.update for said in SCRIPT.statements) == 25
    assert 600 < (SCRIPT.statements[-1].at - SCRIPT.statements[0].at).days < 800
    assert [said.at for said in SCRIPT.statements] == sorted(said.at for said in SCRIPT.statements)


def test_every_expected_fact_is_said_in_the_statement_in_its_own_words() -> None:
    facts = [(said, fact) for said in SCRIPT.statements for fact in said.facts]
    assert len({fact.name for _, fact in facts}) == len(facts)
    for said, fact in facts:
        assert fact.quote in said.text
        assert fact.is_said_by(fact.text)


def test_what_ends_was_known_before() -> None:
    known = set(SCRIPT.known_before)
    for said in SCRIPT.statements:
        over = {name for fact in said.facts for name in (*fact.replaces, *fact.makes_false, *fact.may_end)}
        over |= {name for end in said.ends for name in end.names}
        assert over <= known
        assert said.update == bool(over - {name for fact in said.facts for name in fact.may_end})
        known |= {fact.name for fact in said.facts}
