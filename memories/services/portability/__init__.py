"""Taking a memory along, signed: all of a member's (`member.py`), or how one of them came to be (`chain.py`).

Invariant: only who audits the member's tenant gets an archive, of that member alone; that it was exported is committed
to the trail before the first byte leaves; rows are read while they are sent.
"""

from memories.services.portability.chain_export import ChainExport, export_chain
from memories.services.portability.member_export import export_member

__all__ = ["ChainExport", "export_chain", "export_member"]
