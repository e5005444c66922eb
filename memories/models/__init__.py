"""The models of memories, a file each."""

from memories.models.catalog_entry import CatalogEntry
from memories.models.consolidation_run import ConsolidationRun, RunState, Trigger
from memories.models.episode import Episode
from memories.models.episode_ledger import EpisodeLedger
from memories.models.fact import Fact
from memories.models.hygiene_run import HygieneRun, HygieneState
from memories.models.mention import Mention, Relation
from memories.models.metric_sample import MetricSample
from memories.models.outbox_entry import Operation, OutboxEntry
from memories.models.playbook import Playbook
from memories.models.policy import ExpiryRule, MemoryPolicy, ThresholdProposal
from memories.models.recall_trace import RecallTrace
from memories.models.review_item import ReviewDecision, ReviewItem, ReviewKind
from memories.models.sealed_original import SealedOriginal
from memories.models.session import Message, MessageRole, MessageState, Session
from memories.models.session_entry import EntryKind, SessionEntry
from memories.types import Kind

MEMORY_MODELS = {
    Kind.EPISODIC: Episode,
    Kind.SEMANTIC: Fact,
    Kind.PROCEDURAL: Playbook,
    Kind.CATALOG: CatalogEntry,
}

__all__ = [
    "MEMORY_MODELS",
    "CatalogEntry",
    "ConsolidationRun",
    "EntryKind",
    "Episode",
    "EpisodeLedger",
    "ExpiryRule",
    "Fact",
    "HygieneRun",
    "HygieneState",
    "MemoryPolicy",
    "Mention",
    "Message",
    "MessageRole",
    "MessageState",
    "MetricSample",
    "Operation",
    "OutboxEntry",
    "Playbook",
    "RecallTrace",
    "Relation",
    "ReviewDecision",
    "ReviewItem",
    "ReviewKind",
    "RunState",
    "SealedOriginal",
    "Session",
    "SessionEntry",
    "ThresholdProposal",
    "Trigger",
]
