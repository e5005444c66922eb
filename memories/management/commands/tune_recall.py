"""`manage.py tune_recall`: what recorded use says of a recall threshold for a tenant, why, and with --apply, use it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

from memories.management.member_command import sentences
from memories.models import ThresholdProposal
from memories.services.policies import apply_proposal, propose_threshold
from tenants.principal import SYSTEM
from tenants.selectors import find_tenant


class Command(BaseCommand):
    """Prints numbers only: no memory, no question, no member."""

    help = "Propose a recall threshold from what was recalled and used in a tenant; nothing changes without --apply."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug or id of the tenant")
        parser.add_argument("--apply", action="store_true", help="make what is proposed the tenant's threshold")
        parser.add_argument("--json", action="store_true", help="print the proposal as JSON")

    def handle(self, **options: Any) -> None:
        with sentences():
            tenant_id = find_tenant(options["tenant"]).id
            proposal = propose_threshold(SYSTEM, tenant_id=tenant_id)
            if options["apply"] and proposal.value is not None:
                proposal = apply_proposal(SYSTEM, tenant_id=tenant_id, proposal_id=proposal.pk)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(proposal)))
            return
        self._explain(proposal)

    def _explain(self, proposal: ThresholdProposal) -> None:
        evidence: dict[str, Any] = proposal.evidence
        if evidence["values"]:
            table = Table("threshold", "used kept", "", "ignored left out", "", title="What each value had done")
            for each in evidence["values"]:
                kept, cut = _share(each["kept"], evidence["used"]), _share(each["cut"], evidence["ignored"])
                table.add_row(f"{each['value']:g}", f"{each['kept']:,}", kept, f"{each['cut']:,}", cut)
            console = Console(width=100)
            with console.capture() as printed:
                console.print(table)
            self.stdout.write(printed.get())
        rates = f"hit rate {evidence['hit_rate']:.1%}, ignored rate {evidence['ignored_rate']:.1%}"
        self.stdout.write(f"{evidence['items']:,} memories of {evidence['recalls']:,} recalls: {rates}.")
        self.stdout.write(proposal.reason)
        previous = "none" if proposal.previous is None else f"{proposal.previous:g}"
        if proposal.value is None:
            self.stdout.write(f"The threshold stays as it is ({previous}).")
        elif proposal.applied_at:
            self.stdout.write(f"The threshold is {proposal.value:g} now; it was {previous}.")
        else:
            proposed = f"Proposed: {proposal.value:g}, instead of {previous}."
            self.stdout.write(f"{proposed} Apply it in the admin, or with --apply.")


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "-"


def _as_json(proposal: ThresholdProposal) -> dict[str, object]:
    return {
        "proposal": proposal.pk,
        "value": proposal.value,
        "previous": proposal.previous,
        "applied": proposal.applied_at is not None,
        "reason": proposal.reason,
        "evidence": proposal.evidence,
    }
