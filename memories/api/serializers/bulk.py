"""Serializers of what reaches many memories at once: batches, erasing all, and imports."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memories.api.acting import USER_FIELD
from memories.api.fields import (
    AppName,
    Choice,
    FiltersQuery,
    ProblemSerializer,
    Several,
    StrictSerializer,
    StrictText,
    TextInQuery,
    TruthInQuery,
    UserId,
)
from memories.api.serializers.calls import MessageRequest, MessagesResponse, OperationResponse
from memories.api.serializers.members import MemoriesErasedResponse
from memories.api.serializers.memories import ANY_NEW_MEMORY
from memories.importing.formats import ExportFormat
from memories.services.batches import MAX_ENTRIES
from memories.services.sessions.messages import MAX_EXTERNAL_ID, MAX_MESSAGES, Learn
from memories.types import Kind, WriteResult
from tenants.end_users import MAX_ID_CHARACTERS

# Each is a transaction.
MAX_CONVERSATIONS = 100


_USER = "For a backend key that names nobody for the whole batch: the user whose entry it is, by the tenant's own id."
_OF_A_USER = {
    "type": "object",
    "description": "A MemoryRequest with the `user_id` beside its fields.",
    "properties": {USER_FIELD: {"type": "string", "description": _USER, "maxLength": MAX_ID_CHARACTERS}},
    "required": [USER_FIELD],
}


@extend_schema_field({"anyOf": [{"$ref": f"#/components/schemas/{ANY_NEW_MEMORY.component_name}"}, _OF_A_USER]})
class NewMemoryField(serializers.JSONField):
    """A memory to store, checked by itself."""


class BatchRequest(StrictSerializer):
    """Memories, each as `POST /memories/` takes it. Those of one member are stored in this order."""

    memories = Several(NewMemoryField(allow_null=True), limit=MAX_ENTRIES, allow_empty=False)
    app = AppName()


class BatchEntrySerializer(serializers.Serializer[Any]):
    """What became of one entry: a write's result, or with a status from 400 on a `problem`."""

    status = serializers.IntegerField(help_text="As of the single call: 201 new, 200 known and merged, or the refusal.")
    id = serializers.UUIDField(allow_null=True, help_text="The memory that now holds what was said.")
    result = Choice(WriteResult, allow_null=True)
    superseded_ids = serializers.ListField(child=serializers.UUIDField(), help_text="What it replaced.")
    reason = serializers.CharField()
    problem = ProblemSerializer(allow_null=True, help_text="Why nothing of this entry was stored.")


class BatchResponse(serializers.Serializer[Any]):
    """A result for each entry, in the order of the request."""

    stored = serializers.IntegerField(help_text="How many were stored or merged.")
    refused = serializers.IntegerField()
    results = BatchEntrySerializer(many=True)


class ConversationRequest(StrictSerializer):
    """Messages of one conversation, as `POST /messages/` takes them."""

    session = StrictText(limit=MAX_EXTERNAL_ID, required=False, help_text="As in `POST /messages/`.")
    messages = Several(MessageRequest(), limit=MAX_MESSAGES, allow_empty=False)
    learn = Choice(Learn, among=(Learn.BACKGROUND, Learn.OFF), default=Learn.BACKGROUND)
    app = AppName()
    user_id = UserId(required=False, help_text=_USER)


@extend_schema_field(ConversationRequest)
class ConversationField(serializers.JSONField):
    """Messages to store, checked by themselves."""


class MessagesBatchRequest(StrictSerializer):
    """Conversations, stored in this order, each by itself."""

    conversations = Several(ConversationField(allow_null=True), limit=MAX_CONVERSATIONS, allow_empty=False)
    app = AppName()


class MessagesBatchEntrySerializer(serializers.Serializer[Any]):
    """What became of one entry: `answer`, or with a status from 400 on a `problem`."""

    status = serializers.IntegerField(help_text="As of the single call: 200, 201 or 202, or the refusal.")
    answer = MessagesResponse(allow_null=True)
    problem = ProblemSerializer(allow_null=True, help_text="Why nothing of this entry was stored.")


class MessagesBatchResponse(serializers.Serializer[Any]):
    """A result for each entry, in the order of the request."""

    stored = serializers.IntegerField(help_text="How many were stored, or stored before.")
    refused = serializers.IntegerField()
    results = MessagesBatchEntrySerializer(many=True)


class ForgetAllQuery(StrictSerializer):
    """What to erase, and that it was counted before."""

    filters = FiltersQuery()
    dry_run = TruthInQuery(default=False, help_text="Count what would go, and get the token for `confirm`.")
    confirm = TextInQuery(
        default="",
        allow_blank=True,
        max_length=1000,
        help_text="The token of a count with the same filters, at most an hour old.",
    )


class ForgottenAllResponse(MemoriesErasedResponse):
    """What a call erased, or with `dry_run` would erase; the token then is in `confirm`."""

    dry_run = serializers.BooleanField()
    kinds = serializers.DictField(child=serializers.IntegerField(), help_text="With `dry_run`: the memories by kind.")
    confirm = serializers.CharField(allow_null=True)
    confirm_until = serializers.DateTimeField(allow_null=True)


class ImportQuery(StrictSerializer):
    """How to read the file in the body."""

    format = Choice(ExportFormat, default=None, help_text="Default: as the file looks.")
    source_user = TextInQuery(
        default="", allow_blank=True, max_length=200, help_text="Of a file with several users: whose entries to take."
    )
    dry_run = TruthInQuery(default=False, help_text="Store nothing; say what would come.")
    learn = serializers.ChoiceField(
        [(each.value, each.name) for each in (Learn.BACKGROUND, Learn.OFF)],
        default=Learn.BACKGROUND.value,
        help_text="Whether facts are learned from imported conversations.",
    )
    app = AppName()


class RefusedSerializer(serializers.Serializer[Any]):
    """An entry of the file that is not imported."""

    place = serializers.CharField(help_text="Where it stands, such as `results.3` or `line 4`.")
    reason = serializers.CharField()


class ExampleSerializer(serializers.Serializer[Any]):
    """A memory that would be stored."""

    kind = Choice(Kind)
    text = serializers.CharField()


class ImportResponse(serializers.Serializer[Any]):
    """What was imported, or with `dry_run` would be."""

    format = Choice(ExportFormat)
    dry_run = serializers.BooleanField()
    complete = serializers.BooleanField(help_text="False: the time was over; send the file again for the rest.")
    sessions = serializers.IntegerField(help_text="New conversations.")
    messages = serializers.IntegerField(help_text="New messages in their transcripts.")
    added = serializers.DictField(child=serializers.IntegerField(), help_text="New memories and items by kind.")
    merged = serializers.IntegerField(help_text="Said what was remembered already.")
    known = serializers.IntegerField(help_text="Imported before.")
    forgotten = serializers.IntegerField(help_text="Left out: erased, or for items also deleted, by the member since.")
    masked = serializers.IntegerField(help_text="Messages that were stored without a sensitive value.")
    refused_count = serializers.IntegerField()
    refused = RefusedSerializer(many=True, help_text="The first 100 that were left out, and why.")
    examples = ExampleSerializer(many=True, help_text="With `dry_run`: the first few, as they would be stored.")
    operation = OperationResponse(allow_null=True, help_text="The learning from new conversations.")
