"""A member's whole memory as a signed archive: what was said, what is and was believed, talks, decisions, the trail.

`memory.jsonl` is in the form that `import_memories` reads, `audit_events.jsonl` takes all digests of the member's chain
again; the other tables are in the forms asked for. Originals of masked values stay sealed and are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db import transaction

from memories.importing.records import record_line
from memories.selectors.erasure import is_erased, open_request
from memories.services.exporting import records_of
from memories.services.portability.tables import OF_A_MEMBER, files_of
from memoryhub.archive import ArchiveFile, stream_archive
from memoryhub.signing import public_keys
from memoryhub.tables import TableFormat
from tenants.actor import Actor
from tenants.audit import record_event
from tenants.audit_export import TrailFiles, made_by
from tenants.errors import Forbidden
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, AuditHead, Membership, User
from tenants.principal import AUDITS, Principal
from tenants.principals import reading_principal
from tenants.standing import still

MEMORY_FILE = "memory.jsonl"


def export_member(
    membership: Membership, *, staff: User, forms: Sequence[TableFormat], request_id: str = ""
) -> Iterator[bytes]:
    """The archive, a piece at a time.

    Raises Forbidden unless `staff` audits or administers the member's tenant, and while the member is being erased;
    ImproperlyConfigured where nothing can be signed; nothing is recorded then.
    """
    principal = reading_principal(membership, staff=staff, roles=AUDITS, request_id=request_id)
    erased = is_erased(membership.pk)
    if erased and open_request(membership.pk) is not None:
        raise Forbidden("This member is being erased: what is left would not be their whole memory.")
    public_keys()
    with transaction.atomic():
        wait_for_owner(principal)
        event = record_event(
            principal, action="memory.exported", reason="everything", after={"formats": [form.value for form in forms]}
        )
    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    trail = _trail(event)
    told = {
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
        reading_principal(membership, staff=still(staff), roles=AUDITS)
        if is_erased(membership.pk) and not erased:
            raise Forbidden("This member is being erased.")

    files = _files(principal, trail, forms)
    return stream_archive(files, lambda: {**told, "chains": trail.chains()}, may_go_on=may_go_on)


def _files(principal: Principal, trail: TrailFiles, forms: Sequence[TableFormat]) -> Iterator[ArchiveFile]:
    records = records_of(principal)
    yield ArchiveFile(MEMORY_FILE, (record_line(record).encode(errors="surrogatepass") + b"\n" for record in records))
    yield from files_of(OF_A_MEMBER, forms, tenant_id=principal.tenant_id, user_id=principal.user_id)
    yield from trail.files(forms)


def _trail(event: AuditEvent) -> TrailFiles:
    """The member's chain up to the event that tells of the export: that is how it stood."""
    events = AuditEvent.objects.filter(chain=event.chain, sequence__lte=event.sequence).order_by("sequence")
    head = AuditHead(chain=event.chain, length=event.sequence, digest=event.digest)
    return TrailFiles([events], heads={event.chain: head})
