"""The audit log: append, list, verify, export."""
