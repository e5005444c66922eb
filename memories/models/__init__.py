"""The models of memories."""

from memories.models.catalog_entry import CatalogEntry
from memories.models.episode import Episode, EpisodeLedger, SealedOriginal
from memories.models.erasure import OPEN_ERASURES, ErasureRequest, ExportRequest, LegalHold, RequestState
from memories.models.feedback import Feedback, FeedbackVerdict
from memories.models.forget_proposal import ForgetProposal, ProposalState
from memories.models.idempotency_key import IdempotencyKey
from memories.models.item import Item
from memories.models.measurements import MemberMemory, MetricSample, RecallTrace
from memories.models.member_choices import MemberChoices
from memories.models.outbox_entry import Operation, OutboxEntry
from memories.models.policy import ExpiryRule, MemoryPolicy, ThresholdProposal
from memories.models.review_item import ReviewDecision, ReviewItem, ReviewKind
from memories.models.runs import ConsolidationRun, HygieneRun, HygieneState, LearningOperation, RunState, Trigger
from memories.models.session import (
    EntryKind,
    Mention,
    Message,
    MessageRole,
    MessageState,
    Relation,
    Session,
    SessionEntry,
)
from memories.models.supersedable import Fact, Playbook
from memories.models.support_case import CaseNote, CaseOrigin, CaseState, SupportCase
from memories.models.webhook import DeliveryState, EventType, FeedEntry, FeedMark, WebhookDelivery, WebhookEndpoint
from memories.types import Kind

MEMORY_MODELS = {
    Kind.EPISODIC: Episode,
    Kind.SEMANTIC: Fact,
    Kind.PROCEDURAL: Playbook,
    Kind.CATALOG: CatalogEntry,
    Kind.ITEM: Item,
}
# Kinds that are superseded instead of edited, and so form chains.
CHAINED_MODELS: dict[Kind, type[Fact | Playbook]] = {Kind.SEMANTIC: Fact, Kind.PROCEDURAL: Playbook}

__all__ = [
    "CHAINED_MODELS",
    "MEMORY_MODELS",
    "OPEN_ERASURES",
    "CaseNote",
    "CaseOrigin",
    "CaseState",
    "CatalogEntry",
    "ConsolidationRun",
    "DeliveryState",
    "EntryKind",
    "Episode",
    "EpisodeLedger",
    "ErasureRequest",
    "EventType",
    "ExpiryRule",
    "ExportRequest",
    "Fact",
    "FeedEntry",
    "FeedMark",
    "Feedback",
    "FeedbackVerdict",
    "ForgetProposal",
    "HygieneRun",
    "HygieneState",
    "IdempotencyKey",
    "Item",
    "LearningOperation",
    "LegalHold",
    "MemberChoices",
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
    "ProposalState",
    "RecallTrace",
    "Relation",
    "RequestState",
    "ReviewDecision",
    "ReviewItem",
    "ReviewKind",
    "RunState",
    "SealedOriginal",
    "Session",
    "SessionEntry",
    "SupportCase",
    "ThresholdProposal",
    "Trigger",
    "WebhookDelivery",
    "WebhookEndpoint",
]
