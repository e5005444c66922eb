"""Promote: copy a fact or playbook into a wider scope, if the role allows it.

Afterwards the copy is independent of the original; `promoted_from` and the audit log name its source. The event of a
shared copy holds ids and no text, so its owner can still have the original erased completely.
"""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, Playbook
from memories.services.facts.closing import Supersedable, model_of
from memories.services.facts.drafts import FactDraft, PlaybookDraft, checked, draft_of
from memories.services.facts.remember import store_fact
from memories.services.playbooks import store_playbook
from memories.services.retention.dates import given_dates, has_expired, to_come
from memories.services.screening import Screen, screened_reason
from memories.services.write import AUDIT_NOUN, Write, owner_columns, write
from memories.types import CURRENT, Kind, Scope, WriteOutcome, WriteResult
from tenants.audit.chain import PLATFORM_CHAIN, Chain, EventDraft
from tenants.models import AuditEvent
from tenants.principal import Principal

# From the narrowest to the widest.
_WIDTH = (Scope.TASK, Scope.USER, Scope.TENANT, Scope.GLOBAL)


def promote(principal: Principal, *, kind: Kind, memory_id: UUID, to: Scope, reason: str = "") -> WriteOutcome:
    """Copy a fact or playbook into a wider scope: task to user or tenant, user to tenant, tenant to global.

    The copy passes the gates of that scope: it merges into an equal memory, and supersedes the one with its key. A
    repeated promotion does nothing while the copy is current. Raises InvalidInput (`to` is not wider), NotFound,
    Conflict (the memory is not current), Forbidden (the role does not allow it; see `write`).
    """
    reason = screened_reason(principal, reason)
    if kind not in (Kind.SEMANTIC, Kind.PROCEDURAL):
        raise Conflict(_("Only facts and playbooks can be promoted; what was said stays with whom it was said to."))
    with write(principal, to) as w:
        row = _original(principal, kind, memory_id, to)
        known = _known_copy(row, to)
        if known is not None:
            return WriteOutcome(WriteResult.MERGED, kind, known, reason="It was promoted already.")
        if isinstance(row, Fact):
            outcome = store_fact(w, checked(_fact(w, row, to), Screen(principal)))
        else:
            outcome = store_playbook(w, checked(_playbook(w, row, to), Screen(principal)))
        _record(w, row, outcome.memory_id, to, reason)
        return outcome


def _original(principal: Principal, kind: Kind, memory_id: UUID, to: Scope) -> Supersedable:
    """The row to copy: the principal's own or, for global scope, one that their tenant shares."""
    rows = model_of(kind).objects
    if to is Scope.GLOBAL:
        found = rows.in_place({"scope": Scope.TENANT, "tenant_id": principal.tenant_id}).filter(pk=memory_id).first()
    else:
        found = rows.of(principal).filter(pk=memory_id).first()
    if found is None:
        raise NotFound(AUDIT_NOUN[kind])
    if _WIDTH.index(to) <= _WIDTH.index(Scope(found.scope)):
        raise InvalidInput("to", _("must be a wider scope than the one that it is in."))
    if found.status not in CURRENT or (isinstance(found, Fact) and has_expired(found, timezone.now())):
        raise Conflict(_("This memory was superseded; promote the current one."))
    return found


def _known_copy(row: Supersedable, to: Scope) -> UUID | None:
    """The current copy from an earlier promotion of `row`, new or merged; None if there is none."""
    action = f"{AUDIT_NOUN[row.kind]}.promoted"
    for event in AuditEvent.objects.filter(action=action, target_id=row.pk).select_related("payload"):
        payload = getattr(event, "payload", None)
        copy = (payload.data["after"] or {}).get("copy") if payload else None
        copies = model_of(row.kind).objects.in_place({"pk": copy, "scope": to})
        if copy and copies.current().exists():
            return UUID(copy)
    return None


def _record(w: Write, row: Supersedable, copy_id: UUID, to: Scope, reason: str) -> None:
    """Audit the promotion in the owner's chain and, without texts, in the chain of the tenant or platform."""
    action = f"{AUDIT_NOUN[row.kind]}.promoted"
    w.audit(
        action,
        target_kind=row.kind.value,
        target_id=row.pk,
        reason=reason,
        after={"copy": str(copy_id), "scope": to.value},
    )
    shared = EventDraft(action, row.kind.value, copy_id, after={"from": str(row.pk), "scope": to.value})
    if to in (Scope.TENANT, Scope.GLOBAL):
        w.audit_drafts([shared], chain=Chain.of_tenant(w.principal.tenant_id))
    if to is Scope.GLOBAL:
        w.audit_drafts([shared], chain=Chain(PLATFORM_CHAIN))


def _fact(w: Write, row: Fact, to: Scope) -> FactDraft:
    """A draft of the copy. For shared scopes it has no supporting episodes and no pin, which stay with the owner.

    It expires by the rules of the wider scope, or on a date that was set explicitly.
    """
    own, now = to is Scope.USER, timezone.now()
    given = to_come(given_dates(row, w.rules(row.scope)), now=now)
    draft: FactDraft = draft_of(
        row,
        learned_at=now,
        reason="promoted",
        supporting_episode_ids=tuple(row.supporting_episodes.values_list("pk", flat=True)) if own else (),
        scope=to,
        task="",
        pinned=row.pinned and own,
        promoted_from=row.pk,
        review_after=given.review_after,
        expires_at=given.expires_at,
    )
    return draft


def _playbook(w: Write, row: Playbook, to: Scope) -> PlaybookDraft:
    """A draft of the copy with its outcome counts, or with none if an equal playbook exists there."""
    known = Playbook.objects.in_place(owner_columns(w.principal, to, "")).current()
    counted = not known.filter(content_hash=row.content_hash).exists()
    uncounted = dict.fromkeys(("last_success_at", "last_failure_at")) | {"success_count": 0, "failure_count": 0}
    draft: PlaybookDraft = draft_of(
        row,
        learned_at=timezone.now(),
        reason="promoted",
        scope=to,
        task="",
        promoted_from=row.pk,
        **({} if counted else uncounted),
    )
    return draft
