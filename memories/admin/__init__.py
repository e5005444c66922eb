"""The admin of memories: what a tenant decides about them.

Nobody's memory is shown here but where a review asks about it, and that is told to its owner's trail.
"""

from memories.admin.expiry_rule import ExpiryRuleAdmin
from memories.admin.memory_policy import MemoryPolicyAdmin
from memories.admin.metric_sample import MetricSampleAdmin
from memories.admin.review_item import ReviewItemAdmin
from memories.admin.threshold_proposal import ThresholdProposalAdmin

__all__ = ["ExpiryRuleAdmin", "MemoryPolicyAdmin", "MetricSampleAdmin", "ReviewItemAdmin", "ThresholdProposalAdmin"]
