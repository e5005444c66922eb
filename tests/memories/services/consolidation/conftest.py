"""What the tests of the consolidation share: an extractor that does as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memories.consolidation.material import Extraction, ExtractionFault, FaultKind, Material, Proposal, ProposedFact
from memories.models import Episode
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from tenants.principal import Principal

SAID_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

Step = Callable[[Material], Iterable[Proposal]] | ExtractionFault


@dataclass
class ScriptedExtractor:
    """Takes the next step of its script for each batch (the last one again at the end) and keeps what it was given."""

    steps: list[Step]
    name: str = "scripted"
    given: list[Material] = field(default_factory=list)

    def extract(self, material: Material) -> Extraction:
        """See Extractor."""
        self.given.append(material)
        step = self.steps[min(len(self.given), len(self.steps)) - 1]
        if isinstance(step, ExtractionFault):
            raise step
        proposals = tuple(step(material))
        return Extraction(proposals, {"proposals": [repr(each) for each in proposals]}, 100, 20)


def literally(material: Material) -> list[Proposal]:
    """Every episode says one fact, in its own words."""
    return [
        ProposedFact(text=episode.text, supporting_episode_ids=(episode.id,))
        for episode in material.episodes
        if episode.own
    ]


def nothing(material: Material) -> list[Proposal]:
    """Nothing lasting was said."""
    return []


def fault(kind: FaultKind, **options: float) -> ExtractionFault:
    """A fault of this kind."""
    return ExtractionFault("The model said no.", kind, **options)  # type: ignore[arg-type]  # seconds and counts


def tell(principal: Principal, *texts: str, since: datetime = SAID_AT, speaker: str | None = None) -> list[UUID]:
    """Have a member say these things, an hour after one another."""
    session = start_session(principal)
    said_by = principal.speaker if speaker is None else speaker
    drafts = [EpisodeDraft(text, since + timedelta(hours=hour), said_by) for hour, text in enumerate(texts)]
    return remember_episodes(principal, session_id=session.pk, drafts=drafts)


def episode(principal: Principal, text: str) -> Episode:
    """The episode in which this was said."""
    return Episode.objects.of(principal).get(text=text)
