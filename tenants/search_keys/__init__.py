"""The keys with which members search the cluster: made, handed out, replaced, revoked, verified.

A member searches with the one active key of their own membership or not at all, and that key can do nothing but search
the documents this member may see. With the embedded search plane there are no keys.
"""

from tenants.search_keys.claims import SearchKey, record_refusal, search_key
from tenants.search_keys.lifecycle import (
    end_orphans,
    invalidate,
    mint_waiting,
    provision,
    revoke,
    revoke_waiting,
    rotate,
    rotate_due,
    temporary_key,
)

__all__ = [
    "SearchKey",
    "end_orphans",
    "invalidate",
    "mint_waiting",
    "provision",
    "record_refusal",
    "revoke",
    "revoke_waiting",
    "rotate",
    "rotate_due",
    "search_key",
    "temporary_key",
]
