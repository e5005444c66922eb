"""What a request to forget means among the memories that were recalled.

Invariant: it means a memory only if nothing else could be meant; else it has to be asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memories.agent.offline.pointing import pointed_at, points_back
from memories.agent.offline.records import LONGEST_QUERY, Memory, Turn
from memories.english.text import content_words

# A memory is meant if it holds this share of the words by which the user names it.
MEANT_SHARE = 0.6

EVERYTHING = re.compile(
    r"(?:everything|all of it|all|it all)(?:\s+about me|\s+you know(?: about me)?)?$", re.IGNORECASE
)
_ABOUT = re.compile(
    r"^(?:about|that|the fact that|what i (?:said|told you) about|everything (?:you know )?about|all about"
    r"|the memor(?:y|ies) (?:about|of|that))\s+",
    re.IGNORECASE,
)


def lookups(turn: Turn, forget: str) -> Iterator[dict[str, Any]]:
    """What has to be recalled to know what is meant."""
    if about := _about(forget):
        yield {"query": about[:LONGEST_QUERY]}
    elif points_back(forget) and turn.said:
        yield {"query": turn.said[:LONGEST_QUERY]}


def meant(turn: Turn, forget: str) -> Memory | None:
    """The one memory that is to go."""
    if points_back(forget):
        return pointed_at(turn)
    found = named(_about(forget), turn.memories)
    return found[0] if len(found) == 1 else None


def choice(turn: Turn, forget: str) -> list[Memory]:
    """What could be meant, to ask which."""
    about = _about(forget)
    return named(about, turn.memories) if about else [memory for memory in turn.memories if not memory.shared]


def named(about: str, memories: Sequence[Memory]) -> list[Memory]:
    """The memories that `about` names best; facts and how-tos before the sentences they were learned from."""
    words = content_words(about)
    own = [memory for memory in memories if memory.current and not memory.shared and memory.kind != "catalog"]
    share = {memory.id: len(words & memory.words) / len(words) for memory in own} if words else {}
    best = max(share.values(), default=0.0)
    if best < MEANT_SHARE:
        return []
    found = [memory for memory in own if share[memory.id] == best]
    return [memory for memory in found if memory.kind != "episodic"] or found


def _about(forget: str) -> str:
    """What to forget, without the words around it; empty if that names nothing ("it", "that", "everything")."""
    if points_back(forget):
        return ""
    about = _ABOUT.sub("", forget)
    return about if content_words(about) and not EVERYTHING.match(forget) else ""
