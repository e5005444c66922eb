"""Verifies everything of a tenant as a job, and exports the result as a signed certificate.

A check takes each chain of the tenant's audit log with its anchor and the rights that it records, compares the memories
of each owner with the log, and asks for the database's triggers and the anchor file. Results are stored while it runs,
so that another process continues where one ended. Results hold ids and digests, no text of a memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.errors import existing
from memories.selectors.history.chains import chain_of_owner, owners_of_memories
from memories.services.audit_reports import require_auditor
from memories.services.chain_proofs import NOT_MADE, checked, prove_supersession
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import RUN_SECONDS, JobResult, wake_on_commit
from memoryhub.leases import fault_of
from memoryhub.signing.archive import ArchiveFile, json_line, stream_archive
from memoryhub.signing.keys import public_keys
from tenants.audit.anchors import Anchored, anchored, file_faults
from tenants.audit.chain import EventDraft, owner_chain, tenant_chain
from tenants.audit.digests import canonical_json
from tenants.audit.export import made_by
from tenants.audit.listing import tell_tenant
from tenants.audit.triggers import missing_triggers
from tenants.audit.verification import chain_names, prove, prove_guards
from tenants.auditors import TenantCheck
from tenants.models import AuditEvent, ChainCheck, Checked, User
from tenants.principal import SYSTEM, Actor, ActorKind
from tenants.principals import still

log = logging.getLogger(__name__)

JOB = "memories.check_tenants"
CERTIFIED, DOWNLOADED = "audit.certified", "certificate.downloaded"
TARGET_KIND = "tenant_check"
CERTIFICATE_FILE, CHAINS_FILE, PDF_FILE = "certificate.json", "chains.jsonl", "certificate.pdf"
_SAVED_EVERY_SECONDS = 2.0

Step = tuple[Checked, str, Callable[[], ChainCheck]]


def ask_check(staff: User, tenant_id: UUID) -> TenantCheck:
    """Start a verification of everything of the tenant, or return the one that runs.

    Raises Forbidden, and ImproperlyConfigured without a signing key.
    """
    require_auditor(staff, tenant_id)
    public_keys()
    with transaction.atomic():
        check, _ = TenantCheck.objects.get_or_create(
            tenant_id=tenant_id, finished_at=None, defaults={"asked_by": staff}
        )
        wake_on_commit(JOB)
    return check


def run_due() -> JobResult:
    """Carry out the checks that were asked for, oldest first; one that fails is tried again at the next run.

    Returns MORE if the time of a run was over before.
    """
    ends = time.monotonic() + RUN_SECONDS
    try:
        with advisory_lock("tenant-checks"):
            for check in TenantCheck.objects.filter(finished_at=None).order_by("asked_at"):
                try:
                    if not _carry_out(check, ends):
                        return JobResult.MORE
                except Exception as error:  # noqa: BLE001 - one tenant's fault must not stop the others
                    log.error("The verification of tenant %s failed: %s.", check.tenant_id, fault_of(error))  # noqa: TRY400 - a message may quote a row
    except LockTaken:
        log.info("Another process is verifying tenants.")
    return JobResult.DONE


def _carry_out(check: TenantCheck, ends: float) -> bool:
    """Run the steps without a result; whether all of them are done."""
    known = anchored()
    steps = list(_steps(check, known))
    done = {(each["what"], each["chain"]) for each in check.results}
    check.started_at, check.total = check.started_at or timezone.now(), len(steps)
    check.save(force_update=True)
    saved = time.monotonic()
    for what, chain, prove_it in steps:
        if (what.value, chain) in done:
            continue
        if time.monotonic() >= ends:
            check.save(force_update=True)
            return False
        check.results.append(_result(checked(chain, what, prove_it), known.get(chain)))
        if time.monotonic() - saved >= _SAVED_EVERY_SECONDS:
            check.save(force_update=True)
            saved = time.monotonic()
    _finish(check)
    return True


def _steps(check: TenantCheck, known: Mapping[str, Anchored]) -> Iterator[Step]:
    own, owners = tenant_chain(check.tenant_id), f"owner:{check.tenant_id}:"
    by = check.asked_by
    for chain in sorted(chain_names() | known.keys()):
        if chain == own or chain.startswith(owners):
            yield Checked.AUDIT, chain, partial(prove, chain, by, known=known)
    for owner in owners_of_memories():
        if owner.tenant_id == check.tenant_id:
            yield Checked.SUPERSESSION, chain_of_owner(owner), partial(prove_supersession, owner, by)


def _result(proof: ChainCheck, at: Anchored | None) -> dict[str, Any]:
    """A line of the certificate. `count`: good events, or memories that agree with the audit log."""
    audit = proof.what == Checked.AUDIT
    return {
        "what": proof.what,
        "chain": proof.chain,
        "ok": proof.ok,
        "count": proof.count,
        "erased": proof.erased,
        "digest": proof.digest,
        "anchored": {"length": at.length, "at": at.when} if at and audit else None,
        "first_bad": proof.first_bad,
        "event_id": str(proof.event_id) if proof.event_id else None,
        "reason": proof.reason,
    }


def _finish(check: TenantCheck) -> None:
    prove_guards()
    check.guards = [f"The trigger {name} is missing or disabled." for name in missing_triggers()]
    if faults := file_faults():
        # The file is about all tenants, so a certificate of one counts its faults.
        check.guards.append(f"The anchor file has {len(faults)} faults.")
    said = {"ok": not (check.failed or check.guards), "checked": len(check.results), "sha256": digest_of(check)}
    by = Actor(ActorKind.STAFF, check.asked_by_id) if check.asked_by_id else SYSTEM
    with transaction.atomic():
        event = tell_tenant(by, check.tenant_id, EventDraft(CERTIFIED, TARGET_KIND, check.pk, after=said))
        check.finished_at, check.certified_as = event.created_at, event.pk
        check.save(force_update=True)


def digest_of(check: TenantCheck) -> str:
    """The sha256 of the results, which the event of the certificate records."""
    return hashlib.sha256(canonical_json(check.results).encode()).hexdigest()


def failures_of(check: TenantCheck) -> dict[str, int]:
    """How many of the checks of a verification failed, and how many could not be made."""
    not_made = sum(each["reason"].startswith(NOT_MADE) for each in check.failed)
    return {"failures": len(check.failed) - not_made + len(check.guards), "not_made": not_made}


def certificate_of(check: TenantCheck) -> dict[str, Any]:
    """The certificate of a finished check: its extent, time, author and verdict.

    The verdict is "intact", "broken", or "incomplete" if nothing failed but some checks could not be made.
    """
    audit = [each for each in check.results if each["what"] == Checked.AUDIT]
    memories = [each for each in check.results if each["what"] == Checked.SUPERSESSION]
    return {
        "tenant": {"id": str(check.tenant_id), "name": check.tenant.name},
        "check": str(check.pk),
        "asked_by": {"id": str(check.asked_by_id), "name": check.asked_by.speaker} if check.asked_by else None,
        "started_at": _iso(check.started_at),
        "finished_at": _iso(check.finished_at),
        "verdict": "intact" if check.intact else "broken" if failures_of(check)["failures"] else "incomplete",
        "audit_log": {
            "chains": len(audit),
            "events": sum(each["count"] for each in audit),
            "erased": sum(each["erased"] for each in audit),
            "anchored_chains": sum(each["anchored"] is not None for each in audit),
        },
        "memories": {"owners": len(memories), "compared": sum(each["count"] for each in memories)},
        "guards": check.guards or "present",
        "failed": check.failed,
        "results_sha256": digest_of(check),
    }


def export_certificate(
    check: TenantCheck, *, staff: User, actor: Actor, render: Callable[[Mapping[str, Any], AuditEvent], bytes]
) -> Iterator[bytes]:
    """A signed archive with the certificate as JSON and PDF (`render`), and a line for each chain.

    Raises Forbidden, NotFound, ImproperlyConfigured. That it is exported is recorded first.
    """
    require_auditor(staff, check.tenant_id)
    public_keys()
    certified = existing(AuditEvent.objects.filter(pk=check.certified_as or check.pk).first(), "certificate")
    said = {"wanted": {"certificate": str(check.pk)}, "formats": ["json", "pdf"]}
    with transaction.atomic():
        tell_tenant(actor, check.tenant_id, EventDraft(DOWNLOADED, TARGET_KIND, check.pk, after=said))
    certificate = certificate_of(check)
    lines = (json.dumps(certificate, indent=1, ensure_ascii=False) + "\n").encode()
    files = [
        ArchiveFile(CERTIFICATE_FILE, io.BytesIO(lines)),
        ArchiveFile(CHAINS_FILE, map(json_line, check.results)),
        ArchiveFile(PDF_FILE, io.BytesIO(render(certificate, certified))),
    ]
    claimed = {
        "what": "certificate",
        "whose": {"tenant_id": str(check.tenant_id), "owner_id": None},
        "range": {"check": str(check.pk), "started_at": _iso(check.started_at), "finished_at": _iso(check.finished_at)},
        "verdict": certificate["verdict"],
    }
    return stream_archive(
        files,
        lambda: {**claimed, **made_by(actor, certified)},
        may_go_on=lambda: require_auditor(still(staff), check.tenant_id),
    )


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def member_of_chain(tenant_id: UUID, chain: str) -> str:
    """The user id in the name of a member's chain; empty for the tenant's own."""
    prefix = owner_chain(tenant_id, tenant_id).rpartition(":")[0] + ":"
    return chain.removeprefix(prefix) if chain.startswith(prefix) else ""
