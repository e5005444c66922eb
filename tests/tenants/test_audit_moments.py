"""Days as people write them, and actions that a log does not have."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tenants.audit.actions import action_words, counted_actions, unknown_action
from tenants.audit.listing import AuditFilter
from tenants.audit.moments import read_moment
from tenants.errors import InvalidValue
from tenants.principal import Principal
from tests.tenants.audit_events import append


@pytest.mark.parametrize(
    "words", ["2026-11-15", "15/11/2026", "11/15/2026", "15.11.2026", "15 Nov 2026", "November 15, 2026", "2026/11/15"]
)
def test_a_day_is_read_in_each_usual_form(words: str) -> None:
    assert read_moment("since", words) == datetime(2026, 11, 15, tzinfo=UTC)
    assert read_moment("until", words, end=True) == datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize("words", ["2026-12", "December 2026", "Dec 2026"])
def test_a_month_is_all_of_it(words: str) -> None:
    assert read_moment("since", words) == datetime(2026, 12, 1, tzinfo=UTC)
    assert read_moment("until", words, end=True) == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_moment_of_the_list_is_read_back() -> None:
    assert read_moment("since", "2026-03-31 18:00:05 UTC") == datetime(2026, 3, 31, 18, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "why"), [("3/4/2026", "exchanged"), ("31/2/2026", "Give a day"), ("9999-12-31", "no such day")]
)
def test_what_could_be_two_days_or_none_is_refused(words: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        read_moment("until", words, end=True)


def test_an_action_that_the_log_does_not_have_is_said_to_be_unknown(principal: Principal) -> None:
    append(principal, "fact.superseded", "fact.superseded", "fact.created")
    wanted = AuditFilter(principal.tenant_id)
    known = counted_actions(wanted)
    assert [(each.action, each.count) for each in known] == [("fact.created", 1), ("fact.superseded", 2)]

    def said(action: str) -> str:
        return unknown_action(AuditFilter(principal.tenant_id, action=action), known)

    assert said("fact.superseded") == said("fact.*") == said("") == ""
    assert "“supersed”" in said("supersed") and "It has: fact.superseded." in said("supersed")
    assert "Choose one from the list" in said("zebra.*")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("fact.superseded", "Fact superseded"),
        ("episode.forgotten", "Event deleted"),
        ("playbook.*", "How-to: anything"),
        ("memory.read", "Memory looked at"),
    ],
)
def test_an_action_has_words(action: str, words: str) -> None:
    assert action_words(action) == words
