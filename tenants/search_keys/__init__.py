"""Search keys: Elasticsearch API keys with which members search.

A member searches only with the one active key of their own membership, and that key can only search the documents that
this member may see. The embedded search plane has no keys.
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
