"""Reading what comes from elsewhere: conversations and memories in the forms that the import commands know.

Invariant: pure. A parser takes text or JSON values and gives frozen dataclasses; it imports no Django and writes
nothing. What it cannot read it refuses with the place (a line number, a turn's id) and the reason.
"""

from memories.importing.conversations import ConversationSession, ConversationTurn
from memories.importing.formats import parse_chatgpt, parse_jsonl, parse_locomo
from memories.importing.records import MemoryRecord, parse_memories, parse_memory

__all__ = [
    "ConversationSession",
    "ConversationTurn",
    "MemoryRecord",
    "parse_chatgpt",
    "parse_jsonl",
    "parse_locomo",
    "parse_memories",
    "parse_memory",
]
