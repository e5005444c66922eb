"""A member's whole memory as a signed archive: transcripts, memories in every status, decisions, audit events.

An administrator or a backend key asks for it with a reason, and a second person approves (`services/approvals.py`);
who asked downloads it once.

`memory.jsonl` has the format that `import_memories` reads. `audit_events.jsonl` reproduces all digests of the member's
chain. The other tables come in the requested formats, without columns derived for the search plane. Originals of masked
values stay sealed and are not exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, existing
from memories.importing.records import record_line
from memories.models import (
    CaseNote,
    ConsolidationRun,
    Episode,
    ExportRequest,
    Fact,
    Feedback,
    Item,
    Mention,
    Message,
    Playbook,
    RecallTrace,
    RequestState,
    ReviewItem,
    Session,
    SessionEntry,
    SupportCase,
)
from memories.models.guard import OwnedQuerySet
from memories.selectors.erasure import is_erased, open_request
from memories.selectors.exports import LIMITED, asked_lately, to_take
from memories.services.approvals import acting_person, ask, staff_rules
from memories.services.portability.memories_export import records_of
from memoryhub.signing.archive import ArchiveFile, RowTable, TableFormat, as_file, stream_archive
from memoryhub.signing.keys import public_keys
from tenants.audit.chain import EventDraft, record_event, record_tenant_event
from tenants.audit.export import AuditLogFiles, made_by
from tenants.errors import Forbidden
from tenants.locks import wait_for_owner, wait_for_tenant
from tenants.models import ApiToken, AuditEvent, AuditHead, Membership, User
from tenants.principal import ADMINISTERS, Actor, KeyHolder, Principal
from tenants.principals import principal_of_key, reading_principal, still

_ROWS_AT_ONCE = 500

# Not exported: the owner (in the manifest); columns for the gates and the search plane; raw answers of a model; recall
# internals.
_LEFT_OUT = frozenset(
    """
    tenant_id user_id content_hash likeness embedding embedding_model token_ids stages candidates output
    """.split()
)


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table to export. `exact`: another file already has these rows in JSON Lines."""

    name: str
    model: type[Model]
    order: Sequence[str]
    exact: bool = False

    def table(self, **only: object) -> RowTable:
        """The rows that match the filters `only`."""
        every: Any = self.model._default_manager.all()
        if isinstance(every, OwnedQuerySet):
            every = every.unscoped("everything of one member")
        columns = columns_of(self.model)
        rows = every.filter(**only).order_by(*self.order).values_list(*columns)
        return RowTable(self.name, columns, rows.iterator(chunk_size=_ROWS_AT_ONCE))


def columns_of(model: type[Model]) -> tuple[str, ...]:
    """The exported columns of a model."""
    return tuple(each.attname for each in model._meta.concrete_fields if each.attname not in _LEFT_OUT)


OF_A_MEMBER: tuple[ExportTable, ...] = (
    ExportTable("episodes", Episode, ("ordinal",), exact=True),
    ExportTable("facts", Fact, ("learned_at", "id"), exact=True),
    ExportTable("how_tos", Playbook, ("learned_at", "id"), exact=True),
    ExportTable("items", Item, ("created_at", "id")),
    ExportTable("sessions", Session, ("created_at", "id")),
    ExportTable("session_notes", SessionEntry, ("session_id", "place")),
    ExportTable("transcript", Message, ("session_id", "turn", "step")),
    ExportTable("feedback", Feedback, ("created_at", "id")),
    ExportTable("uses", Mention, ("id",)),
    ExportTable("recalls", RecallTrace, ("created_at", "id")),
    ExportTable("reviews", ReviewItem, ("created_at", "id")),
    ExportTable("cases", SupportCase, ("created_at", "id")),
    ExportTable("case_notes", CaseNote, ("created_at", "id")),
    ExportTable("runs", ConsolidationRun, ("started_at", "id")),
)


MEMORY_FILE = "memory.jsonl"


EXPORTED = "memory.exported"


