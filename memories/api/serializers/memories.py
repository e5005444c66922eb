"""Serializers for memories, one for each `kind`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from memories.api.fields import (
    DEFAULT_LISTED,
    AppName,
    CascadeQuery,
    Choice,
    FiltersQuery,
    Identifier,
    MemoryKind,
    Metadata,
    Moment,
    PageQuery,
    PastMoment,
    Sensitivity,
    Several,
    Share,
    StrictSerializer,
    StrictText,
    TextInQuery,
    Truth,
    TruthInQuery,
    WebAddress,
    Whole,
    WholeInQuery,
    Words,
)
from memories.constants import (
    MAX_KEY_CHARACTERS,
    MAX_LINKS,
    MAX_LISTED,
    MAX_MEMORY_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_STEPS,
    MAX_TITLE_CHARACTERS,
)
from memories.models import Episode, Fact, MessageRole
from memories.types import Contradiction, Kind, Scope, Source, Status, WriteResult

# Responses


class AnyMetadata(serializers.DictField):
    """Metadata of a memory."""

    child = serializers.JSONField()


class MemorySerializer(serializers.Serializer[Any]):
    """Fields common to all memories."""

    kind = MemoryKind()
    id = serializers.UUIDField(source="pk")
    text = serializers.CharField()
    status = Choice(Status, help_text="superseded: replaced or retired; kept, and hidden from recall.")
    scope = Choice(Scope)
    task = serializers.CharField(allow_null=True)
    sensitivity = Sensitivity()
    metadata = AnyMetadata(help_text="What the caller stored with it.")
    app = serializers.CharField(help_text="Which of the tenant's agents wrote it; empty: none that said so.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class EpisodeSerializer(MemorySerializer):
    """An event: a speaker's words, verbatim."""

    session_id = serializers.UUIDField()
    sequence = serializers.IntegerField(help_text="Its place among the episodes of the session, from 1.")
    speaker = serializers.CharField()
    context = serializers.CharField(help_text="What came with the words, such as an image caption.")  # type: ignore[assignment]  # declared fields leave the class
    happened_at = serializers.DateTimeField()


class SupersedableSerializer(MemorySerializer):
    """Fields common to facts and playbooks, which are superseded rather than overwritten."""

    category = serializers.CharField()
    learned_at = serializers.DateTimeField(help_text="Since when it is believed.")
    superseded_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True, help_text="Since then in the archive of the search index.")
    evicted_at = serializers.DateTimeField(allow_null=True, help_text="Since then gone from every recall.")
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)
    contradiction = serializers.CharField(help_text="natural: it was true until then; harsh: it never was.")
    retracted = serializers.BooleanField()


class FactSerializer(SupersedableSerializer):
    """A fact about the owner."""

    key = serializers.CharField(help_text="The slot it fills, such as home_city; one current fact for each.")
    confidence = serializers.FloatField()
    source = Choice(Source)  # type: ignore[assignment]  # declared fields leave the class
    pinned = serializers.BooleanField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    use_count = serializers.IntegerField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    last_verified_at = serializers.DateTimeField(allow_null=True, help_text="When it was last said or confirmed again.")
    review_after = serializers.DateTimeField(allow_null=True, help_text="Then it is to be confirmed, and counts half.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Then it is gone.")
    supporting_episode_ids = serializers.SerializerMethodField(help_text="The words that it was learned from.")

    def get_supporting_episode_ids(self, fact: Fact) -> list[UUID]:
        """Return the ids of the fact's supporting episodes, from the serializer context's `support`."""
        support: Mapping[UUID, Sequence[Episode]] = self.context["support"]
        return [episode.pk for episode in support.get(fact.pk, ())]


class PlaybookSerializer(SupersedableSerializer):
    """A procedure that works: its trigger and its steps."""

    title = serializers.CharField()
    trigger = serializers.CharField()
    steps = serializers.ListField(child=serializers.CharField())
    success_count = serializers.IntegerField()
    failure_count = serializers.IntegerField()
    last_success_at = serializers.DateTimeField(allow_null=True)
    last_failure_at = serializers.DateTimeField(allow_null=True)
    proposed = serializers.BooleanField(help_text="An agent's idea that was neither accepted nor worked yet.")


