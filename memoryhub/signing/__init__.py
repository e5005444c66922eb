"""Signing."""
