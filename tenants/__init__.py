"""Who: tenants, users, memberships, tokens, principals and the audit trail. Never imports memories."""
