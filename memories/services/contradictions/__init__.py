"""Contradictions among one owner's facts: found on every write and by a daily scan, settled or put before a person."""

from memories.services.contradictions.settling import Resolution, ScanResult, resolve, scan_owner

__all__ = ["Resolution", "ScanResult", "resolve", "scan_owner"]
