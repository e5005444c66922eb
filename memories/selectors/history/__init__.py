"""Selectors for histories: chains of states, their audit events, and the verification of both."""
