"""Contradictions among one owner's facts: found on writes and by a daily scan, then settled or sent to review."""

from memories.services.contradictions.settling import Resolution, ScanResult, resolve, scan_owner

__all__ = ["Resolution", "ScanResult", "resolve", "scan_owner"]
