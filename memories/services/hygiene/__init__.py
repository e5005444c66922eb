"""The hygiene scan: how stale what is stored is, what contradicts itself, and what should not have been stored."""

from memories.services.hygiene.run import Scanned, count_memories, hygiene_scan

__all__ = ["Scanned", "count_memories", "hygiene_scan"]
