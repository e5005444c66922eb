"""What "that" points to: the memory that the exchange just before was about.

Invariant: it points only where the last exchange leaves no choice; else it points to nothing, and the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memories.agent.offline.records import Memory, Turn
from memories.agent.offline.wording import quoted_in
from memories.english.grammar import read

# Not "it": who says "forget it" mostly means never mind.
_THAT = re.compile(
    r"(?:that|this|that one|this one|(?:all )?that again|what i (?:just |have just )?(?:said|told you|wrote)"
    r"|(?:the|my) last (?:thing|one|message|sentence)(?: i said)?)(?:,? (?:again|please|now))*$",
    re.IGNORECASE,
)

_NOT_TRUE = re.compile(
    r"(?:no|nope|hang on|wait|actually|sorry)?[,.!]?\s*(?:that|this|it)(?:['’]s| is| was|['’]s just| has)\s+"
    r"(?:not true|never (?:been )?true|wrong|not right|false|not so|untrue)[.!]*",
    re.IGNORECASE,
)


def points_back(words: str) -> bool:
    """Whether words such as "that" name what was talked about just before."""
    return bool(_THAT.match(words.strip()))


def denies_it(message: str) -> bool:
    """Whether a whole message says that what was talked about just before is not true."""
    return bool(_NOT_TRUE.fullmatch(message.strip()))


def pointed_at(turn: Turn) -> Memory | None:
    """The memory that the exchange before this turn was about: what it stated, or the one that its answer quoted.

    Of several facts from one message, and where nothing was stored of it, the message itself.
    """
    own = [memory for memory in turn.memories if memory.current and not memory.shared and memory.kind != "catalog"]
    said = next((memory for memory in own if memory.kind == "episodic" and _same(memory.text, turn.said)), None)
    reading = read(turn.said)
    stated = [
        *(statement.text for statement in reading.statements),
        *([reading.playbook.title] if reading.playbook else []),
    ]
    settled = [memory for memory in own if memory.settled]
    if stated:
        found = _among(stated, settled)
        return found[0] if len(found) == len(stated) == 1 else said
    if said is not None and not reading.question and reading.forget is None:
        return said
    lead, *_ = [*turn.answered.splitlines(), ""]
    quoted = _among(quoted_in(lead), settled) or _among(quoted_in(lead), own)
    return quoted[0] if len(quoted) == 1 else None


def _among(texts: Iterable[str], memories: Iterable[Memory]) -> list[Memory]:
    wanted = [*texts]
    return [
        memory for memory in memories if any(_same(text, memory.text) or _same(text, memory.title) for text in wanted)
    ]


def _same(left: str, right: str) -> bool:
    return bool(left) and left.casefold().split() == right.casefold().split()
