"""Session memory (L1): a conversation's transcript, the agent's working notes, and the memories it mentions.

Agent replies are stored only here.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models.guard import OwnedQuerySet
from memories.types import Importance, Kind


class MessageRole(TextChoices):
    """The role of a message in the chat protocol."""

    USER = "user", _("user")
    ASSISTANT = "assistant", _("assistant")
    TOOL = "tool", _("tool")


class MessageState(TextChoices):
    """How a message ended: complete, cut off while streaming, failed before an answer, or redacted by an erasure."""

    COMPLETE = "complete", _("complete")
    CUT_OFF = "cut_off", _("cut off")
    FAILED = "failed", _("failed")
    REDACTED = "redacted", _("redacted")


class Session(models.Model):
    """One conversation of one owner. `working_memory` holds the L0 slots; `entries` log what was put in them (L1).

    `external_id` is the id of a program that keeps its own sessions; unique for the owner.
    `temporary`: nothing of it is recalled for or kept in memory, no list shows it, and its end deletes it.
    `ended_at`: the task or conversation ended and its important entries were proposed as lasting memories. After
    `expires_at` the working memory and entries are deleted, at the time in `expired_at`; the transcript stays.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    title = models.CharField(max_length=200, blank=True, default="")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    temporary = models.BooleanField(default=False)
    working_memory: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_turn_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    expired_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-last_turn_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "external_id"],
                name="session_external_id_of_owner",
                condition=models.Q(external_id__isnull=False),
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-last_turn_at"], name="session_owner_recent"),
            models.Index(fields=["expires_at"], name="session_to_expire", condition=models.Q(expired_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return "Temporary chat" if self.temporary else self.title or f"Session of {self.created_at:%d %b %Y}"


class Message(models.Model):
    """One message of a session. A turn is a user message (step 0), tool calls and results, and the final answer.

    `Mention` rows list the memories that a tool message returned or wrote. Memory texts are looked up for display and
    never copied here, so erased memories disappear from the transcript too. `recall` is the trace of a recall; it is
    recorded asynchronously, so the row may come later and the database has no constraint. `sensitivity` is as in
    `MemoryRow`. `memory_tokens` of an answer counts the prompt tokens that memories took in its turn. `own` is False
    for a message that neither the owner nor this agent wrote, such as an imported one of somebody else; a model sees it
    only as a quoted record. `learn` is null for a message of this chat or of an import. A program that recorded the
    message of a conversation held elsewhere says by it whether memories may be learned from these words. `replaced_by`
    is the turn that took this one's place when the member edited the message or asked for another answer; the page and
    the prompts leave such a turn out.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    turn = models.PositiveIntegerField()
    step = models.PositiveIntegerField(default=0)
    role = models.CharField(max_length=10, choices=MessageRole.choices)
    state = models.CharField(max_length=10, choices=MessageState.choices, default=MessageState.COMPLETE)
    speaker = models.CharField(max_length=100, blank=True, default="")
    own = models.BooleanField(default=True)
    learn = models.BooleanField(null=True, blank=True)
    replaced_by = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField(blank=True, default="")
    tool_calls: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list, blank=True)
    tool_call_id = models.CharField(max_length=100, blank=True, default="")
    recall = models.ForeignKey(
        "memories.RecallTrace",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="messages",
        db_constraint=False,
    )
    degraded = models.BooleanField(default=False)
    sensitivity: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    memory_tokens = models.PositiveIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True, default="")
    took_ms = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["turn", "step"]
        constraints = [models.UniqueConstraint(fields=["session", "turn", "step"], name="message_place_in_session")]
        indexes = [
            models.Index(fields=["created_at"], name="answer_recent", condition=models.Q(memory_tokens__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.turn}.{self.step}"


class EntryKind(TextChoices):
    """The working memory slot that an entry was written to; `decision` marks a decision."""

    GOAL = "goal", _("goal")
    PLAN = "plan", _("plan")
    PROGRESS = "progress", _("progress")
    OBSERVATION = "observation", _("observation")
    CONSTRAINT = "constraint", _("constraint")
    NOTE = "note", _("note")
    DECISION = "decision", _("decision")


class SessionEntry(models.Model):
    """One entry, written in the transaction that changes the working memory; deleted when the session expires.

    `memory_id` is the lasting memory that the entry became when the session ended, if it was proposed.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="entries")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    turn = models.PositiveIntegerField(default=0)
    place = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=EntryKind.choices)
    importance = models.CharField(max_length=9, choices=Importance.choices, default=Importance.NORMAL)
    text = models.TextField()
    memory_id = models.UUIDField(null=True, blank=True)
    proposed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["session", "place"]
        verbose_name_plural = "session entries"
        constraints = [models.UniqueConstraint(fields=["session", "place"], name="entry_place_in_session")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Relation(TextChoices):
    """What the message did with the memory. `shown`: the prompt or the answer held it without a recall."""

    RECALLED = "recalled", _("recalled")
    SHOWN = "shown", _("shown")
    WROTE = "wrote", _("wrote")
    CONFIRMED = "confirmed", _("confirmed")
    REPLACED = "replaced", _("replaced")
    FORGOT = "forgot", _("forgot")


class Mention(models.Model):
    """One memory in one message. `position` keeps the order; `reasons` tell people why it was recalled.

    `used` says whether the answer was made from a recalled or shown memory; null where nobody can tell.
    """

    id = models.BigAutoField(primary_key=True)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="mentions")
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, related_name="+")
    relation = models.CharField(max_length=9, choices=Relation.choices)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    memory_id = models.UUIDField()
    position = models.PositiveIntegerField(default=0)
    used = models.BooleanField(null=True, blank=True)
    reasons: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["message", "position"]
        indexes = [models.Index(fields=["memory_id", "relation"], name="mention_of_memory")]

    def __str__(self) -> str:
        return f"{self.relation} {self.kind} {self.memory_id}"
