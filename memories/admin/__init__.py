"""The stock lists and forms of the admin. Every other page of staff is in `memories/staff`."""

from memories.admin import lists, policies, reviews
from memories.staff import audit_links

__all__ = ["audit_links", "lists", "policies", "reviews"]
