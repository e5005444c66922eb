"""Management commands of tenants, one per module."""
