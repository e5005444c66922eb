"""The stock lists and forms of the admin; all other staff pages are in `memories/staff`."""

from memories.admin import lists, policies, reviews, threshold_proposals
from memories.staff import audit_links

__all__ = ["audit_links", "lists", "policies", "reviews", "threshold_proposals"]
