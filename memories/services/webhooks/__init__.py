"""Webhooks: addresses of a tenant that get its events, signed by the rules of Standard Webhooks."""
