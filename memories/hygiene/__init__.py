"""Hygiene: finding what should not be stored as it is; services act on it."""
