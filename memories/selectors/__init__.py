"""Selectors: the readers of memories, always for a principal."""
