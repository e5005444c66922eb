"""Signing in by a tenant's own OpenID Connect provider (docs/adr/0041)."""
