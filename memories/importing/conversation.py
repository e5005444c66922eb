"""A conversation as the import knows it, whatever form it came in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One thing that was said.

    `key` names it within its session and stays the same when the source is exported again; `place` says where in the
    source it stands, for error messages. `remembered` turns become episodes, the others go to the transcript alone.
    `speaker` is empty for the owner (and for the assistant, which `from_assistant` marks).
    """

    key: str
    place: str
    text: str
    happened_at: datetime
    speaker: str = ""
    context: str = ""
    from_assistant: bool = False
    remembered: bool = True


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """Turns that belong together, in their order. An empty `title` is made from the first words, a long one cut."""

    key: str
    turns: tuple[ConversationTurn, ...]
    title: str = ""
