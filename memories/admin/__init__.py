"""The admin of memories: what staff may look at and decide.

Whoever looks into a member's memory is told to that member's trail; how is in `members/page.py`.
"""

from memories.admin import audit_words
from memories.admin.consolidation_run import ConsolidationRunAdmin
from memories.admin.erasure_request import ErasureRequestAdmin
from memories.admin.expiry_rule import ExpiryRuleAdmin
from memories.admin.history import HistoryAdmin
from memories.admin.legal_hold import LegalHoldAdmin
from memories.admin.member_memory import MemberMemoryAdmin
from memories.admin.memory_policy import MemoryPolicyAdmin
from memories.admin.metric_sample import MetricSampleAdmin
from memories.admin.outbox_entry import OutboxEntryAdmin
from memories.admin.review_item import ReviewItemAdmin
from memories.admin.threshold_proposal import ThresholdProposalAdmin

__all__ = [
    "ConsolidationRunAdmin",
    "ErasureRequestAdmin",
    "ExpiryRuleAdmin",
    "HistoryAdmin",
    "LegalHoldAdmin",
    "MemberMemoryAdmin",
    "MemoryPolicyAdmin",
    "MetricSampleAdmin",
    "OutboxEntryAdmin",
    "ReviewItemAdmin",
    "ThresholdProposalAdmin",
    "audit_words",
]
