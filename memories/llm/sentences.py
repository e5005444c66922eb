"""What the user is told when no whole answer came, and when something was erased.

Invariant: a sentence says what happened and what to do, and quotes nothing of what was sent, received or remembered.
"""

from __future__ import annotations

from collections.abc import Sequence

from memories.types import Kind

UNREADABLE = "The model answered with something that cannot be read. Try again."
BROKEN_OFF = "The model broke off in the middle of its answer. Try again."
STALLED = "The model stopped answering. Try again."
TOO_LONG = "The answer became too long and was stopped. Ask for something shorter."
REFUSED = "The model declined to answer this."
FILTERED = "The model's content filter stopped this answer."
EMPTY = "The model gave an empty answer. Try again."
ONLY_TOOLS = "The model kept calling tools and gave no answer. Try again."
CREDENTIALS = "The model endpoint refused the credentials. An administrator has to check OPENAI_API_KEY."
UNKNOWN = "The endpoint does not know the model. An administrator has to check MEMORYHUB_MODEL and OPENAI_BASE_URL."
TOO_MUCH = "This conversation is too long for the model. Start a new one; what was said is remembered."
NOT_JSON = "The model's answer is not the JSON that was asked for."
OTHER_JSON = "The model's answer is JSON, but not of the shape that was asked for."
CUT_SHORT = "The model's answer reached its greatest length before its end."

_NOUNS = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "how-to", Kind.EPISODIC: "event", Kind.CATALOG: "entry"}


def erased(kinds: Sequence[Kind]) -> str:
    """What was erased, counted by kind and without its words: they are not to be written down again."""
    counts = {kind: kinds.count(kind) for kind in kinds}
    counted = [f"{number} {_NOUNS[kind]}{'' if number == 1 else 's'}" for kind, number in counts.items()]
    return f"Erased for good: {' and '.join(counted)}."
