"""`manage.py tune_recall`: propose a recall threshold for a tenant from recorded use; --apply adopts it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from memories.management.member_command import ReportCommand
from memories.models import ThresholdProposal
from memories.services.policies import apply_proposal, propose_threshold
from tenants.principal import SYSTEM
from tenants.selectors import find_tenant


class Command(ReportCommand):
    """Prints numbers only: no memory, no query, no member."""

    help = "Propose a recall threshold from what was recalled and used in a tenant; nothing changes without --apply."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug or id of the tenant")
        parser.add_argument("--apply", action="store_true", help="make what is proposed the tenant's threshold")
        super().add_arguments(parser)

    def report(self, options: dict[str, Any]) -> None:
        tenant_id = find_tenant(options["tenant"]).id
        proposal = propose_threshold(SYSTEM, tenant_id=tenant_id)
        if options["apply"] and proposal.value is not None:
            proposal = apply_proposal(SYSTEM, tenant_id=tenant_id, proposal_id=proposal.pk)
        numbers = {name: getattr(proposal, name) for name in ("value", "previous", "reason", "evidence")}
        numbers |= {"proposal": proposal.pk, "applied": proposal.applied_at is not None}
        self.answer(options, numbers, *_explained(proposal))


def _explained(proposal: ThresholdProposal) -> Iterator[str | Table]:
    evidence: dict[str, Any] = proposal.evidence
    if evidence["values"]:
        table = Table("threshold", "used kept", "", "ignored left out", "", title="What each value had done")
        for each in evidence["values"]:
            kept, cut = _share(each["kept"], evidence["used"]), _share(each["cut"], evidence["ignored"])
            table.add_row(f"{each['value']:g}", f"{each['kept']:,}", kept, f"{each['cut']:,}", cut)
        yield table
    rates = f"hit rate {evidence['hit_rate']:.1%}, ignored rate {evidence['ignored_rate']:.1%}"
    yield f"{evidence['items']:,} memories of {evidence['recalls']:,} recalls: {rates}."
    yield proposal.reason
    previous = "none" if proposal.previous is None else f"{proposal.previous:g}"
    if proposal.value is None:
        yield f"The threshold stays as it is ({previous})."
    elif proposal.applied_at:
        yield f"The threshold is {proposal.value:g} now; it was {previous}."
    else:
        yield f"Proposed: {proposal.value:g}, instead of {previous}. Apply it in the admin, or with --apply."


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "-"
