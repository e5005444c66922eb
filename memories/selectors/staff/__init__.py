"""Selectors for the staff pages: inspector, conversations, index state, and counts for the dashboard."""
