"""Signing in by a tenant's own SAML 2.0 provider (docs/adr/0048)."""
