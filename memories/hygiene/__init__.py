"""Hygiene: detects memories that should not be stored or kept as they are; services act on it."""
