"""Tenants, users, memberships, tokens, principals and the audit log. Never imports memories."""
