"""`manage.py recall`: an answer for people, one for machines, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.models import RecallTrace
from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.management.conftest import Answered

pytestmark = pytest.mark.django_db

MARCH, MAY = datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC)


@pytest.fixture
def ada(principal: Principal, membership: Membership) -> tuple[str, ...]:
    """How Ada is named on the command line; she moved from Bristol to Edinburgh in May."""
    remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH)
    remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MAY)
    return ("--tenant", membership.tenant.slug, "--user", membership.user.username)


def texts(answer: dict[str, Any]) -> set[str]:
    return {item["text"] for item in answer["items"]}


def test_it_answers_what_was_believed_then(ada: tuple[str, ...], answered: Answered) -> None:
    assert texts(answered("recall", "where do I live?", *ada, "--as-of", "2025-04-01")) == {"Lives in Bristol"}


def test_it_shows_what_was_superseded(ada: tuple[str, ...], answered: Answered) -> None:
    answer = answered("recall", "where do I live?", *ada, "--include-superseded")
    assert {item["status"] for item in answer["items"]} == {"active", "superseded"}


def test_types_and_limit_narrow_it(ada: tuple[str, ...], answered: Answered) -> None:
    assert not answered("recall", "where do I live?", *ada, "--types", "episodic,procedural")["items"]
    assert len(answered("recall", "where do I live?", *ada, "--limit", "1", "--include-superseded")["items"]) == 1


def test_explain_gives_stages_and_signals(ada: tuple[str, ...], answered: Answered) -> None:
    answer = answered("recall", "where do I live?", *ada, "--explain")
    assert answer["stages"]["selected"]["count"] == 1
    assert answer["candidates"][0]["signals"]["meaning"] > 0
    assert RecallTrace.objects.get().pk.hex == answer["trace"].replace("-", "")


def test_a_table_is_printed_for_people(ada: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("recall", "where do I live?", *ada, "--explain")
    printed = capsys.readouterr().out
    assert "Edinburgh" in printed and "Stages" in printed
    call_command("recall", "where?", *ada, "--types", "catalog")
    assert "Nothing was found" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--types", "dreams"), ("--as-of", "yesterday"), ("--limit", "0")], ids=str)
def test_bad_options_are_refused(ada: tuple[str, ...], arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        call_command("recall", "where?", *ada, *arguments)


def test_recall_isolates_other_members(ada: tuple[str, ...], other_member: Principal, answered: Answered) -> None:
    bob = ("--tenant", str(other_member.tenant_id), "--user", str(other_member.user_id))
    assert not answered("recall", "where do I live?", *bob, "--include-superseded")["items"]
