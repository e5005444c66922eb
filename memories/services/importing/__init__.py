"""Bringing conversations and memories in from elsewhere: one transaction each, and twice adds nothing.

Invariant: an imported id is made from the owner and the source's own key, so the same thing is found again, and no two
owners ever share a row. What its owner has forgotten does not come back by importing it again.
"""

from memories.services.importing.records import import_memories
from memories.services.importing.report import Advance, ImportReport
from memories.services.importing.sessions import import_sessions

__all__ = ["Advance", "ImportReport", "import_memories", "import_sessions"]