class CatalogEntrySerializer(MemorySerializer):
    """Knowledge shared within the tenant or with all tenants."""

    title = serializers.CharField()
    source_url = serializers.CharField()


MEMORY_SERIALIZERS: dict[Kind, type[MemorySerializer]] = {
    Kind.EPISODIC: EpisodeSerializer,
    Kind.SEMANTIC: FactSerializer,
    Kind.PROCEDURAL: PlaybookSerializer,
    Kind.CATALOG: CatalogEntrySerializer,
}


ANY_MEMORY = PolymorphicProxySerializer(
    component_name="MemoryResponse",
    serializers={kind.value: shape for kind, shape in MEMORY_SERIALIZERS.items()},
    resource_type_field_name="kind",
)


@extend_schema_field(ANY_MEMORY)
class AnyMemory(serializers.JSONField):
    """A memory already rendered by `memories/api/views/base.py`."""


class MemoryPageResponse(serializers.Serializer[Any]):
    """One page of memories of one kind."""

    results = serializers.ListField(child=AnyMemory())
    next_cursor = serializers.CharField(allow_null=True, help_text="`cursor` of the next page; null: this is the last.")


class ChainLinkSerializer(serializers.Serializer[Any]):
    """One fact or playbook of a chain."""

    id = serializers.UUIDField()
    kind = MemoryKind()
    text = serializers.CharField(source="searchable_text")
    status = Choice(Status)
    since = serializers.DateTimeField(source="learned_at", help_text="Believed from then")
    until = serializers.DateTimeField(source="superseded_at", allow_null=True, help_text="until then; null: still.")
    valid_from = serializers.DateTimeField(allow_null=True, default=None)
    valid_to = serializers.DateTimeField(allow_null=True, default=None)
    contradiction = Choice(Contradiction, allow_null=True)
    retracted = serializers.BooleanField()
    confidence = serializers.FloatField(allow_null=True, default=None)
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)
    restores = serializers.UUIDField(allow_null=True, help_text="The state that an undo brought back as this one.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return null as the contradiction of a memory that has not ended."""
        return {**super().to_representation(instance), "contradiction": instance.contradiction or None}


class ChainResponse(serializers.Serializer[Any]):
    """The chain of a memory: all memories linked by supersession or undo, oldest first; empty for other kinds."""

    links = ChainLinkSerializer(many=True)


# Requests


class MemoriesQuery(PageQuery):
    """Filters for the list of memories."""

    kind = MemoryKind(default=Kind.SEMANTIC)
    status = Words(Status, default=None, help_text="Default: active,stale.")
    q = TextInQuery(default="", allow_blank=True, max_length=200, help_text="Every word must occur.")
    category = TextInQuery(
        default="", allow_blank=True, max_length=MAX_KEY_CHARACTERS, help_text="Facts and playbooks."
    )
    key = TextInQuery(default="", allow_blank=True, max_length=MAX_KEY_CHARACTERS, help_text="Facts.")
    session = Identifier(default=None, help_text="Episodes.")
    as_of = Moment(default=None, help_text="Those believed at this time, whatever became of them.")
    shared = TruthInQuery(default=False, help_text="Also those that the tenant, or everybody, shares.")
    filters = FiltersQuery()
    app = AppName()


class NewMemory(StrictSerializer):
    """Fields common to all new memories."""

    kind = MemoryKind(default=Kind.SEMANTIC)
    metadata = Metadata(default=dict, help_text="A JSON object of the caller's own, at most 16 kB.")
    app = AppName()


class EpisodeRequest(NewMemory):
    """What was said in a session. It becomes part of the transcript, and is learned from like words in the chat."""

    session_id = Identifier()
    text = StrictText(limit=MAX_MESSAGE_CHARACTERS)
    role = serializers.ChoiceField(
        [MessageRole.USER.value],
        default=MessageRole.USER.value,
        error_messages={
            "invalid_choice": "must be user: what an assistant or a tool says is no memory; POST /messages/ takes it.",
            "null": "must not be null.",
        },
    )
    name = StrictText(
        limit=100, allow_blank=True, default="", help_text="Who said it, if it was not the owner. Default: the owner."
    )
    context = StrictText(limit=MAX_MESSAGE_CHARACTERS, allow_blank=True, default="")  # type: ignore[assignment]  # declared fields leave the class
    happened_at = PastMoment(default=None, help_text="Default: now, as for a time to come.")


class FactRequest(NewMemory):
    """A fact to store.

    It merges into an equal fact, and supersedes the facts it names and the one with the same key.
    """

    text = StrictText(limit=MAX_MEMORY_CHARACTERS)
    key = StrictText(limit=MAX_KEY_CHARACTERS, allow_blank=True, default="")
    category = StrictText(limit=MAX_KEY_CHARACTERS, allow_blank=True, default="")
    source = Choice(Source, default=Source.USER_STATED)  # type: ignore[assignment]  # declared fields leave the class
    confidence = Share(default=None, help_text="Default: by source.")
    valid_from = Moment(default=None)
    valid_to = Moment(default=None)
    learned_at = PastMoment(default=None, help_text="Default: now, as for a time to come.")
    supporting_episode_ids = Several(Identifier(), limit=MAX_LINKS, default=())
    supersedes_ids = Several(Identifier(), limit=MAX_LINKS, default=())
    contradiction = Choice(Contradiction, default=Contradiction.NATURAL)
    scope = Choice(Scope, default=Scope.USER)
    task = StrictText(limit=64, allow_blank=True, default="", help_text="With scope task only.")
    pinned = Truth(default=False)
    review_after = Moment(default=None, help_text="From then on it counts half. Default: by what it is about.")
    expires_at = Moment(default=None, help_text="Then it is gone. Default: by what it is about.")
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class PlaybookRequest(NewMemory):
    """A playbook to store: a title, with steps or a text."""

    title = StrictText(limit=MAX_TITLE_CHARACTERS)
    trigger = StrictText(limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="")
    steps = Several(StrictText(limit=MAX_MEMORY_CHARACTERS), limit=MAX_STEPS, default=())
    text = StrictText(limit=MAX_MEMORY_CHARACTERS, allow_blank=True, default="")
    category = StrictText(limit=MAX_KEY_CHARACTERS, allow_blank=True, default="")
    supersedes_ids = Several(Identifier(), limit=MAX_LINKS, default=())
    contradiction = Choice(Contradiction, default=Contradiction.NATURAL)
    success_count = Whole(min_value=0, max_value=1_000_000, default=0)
    failure_count = Whole(min_value=0, max_value=1_000_000, default=0)
    last_success_at = Moment(default=None)
    last_failure_at = Moment(default=None)
    learned_at = PastMoment(default=None, help_text="Default: now, as for a time to come.")
    scope = Choice(Scope, default=Scope.USER)
    task = StrictText(limit=64, allow_blank=True, default="", help_text="With scope task only.")
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class CatalogEntryRequest(NewMemory):
    """An entry to add to the tenant's catalog; for administrators."""

    title = StrictText(limit=MAX_TITLE_CHARACTERS)
    text = StrictText(limit=MAX_MEMORY_CHARACTERS)
    source_url = WebAddress(limit=500, allow_blank=True, default="")


NEW_MEMORY_SERIALIZERS: dict[Kind, type[NewMemory]] = {
    Kind.EPISODIC: EpisodeRequest,
    Kind.SEMANTIC: FactRequest,
    Kind.PROCEDURAL: PlaybookRequest,
    Kind.CATALOG: CatalogEntryRequest,
}


ANY_NEW_MEMORY = PolymorphicProxySerializer(
    component_name="MemoryRequest",
    serializers={kind.value: shape for kind, shape in NEW_MEMORY_SERIALIZERS.items()},
    resource_type_field_name="kind",
)


class CorrectRequest(StrictSerializer):
    """The correct text; for a playbook its steps, one per line. The old version is marked as never true."""

    text = StrictText(limit=MAX_MEMORY_CHARACTERS)
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")
    metadata = Metadata(default=None, help_text="Default: that of the memory.")
    app = AppName()


class DescribeRequest(StrictSerializer):
    """The metadata that a fact or playbook has from now on."""

    metadata = Metadata(help_text="It replaces the metadata as a whole; the history keeps what it was.")
    app = AppName()


class SupersedeRequest(StrictSerializer):
    """A new fact that replaces this one and those in `also_ids`."""

    text = StrictText(limit=MAX_MEMORY_CHARACTERS)
    also_ids = Several(Identifier(), limit=MAX_LINKS, default=(), help_text="Further facts that it replaces.")
    contradiction = Choice(
        Contradiction, default=Contradiction.NATURAL, help_text="natural: true until now; harsh: never true."
    )
    key = StrictText(
        limit=MAX_KEY_CHARACTERS, allow_blank=True, default=None, help_text="Default: that of the old fact."
    )
    valid_from = Moment(default=None)
    supporting_episode_ids = Several(Identifier(), limit=MAX_LINKS, default=())
    source = Choice(Source, default=Source.USER_STATED)  # type: ignore[assignment]  # declared fields leave the class
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")
    metadata = Metadata(default=None, help_text="Default: that of the old fact.")
    app = AppName()


class RetireRequest(StrictSerializer):
    """The reason a memory is no longer true or, with `harsh`, never was; `also_ids` are retired with it."""

    also_ids = Several(Identifier(), limit=MAX_LINKS, default=(), help_text="Further ones of its kind; all, or none.")
    contradiction = Choice(
        Contradiction, default=Contradiction.NATURAL, help_text="natural: true until now; harsh: never true."
    )
    valid_to = Moment(default=None, help_text="Until when it was true. Default: now.")
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class UndoRequest(StrictSerializer):
    """The reason a change was a mistake."""

    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class PromoteRequest(StrictSerializer):
    """The wider scope to copy a memory to."""

    to = Choice(Scope, help_text="user; tenant (administrators); global (platform staff).")
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class PinRequest(StrictSerializer):
    """Pins or unpins a fact. Pinned facts are recalled first and included in every prompt."""

    pinned = Truth()


class ForgetQuery(CascadeQuery):
    """How far the erasure of one memory extends."""

    sources = TruthInQuery(default=False, help_text="Also erase the episodes that this fact was learned from.")


class WriteOutcomeSerializer(serializers.Serializer[Any]):
    """The result of a write."""

    result = Choice(WriteResult, help_text="merged: it was known already.")
    memory_id = serializers.UUIDField(help_text="The memory that now holds what was said.")
    superseded_ids = serializers.ListField(child=serializers.UUIDField(), help_text="What it replaced.")
    reason = serializers.CharField()


class WrittenResponse(WriteOutcomeSerializer):
    """The result of a write, and the memory's current state."""

    memory = AnyMemory()


class ConfirmRequest(StrictSerializer):
    """The reason a fact is known to be still true."""

    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class RestoreRequest(StrictSerializer):
    """The reason for restoring a memory."""

    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class ReviewQuery(StrictSerializer):
    """Pagination of facts to review."""

    limit = WholeInQuery(min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED)


class MemoryReviewResponse(serializers.Serializer[Any]):
    """Facts to review, least recently confirmed first."""

    results = serializers.ListField(child=AnyMemory())


class OutcomeRequest(StrictSerializer):
    """The outcome of a playbook; `refined_steps` are its corrected steps."""

    success = Truth()
    refined_steps = Several(
        StrictText(limit=MAX_MEMORY_CHARACTERS), limit=MAX_STEPS, default=(), help_text="They make a new version."
    )
    supporting_episode_ids = Several(
        Identifier(), limit=MAX_LINKS, default=(), help_text="The words that say so; an episode counts once."
    )
    at = PastMoment(default=None, help_text="Default: now, as for a time to come.")
    reason = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")
