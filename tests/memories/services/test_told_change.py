"""The trail tells of a memory that ended how it was before, and what the ending made of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire
from memories.types import Contradiction, Kind
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

SAID = datetime(2026, 3, 3, 9, 0, tzinfo=UTC)
MOVED = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


def told(action: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    said = AuditEvent.objects.select_related("payload").get(action=action).payload.data
    return said["before"], said["after"]


def hull(principal: Principal) -> Any:
    return remember_fact(principal, text="Lives in Hull", key="home_city", learned_at=SAID).memory_id


def test_what_was_replaced_is_told_as_it_was_believed(principal: Principal) -> None:
    hull(principal)
    york = remember_fact(principal, text="Lives in York", key="home_city", learned_at=MOVED).memory_id
    before, after = told("fact.superseded")
    assert (before["status"], before["valid_to"], before["text"]) == ("active", None, "Lives in Hull")
    assert "contradiction" not in before
    ended = {"status": "superseded", "contradiction": "natural", "valid_to": MOVED.isoformat()}
    assert after == before | ended | {"superseded_by": str(york)}


@pytest.mark.parametrize("contradiction", Contradiction)
def test_what_was_retired_too(principal: Principal, contradiction: Contradiction) -> None:
    retire(principal, kind=Kind.SEMANTIC, memory_id=hull(principal), contradiction=contradiction, at=MOVED)
    before, after = told("fact.retired")
    ended = {"valid_to": MOVED.isoformat()} if contradiction is Contradiction.NATURAL else {}
    assert (before["status"], before["valid_to"]) == ("active", None)
    assert after == before | {"status": "superseded", "contradiction": str(contradiction)} | ended


def test_a_correction_of_the_past_tells_how_it_was(principal: Principal) -> None:
    hull(principal)
    remember_fact(principal, text="Lives in York", key="home_city", learned_at=MOVED)
    old = AuditEvent.objects.get(action="fact.superseded").target_id
    assert old is not None
    correct(principal, kind=Kind.SEMANTIC, memory_id=old, text="Lives in Hessle")
    told_of_old = AuditEvent.objects.select_related("payload").filter(action="fact.superseded", target_id=old)
    said = told_of_old.latest("sequence").payload.data
    assert said["before"]["contradiction"] == "natural" and said["after"]["contradiction"] == "harsh"