def ask_export(by: Principal | Actor | KeyHolder, *, membership_id: UUID, reason: str) -> ExportRequest:
    """Ask for the whole memory of a member. It is approved at once unless it needs a second person.

    Raises NotFound, Forbidden, InvalidInput (`reason`), Conflict (asked for already, or the daily number is reached).
    """
    member = existing(Membership.objects.filter(pk=membership_id).first(), "member")
    actor, asker = acting_person(by, member.tenant_id, "member")
    most = staff_rules(member.tenant_id).exports_daily
    with transaction.atomic():
        if asker is not None:
            User.objects.select_for_update(no_key=True).get(pk=asker.pk)  # counts requests that come at once
        elif isinstance(by, KeyHolder):
            wait_for_tenant(member.tenant_id)
        counted = by if isinstance(by, KeyHolder) else asker
        limited = counted is not None and asked_lately(counted) >= most
        if limited:
            draft = EventDraft(LIMITED, "membership", membership_id, after={"daily": most})
            record_tenant_event(actor, member.tenant_id, draft)
        else:
            wanted = ExportRequest(tenant_id=member.tenant_id, membership=member, reason=reason, asked_by=asker)
            return ask(actor, wanted, twice=_("You have asked for this memory already; it waits for a second person."))
    raise Conflict(
        _("One person, or backend key, asks for at most %(most)s whole memories in 24 hours. Ask again later.")
        % {"most": most}
    )


def export_member(
    request: ExportRequest, *, by: User | KeyHolder, forms: Sequence[TableFormat], request_id: str = ""
) -> Iterator[bytes]:
    """The archive of an approved request, in pieces; it is taken once.

    Raises Forbidden unless `by` asked for it, still administers the member's tenant and takes it within the day, and
    while the member is being erased. Raises ImproperlyConfigured without a signing key. Then nothing is recorded.
    """
    membership = Membership.objects.select_related("tenant", "user").get(pk=request.membership_id)
    principal = _reader(membership, by, request_id)
    erased = is_erased(membership.pk)
    if erased and open_request(membership.pk) is not None:
        raise Forbidden(_("This member is being erased: what is left would not be their whole memory."))
    public_keys()
    with transaction.atomic():
        wait_for_owner(principal)
        now = timezone.now()
        if not to_take(by, now).filter(pk=request.pk).update(state=RequestState.DONE, taken_at=now):
            raise Forbidden(_("This export is not yours to take, was taken already, or was approved over a day ago."))
        event = record_event(
            principal,
            action=EXPORTED,
            target_kind=ExportRequest.audit_kind,
            target_id=request.pk,
            reason=request.reason,
            after={"formats": [form.value for form in forms]},
        )
    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    audit_log = _audit_log(event)
    statement = {
        "what": "member",
        "whose": {
            "tenant_id": str(principal.tenant_id),
            "owner_id": str(principal.user_id),
            "membership_id": str(principal.membership_id),
        },
        "range": {},
        **made_by(actor, event),
    }

    def may_go_on() -> None:
        _reader(membership, by if isinstance(by, KeyHolder) else still(by), request_id)
        if is_erased(membership.pk) and not erased:
            raise Forbidden(_("This member is being erased."))

    files = _files(principal, audit_log, forms)
    return stream_archive(files, lambda: {**statement, "chains": audit_log.chains()}, may_go_on=may_go_on)


def _reader(membership: Membership, by: User | KeyHolder, request_id: str) -> Principal:
    """Whoever takes the export, reading the member's memory. Raises Forbidden, NoMembership."""
    if not isinstance(by, KeyHolder):
        return reading_principal(membership, staff=by, roles=ADMINISTERS, request_id=request_id)
    if not ApiToken.objects.filter(pk=by.key_id, tenant=membership.tenant_id, revoked_at=None).exists():
        raise Forbidden(_("This key does not work any more."))
    return principal_of_key(by, membership)


def _files(principal: Principal, audit_log: AuditLogFiles, forms: Sequence[TableFormat]) -> Iterator[ArchiveFile]:
    records = records_of(principal)
    yield ArchiveFile(MEMORY_FILE, (record_line(record).encode(errors="surrogatepass") + b"\n" for record in records))
    for source in OF_A_MEMBER:
        for form in forms:
            if not (source.exact and form is TableFormat.JSON_LINES):
                yield as_file(source.table(tenant_id=principal.tenant_id, user_id=principal.user_id), form)
    yield from audit_log.files(forms)


def _audit_log(event: AuditEvent) -> AuditLogFiles:
    """The member's chain up to the event of this export."""
    events = AuditEvent.objects.filter(chain=event.chain, sequence__lte=event.sequence).order_by("sequence")
    head = AuditHead(chain=event.chain, length=event.sequence, digest=event.digest)
    return AuditLogFiles([events], heads={event.chain: head})
