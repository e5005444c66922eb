"""The script in a member's real memory: told as episodes, and read back from the rows."""

from __future__ import annotations

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Source
from tenants.principal import Principal
from tests.memories.english.memory import LONG_BEFORE
from tests.memories.english.script import Script
from tests.memories.english.script.measure import Learned


def tell(principal: Principal, script: Script) -> None:
    """Have the member say all of it; what was known before is there first."""
    for text in script.known_before.values():
        remember_fact(principal, text=text, category="home", source=Source.IMPORTED, learned_at=LONG_BEFORE)
    drafts = [EpisodeDraft(said.text, said.at, script.person) for said in script.statements]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)


def learned(principal: Principal, script: Script) -> list[Learned]:
    """What the member's memory holds, in terms of the script."""
    numbers = {said.at: said.number for said in script.statements}
    return [
        Learned(
            fact.text, numbers.get(fact.learned_at), fact.valid_from,
            numbers[fact.superseded_at] if fact.superseded_at else None,
            Contradiction(fact.contradiction) if fact.contradiction else None,
            fact.superseded_by.text if fact.superseded_by else "",
        )
        for fact in Fact.objects.of(principal).select_related("superseded_by")
    ]  # fmt: skip
