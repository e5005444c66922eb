"""A small batch: what Ada said lately, and what is known of her."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.consolidation.material import EpisodeText, KnownFact, KnownPlaybook, Material
from memories.types import Source, Status

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def episode(text: str, *, place: int = 1, **members: Any) -> EpisodeText:
    """The `place`-th episode, said `place` hours after noon."""
    made: dict[str, Any] = {
        "id": uuid.UUID(int=100 + place),
        "ordinal": place,
        "session_id": uuid.UUID(int=1),
        "speaker": "Ada",
        "own": True,
        "happened_at": NOON + timedelta(hours=place),
    }
    return EpisodeText(text=text, **made | members)


def fact(text: str, *, place: int = 1, **members: Any) -> KnownFact:
    """The `place`-th known fact."""
    made: dict[str, Any] = {
        "id": uuid.UUID(int=200 + place),
        "key": "",
        "category": "",
        "source": Source.USER_STATED,
        "confidence": 1.0,
        "status": Status.ACTIVE,
        "learned_at": NOON - timedelta(days=400),
    }
    return KnownFact(text=text, **made | members)


def playbook(title: str, *steps: str, place: int = 1, **members: Any) -> KnownPlaybook:
    """The `place`-th known playbook."""
    return KnownPlaybook(uuid.UUID(int=300 + place), title, title.lower(), steps, **members)


def batch() -> Material:
    """A move, an answer to a question of the assistant, and words of somebody else."""
    return Material(
        speaker="Ada",
        episodes=(
            episode("We left Bristol, in Edinburgh since March.", place=1),
            episode("Yes, that worked!", place=2, before="Try a new drum.", recalled=(uuid.UUID(int=201),)),
            episode("I keep bees.", place=3, own=False, speaker="Bob"),
        ),
        facts=(
            fact("Lives in Bristol", place=1, key="home_city", category="home"),
            fact("Rents from Mr Okoro in Bristol", place=2),
            fact("Studied in Bristol", place=3, status=Status.SUPERSEDED, retracted=True),
        ),
        playbooks=(playbook("Mend the washing machine", "Order a drum", "Swap the drum", success_count=2),),
    )
