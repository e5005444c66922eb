"""Which memory ends, how and why; a second look at the same moment finds nothing more to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.hygiene.ageing import Cause, Ending, Life, decide
from memories.types import Status

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def life(status: Status = Status.ACTIVE, **known: Any) -> Life:
    return Life(status, **{"confirmed_at": ago(200)} | known)


OVERDUE: dict[str, Any] = {"review_after": ago(1)}
REPLACED = life(Status.SUPERSEDED, superseded_at=ago(90))
EVICTED = life(Status.EVICTED, evicted_at=ago(30), evicted_from=Status.ACTIVE)
EXPIRED, UNUSED = (Ending.EVICTED, Cause.EXPIRED), (Ending.EVICTED, Cause.UNUSED)
ARCHIVED, DOUBTFUL = (Ending.ARCHIVED, Cause.REPLACED), (Ending.STALE, Cause.DOUBTFUL)
ERASED = (Ending.ERASED, Cause.OVERDUE)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(life(), None, id="no dates, however old"),
        pytest.param(life(expires_at=NOW), EXPIRED, id="hard end"),
        pytest.param(life(expires_at=ago(-1)), None, id="hard end to come"),
        pytest.param(life(expires_at=NOW, pinned=True), EXPIRED, id="hard end of what is pinned"),
        pytest.param(life(Status.SUPERSEDED, expires_at=NOW, superseded_at=NOW), EXPIRED, id="hard end of a past one"),
        pytest.param(life(**OVERDUE), UNUSED, id="soft end, never used"),
        pytest.param(life(**OVERDUE, last_used_at=ago(30)), UNUSED, id="soft end, used long ago"),
        pytest.param(life(**OVERDUE, last_used_at=ago(29)), None, id="soft end, used lately"),
        pytest.param(life(**OVERDUE, confirmed_at=ago(29)), None, id="soft end, confirmed lately"),
        pytest.param(life(**OVERDUE, pinned=True), None, id="soft end of what is pinned"),
        pytest.param(life(**OVERDUE, valid_to=ago(1)), None, id="an end that was told is history"),
        pytest.param(REPLACED, ARCHIVED, id="replaced long ago"),
        pytest.param(replace(REPLACED, superseded_at=ago(89)), None, id="replaced lately"),
        pytest.param(replace(REPLACED, archived_at=ago(1)), None, id="in the archive"),
        pytest.param(replace(REPLACED, brought_back=True), None, id="brought back from the archive"),
        pytest.param(life(confidence=0.29, confirmed_at=ago(60)), DOUBTFUL, id="doubtful"),
        pytest.param(life(confidence=0.29, confirmed_at=ago(59)), None, id="doubtful, but new"),
        pytest.param(life(Status.STALE, confidence=0.1), None, id="stale already"),
        pytest.param(EVICTED, ERASED, id="evicted long ago"),
        pytest.param(replace(EVICTED, evicted_at=ago(29)), None, id="evicted lately"),
    ],
)
def test_what_ends(of: Life, expected: tuple[Ending, Cause] | None) -> None:
    decision = decide(of, now=NOW, keep_superseded=False)
    assert (decision and (decision.ending, decision.cause)) == expected


def test_what_was_current_ends_there_too() -> None:
    assert decide(EVICTED, now=NOW, keep_superseded=True) is not None
    assert decide(life(expires_at=NOW), now=NOW, keep_superseded=True) is not None
