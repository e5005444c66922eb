"""Appending to audit chains as services do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from tenants.audit.chain import EventDraft, record_events
from tenants.locks import lock_owner
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.serving_role import as_owner


def append(principal: Principal, *actions: str, target_id: UUID | None = None, text: str = "") -> list[AuditEvent]:
    """One event for each action, in one transaction under the owner's lock."""
    drafts = [EventDraft(action, "fact", target_id, after={"text": text}) for action in actions]
    with transaction.atomic():
        lock_owner(principal)
        return record_events(principal, drafts)


def execute(sql: str, *parameters: Any) -> None:
    """Run SQL behind the application's back."""
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
