"""Parsers for the conversations and memories that the import commands read.

A parser takes text or JSON values and returns frozen dataclasses. Errors name the place, such as a line or a turn's id.
"""

from memories.importing.conversations import ConversationSession as ConversationSession
from memories.importing.conversations import ConversationTurn as ConversationTurn
from memories.importing.conversations import parse_chatgpt as parse_chatgpt
from memories.importing.conversations import parse_jsonl as parse_jsonl
from memories.importing.conversations import parse_locomo as parse_locomo
from memories.importing.records import MemoryRecord as MemoryRecord
from memories.importing.records import parse_memories as parse_memories
from memories.importing.records import parse_memory as parse_memory
