"""The models of memories, a file each."""

from memories.models.audit_views import History, MemberMemory
from memories.models.catalog_entry import CatalogEntry
from memories.models.consolidation_run import ConsolidationRun, RunState, Trigger
from memories.models.episode import Episode, EpisodeLedger
from memories.models.erasure_request import OPEN_ERASURES, ErasureRequest, ErasureState
from memories.models.fact import Fact
from memories.models.hygiene_run import HygieneRun, HygieneState
from memories.models.legal_hold import LegalHold
from memories.models.mention import Mention, Relation
from memories.models.metric_sample import MetricSample
from memories.models.outbox_entry import Operation, OutboxEntry
from memories.models.playbook import Playbook
from memories.models.policy import ExpiryRule, MemoryPolicy, ThresholdProposal
from memories.models.recall_trace import RecallTrace
from memories.models.review_item import ReviewDecision, ReviewItem, ReviewKind
from memories.models.sealed_original import SealedOriginal
from memories.models.session import EntryKind, Message, MessageRole, MessageState, Session, SessionEntry
from memories.types import Kind

MEMORY_MODELS = {
    Kind.EPISODIC: Episode,
    Kind.SEMANTIC: Fact,
    Kind.PROCEDURAL: Playbook,
    Kind.CATALOG: CatalogEntry,
}
# What is superseded rather than changed, and so has a chain of states.
CHAINED_MODELS: dict[Kind, type[Fact | Playbook]] = {Kind.SEMANTIC: Fact, Kind.PROCEDURAL: Playbook}

__all__ = [
    "CHAINED_MODELS",
    "MEMORY_MODELS",
    "OPEN_ERASURES",
    "CatalogEntry",
    "ConsolidationRun",
    "EntryKind",
    "Episode",
    "EpisodeLedger",
    "ErasureRequest",
    "ErasureState",
    "ExpiryRule",
    "Fact",
    "History",
    "HygieneRun",
    "HygieneState",
    "LegalHold",
    "MemberMemory",
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
