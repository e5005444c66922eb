"""Parsers of conversations and memories in the forms that the import commands read.

Pure: a parser takes text or JSON values and returns frozen dataclasses. It imports no Django, and an error names the
place (a line number, a turn's id).
"""

from memories.importing.conversations import (
    ConversationSession,
    ConversationTurn,
    parse_chatgpt,
    parse_jsonl,
    parse_locomo,
)
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
