"""Why a memory came up, in words for people. Pure.

Invariant: every memory that is given out has at least one reason.
"""

from __future__ import annotations

from collections.abc import Mapping

# From here on a person would agree: half of what was asked is in it, and texts this near are about the same thing.
SAME_WORDS = 0.55
SAME_MEANING = 0.35
AROUND = 0.6
ANSWERS = 0.1


def reasons(
    signals: Mapping[str, float], *, speaker: str = "", tail: bool = False, neighbour: bool = False
) -> list[str]:
    """The reasons, the strongest first.

    `signals` holds "cosine", "coverage", "coverage_around" (plain) and what each signal of the recipe added.
    `neighbour`: no leg of the search found it, it stands beside one that was found.
    """
    said = []
    if signals.get("coverage", 0.0) >= SAME_WORDS:
        said.append("same words")
    if signals.get("cosine", 0.0) >= SAME_MEANING:
        said.append("same meaning")
    if signals.get("answers", 0.0) >= ANSWERS:
        said.append("said just after")
    elif neighbour and not said:
        said.append("said beside it")
    if signals.get("date", 0.0) > 0:
        said.append("about that time")
    if signals.get("when", 0.0) > 0:
        said.append("says when")
    if signals.get("speaker", 0.0) > 0 and speaker:
        said.append(f"said by {speaker}")
    if signals.get("coverage_around", 0.0) >= AROUND and "same words" not in said:
        said.append("same conversation")
    if tail:
        said.append("just written")
    return said or ["nearest in meaning"]
