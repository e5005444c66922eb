"""Signatures: keys and signed archives."""
