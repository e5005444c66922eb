"""The methods of the clients, one class for each noun."""

from memoryhub_client.resources.accounts import Members, Tokens
from memoryhub_client.resources.items import Items
from memoryhub_client.resources.learning import Consolidation, Operations, Reviews
from memoryhub_client.resources.memories import ForgetProposals, Memories
from memoryhub_client.resources.root import Root
from memoryhub_client.resources.sessions import Sessions, Turns, WorkingMemories

__all__ = [
    "Consolidation",
    "ForgetProposals",
    "Items",
    "Members",
    "Memories",
    "Operations",
    "Reviews",
    "Root",
    "Sessions",
    "Tokens",
    "Turns",
    "WorkingMemories",
]
