"""What recall is tried on: a member who has said and stated a few things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from memories.recall import candidates, loading
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Recall
from tenants.principal import Principal

Say = Callable[..., list[UUID]]
Ask = Callable[..., list[str]]
LimitTail = Callable[[int], None]


@pytest.fixture
def say(principal: Principal) -> Say:
    """`say(*texts, by=…)` stores episodes in one new session; the ids, in order."""

    def said(*texts: str, by: Principal = principal, speaker: str = "") -> list[UUID]:
        drafts = [EpisodeDraft(text, speaker=speaker) for text in texts]
        return remember_episodes(by, session_id=start_session(by).pk, drafts=drafts)

    return said


@pytest.fixture
def ask(principal: Principal) -> Ask:
    """`ask(query, **options)` recalls after a drain; the texts, best first."""

    def asked(query: str, *, by: Principal = principal, **options: object) -> list[str]:
        drain()
        return texts(recall(by, query, **options))  # type: ignore[arg-type]  # options of recall

    return asked


@pytest.fixture
def limit_tail(monkeypatch: pytest.MonkeyPatch) -> Iterator[LimitTail]:
    """`limit_tail(count)` looks at so many waiting memories; the queries compiled with that do not outlive the test."""

    def limit(count: int) -> None:
        monkeypatch.setattr(candidates, "TAIL_LIMIT", count)
        loading._compiled.cache_clear()

    yield limit
    loading._compiled.cache_clear()


def texts(answer: Recall) -> list[str]:
    """The texts of an answer, best first."""
    return [item.text for item in answer.items]
