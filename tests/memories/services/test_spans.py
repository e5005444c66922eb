"""The spans of work behind the answers: counted, and without a word of what it was about."""

from __future__ import annotations

import pytest

from memories.models import Fact
from memories.search import outbox, search_plane
from memories.services.consolidation import consolidate
from memories.services.facts.remember import remember_fact
from memories.services.retention.hygiene_run import hygiene_scan
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal
from tests.collector import collecting

pytestmark = pytest.mark.django_db


def test_what_runs_behind_the_answers_is_seen(principal: Principal) -> None:
    remember_fact(principal, text="Plays the xylophone")
    remember_episode(principal, session_id=start_session(principal).pk, text="I live in Xanten.")
    with collecting() as collector:
        outbox.drain()
        report = consolidate(principal)
        scanned = hygiene_scan(apply=True)
        drained, consolidated, hygiene = map(collector.span, ("outbox", "consolidation", "hygiene"))
    rebuilt = int(search_plane().name == "embedded")  # the first change of an owner makes their file
    assert drained.attributes == {"entries": 2, "delivered": 2, "failed": 0, "rebuilt": rebuilt}
    assert consolidated.attributes == {"run": str(report.runs[0]), "episodes": 1, "trigger": "demand"}
    assert (
        hygiene.attributes.items()
        >= {"run": str(scanned.run_id), "state": "done", "facts": Fact.objects.count()}.items()
    )
    said = b"".join(collector.bodies).lower()
    assert not any(word in said for word in (b"xylophone", b"xanten"))
