"""Registers memories' additions to the audit log pages: fixed reasons, the user that an event is about, and links."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from memories.models import CHAINED_MODELS, Episode, ErasureRequest, ExportRequest, LegalHold
from memories.services.consolidation.applying import REASON as CONSOLIDATED
from memories.services.erasure.requests import AUDIT_KIND as ERASURE
from memories.services.erasure.requests import HOLD_AUDIT_KIND as HOLD
from memories.services.portability.memories_import import REASON as IMPORTED
from memories.staff.base import purpose_of
from memories.types import Kind
from tenants.admin.audit_event import AuditLink, May, ask_purpose, offer_links, offer_member_links
from tenants.audit.sentences import own_reasons, tell_whom
from tenants.models import AuditEvent, Membership
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY

# Reasons that the program sets. A reason written by a person or an agent may quote a memory.
_REASONS = (
    CONSOLIDATED, IMPORTED, "promoted", "session forgotten", "kept at the end of a task", "said in chat",
    "concluded in chat", "proposed in chat", "denied in chat", "ended in chat", "said to an agent",
    "concluded by an agent", "proposed by an agent", "denied to an agent", "ended by an agent", "asked for in chat",
    "never true", "not active", "by hand", "membership deactivated", "tenant deactivated", "user deactivated",
    "the words of a request to erase", "a model found that both cannot hold", "with the catalog", "everything",
)  # fmt: skip
_CHAINED = frozenset(kind.value for kind in CHAINED_MODELS)
_RECORDED = _CHAINED | {Kind.EPISODIC.value}


def links(event: AuditEvent, may: May) -> Iterator[AuditLink]:
    """Links from an event to the chain, memory, turn, conversation and member that it is about, as `may` permits."""
    if event.target_kind in _CHAINED and event.target_id is not None and may(READS_HISTORY):
        yield from _link(_("Its history"), "history", event.target_kind, event.target_id)
    if event.tenant_id is None or event.owner_id is None or not may(READS_MEMORY):
        return
    member = Membership.objects.filter(tenant_id=event.tenant_id, user_id=event.owner_id).first()
    if member is None:
        return
    if event.target_id is not None:
        yield from _about(event.target_kind, event.target_id, member)
    yield from _link(_("The member's memory"), "inspector", member.pk)


def member_links(member: Membership, may: May) -> Iterator[AuditLink]:
    """Links from a member in the audit log to the member's pages, as `may` permits."""
    if may(READS_MEMORY):
        yield from _link(_("The member's memory"), "inspector", member.pk)
    if may(AUDITS):
        yield from _link(_("Export what is kept of the member"), "exporting", member.pk)


def _about(kind: str, target_id: UUID, member: Membership) -> Iterator[AuditLink]:
    if kind in _RECORDED:
        yield from _link(_("Its record"), "record", member.pk, target_id)
    if kind == Kind.ITEM.value:
        yield from _link(_("Its item"), "item", member.pk, target_id)
    if kind == Kind.EPISODIC.value:
        said = Episode.objects.of_owner(member.tenant_id, member.user_id).filter(pk=target_id)
        turn = said.exclude(message=None).values_list("message__session_id", "message__turn").first()
        if turn:
            yield from _link(_("The turn in which it was said"), "turn", member.pk, *turn)
    if kind == "session":
        yield from _link(_("The conversation"), "conversation", member.pk, target_id)


def _erased(tenant_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, UUID | None]:
    """The user that each of these erasure requests erases."""
    requests = ErasureRequest.objects.filter(pk__in=ids, tenant=tenant_id)
    return dict(requests.order_by().values_list("pk", "membership__user"))


def _exported(tenant_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, UUID | None]:
    """The user whose memory each of these requests exports."""
    requests = ExportRequest.objects.filter(pk__in=ids, tenant=tenant_id)
    return dict(requests.order_by().values_list("pk", "membership__user"))


def _held(tenant_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, UUID | None]:
    """The user that each of these legal holds covers; None for a hold on the whole tenant."""
    return dict(LegalHold.objects.filter(pk__in=ids, tenant=tenant_id).order_by().values_list("pk", "user"))


def _link(words: str, name: str, *arguments: object) -> Iterator[AuditLink]:
    yield AuditLink(words, reverse(f"staff:{name}", args=arguments))


own_reasons(_REASONS)
offer_links(links)
offer_member_links(member_links)
ask_purpose(purpose_of)
tell_whom(ERASURE, _erased)
tell_whom(ExportRequest.audit_kind, _exported)
tell_whom(HOLD, _held)
