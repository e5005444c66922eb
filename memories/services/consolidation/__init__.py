"""Consolidation: turns an owner's episodes into facts, playbooks, outcomes and supersessions, and records each run."""

from memories.services.consolidation.ledger import Busy
from memories.services.consolidation.running import RunReport, consolidate, rerun

__all__ = ["Busy", "RunReport", "consolidate", "rerun"]
