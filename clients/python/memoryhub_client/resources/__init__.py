"""The methods of the clients, one class for each noun."""

from memoryhub_client.resources.accounts import Members, Tokens
from memoryhub_client.resources.items import Items
from memoryhub_client.resources.learning import Consolidation, Operations, Reviews
from memoryhub_client.resources.memories import ForgetProposals, Memories
from memoryhub_client.resources.root import Root
from memoryhub_client.resources.sessions import Sessions, Turns, WorkingMemories
from memoryhub_client.resources.tenant import Audit, Erasures, Holds, OwnErasure, Policies, TenantAudit
from memoryhub_client.resources.webhooks import Events, Webhooks

__all__ = [
    "Audit",
    "Consolidation",
    "Erasures",
    "Events",
    "ForgetProposals",
    "Holds",
    "Items",
    "Members",
    "Memories",
    "Operations",
    "OwnErasure",
    "Policies",
    "Reviews",
    "Root",
    "Sessions",
    "TenantAudit",
    "Tokens",
    "Turns",
    "Webhooks",
    "WorkingMemories",
]
