"""Import and export of memories, and signed archives of a member or of one fact's or playbook's chain.

Auditors and administrators of a member's tenant get the archive of a chain, administrators that of a whole memory. The
export is audited before the first byte is
sent; rows are read while they are sent.
"""

from memories.services.portability.chain_export import ChainExport, export_chain
from memories.services.portability.member_export import ask_export, export_member

__all__ = ["ChainExport", "ask_export", "export_chain", "export_member"]
