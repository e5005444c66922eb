"""`manage.py keys mint|rotate|revoke|list|verify|reencrypt`: the members' search keys, for operators."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from rich.console import Console
from rich.progress import track

from memoryhub.elasticsearch import in_use
from tenants.errors import TenantsError
from tenants.models import KeyTrouble, Membership, RetiredKey, SearchCredential, Tenant
from tenants.search_keys import provision, revoke, revoke_waiting, rotate
from tenants.search_keys.claims import GRACE, reencrypt
from tenants.search_keys.lifecycle import KeyOutcome, allow, begin_missing
from tenants.search_keys.verification import KeyFinding, repair, verify
from tenants.selectors import active_memberships, find_membership, find_tenant

_ACTIONS = (
    ("mint", "make the keys of members who have none; allows those again whose key was revoked by hand"),
    ("rotate", "replace keys by new ones, and end the old ones"),
    ("revoke", "take keys away until `mint`"),
    ("list", "what key each member has"),
    ("verify", "compare every key with what this version would make; exit code 1 if one differs"),
    ("reencrypt", "encrypt the stored secrets with the first of MEMORYHUB_CREDENTIAL_KEYS"),
)


class Command(BaseCommand):
    """Prints ids, states and verdicts, never a key."""

    help = "The search keys of members: make, replace, take away, list, verify, encrypt anew."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, text in _ACTIONS:
            action = actions.add_parser(name, help=text)
            whose = action.add_mutually_exclusive_group(required=True)
            whose.add_argument("--tenant", help="slug or id of a tenant")
            whose.add_argument("--all", action="store_true", help="every tenant")
            action.add_argument("--user", help="only this member: username, external id, e-mail address or id")
            action.add_argument("--json", action="store_true", help="print one JSON object")
            if name == "verify":
                action.add_argument("--repair", action="store_true", help="replace what differs")

    def handle(self, **options: Any) -> None:
        if not in_use():
            raise CommandError("There are no search keys: MEMORYHUB_SEARCH is not elasticsearch.")
        try:
            tenant, members = _chosen(options)
            getattr(self, f"_{options['action']}")(options, tenant, members)
        except TenantsError as error:
            raise CommandError(str(error)) from error

    def _mint(self, options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        for membership in members.filter(search_credential__state="revoked"):
            allow(membership)
        while begin_missing(members):
            pass
        outcomes = [provision(membership) for membership in _watched(members, "Minting")]
        self._answer_outcomes(options, outcomes, members, "made")

    def _rotate(self, options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        outcomes = [rotate(membership, grace=GRACE) for membership in _watched(members, "Rotating")]
        if KeyOutcome.MADE in outcomes:
            self._await_the_end()
        self._answer_outcomes(options, outcomes, members, "replaced")

    def _revoke(self, options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        revoked = sum([revoke(membership) for membership in _watched(members, "Revoking")])
        waiting = revoke_waiting().waiting
        if waiting:
            time.sleep(1.5)  # a key made a moment ago is not seen by the cluster yet
            waiting = revoke_waiting().waiting
        sentence = f"Revoked {revoked:,} keys."
        if waiting:
            sentence += f" {waiting:,} still have to end at the cluster; it is tried again."
        self._answer(options, {"revoked": revoked, "waiting": waiting}, sentence)
        if waiting:
            sys.exit(1)

    def _list(self, options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        rows = [_described(membership) for membership in members.select_related("search_credential")]
        lines = [
            f"{row['tenant']} {row['user']}: {row['state']}"
            + (f", key {row['key']}, expires {row['expires_at']:%Y-%m-%d}" if row["key"] else "")
            + (f" ({row['trouble']})" if row["trouble"] else "")
            for row in rows
        ]
        self._answer(options, {"keys": rows}, "\n".join([*lines, f"{len(rows):,} members."]))

    def _verify(self, options: dict[str, Any], tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        report = verify(members, tenant_id=tenant.id if tenant else None, with_orphans=not options["user"])
        repaired = repair(report.findings) if options["repair"] else 0
        findings = [
            {
                "membership": str(finding.membership_id) if finding.membership_id else None,
                "key": finding.key_id,
                "drift": [drift.value for drift in finding.drift],
            }
            for finding in report.findings
        ]
        numbers = {"ok": not findings, "members": report.members, "repaired": repaired, "findings": findings}
        verdict = f"{len(findings):,} differ" if findings else "all as they should be"
        sentences = [*_sentences(report.findings), f"{report.members:,} members: {verdict}."]
        self._answer(options, numbers, "\n".join(sentences + ([f"Repaired {repaired:,}."] if repaired else [])))
        if len(findings) > repaired:
            sys.exit(1)

    def _reencrypt(self, options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> None:
        done, closed = reencrypt(SearchCredential.objects.filter(membership_id__in=members.values("id")))
        numbers = {"reencrypted": done, "undecipherable": [str(membership_id) for membership_id in closed]}
        lines = [
            f"membership {membership_id}: no key of MEMORYHUB_CREDENTIAL_KEYS opens it." for membership_id in closed
        ]
        self._answer(options, numbers, "\n".join([*lines, f"Encrypted {done:,} secrets anew."]))
        if closed:
            sys.exit(1)

    def _await_the_end(self) -> None:
        """Old keys end once no search can still hold them; who rotates because a key leaked waits for that."""
        time.sleep(GRACE.total_seconds())
        revoke_waiting()

    def _answer_outcomes(
        self, options: dict[str, Any], outcomes: Sequence[KeyOutcome], members: QuerySet[Membership], verb: str
    ) -> None:
        counts = Counter(outcomes)
        made, failed = counts[KeyOutcome.MADE], counts[KeyOutcome.FAILED] + counts[KeyOutcome.UNREACHABLE]
        why = sorted(
            {
                KeyTrouble(code).sentence
                for code in SearchCredential.objects.filter(membership_id__in=members.values("id"))
                .exclude(trouble="")
                .values_list("trouble", flat=True)
            }
        )
        ending = RetiredKey.objects.count()
        numbers = {verb: made, "failed": failed, "why": why, "ending": ending}
        sentence = f"{made:,} keys {verb}." + (f" {failed:,} failed: {' '.join(why)}" if failed else "")
        self._answer(options, numbers, sentence)
        if failed:
            sys.exit(1)

    def _answer(self, options: dict[str, Any], numbers: dict[str, Any], sentences: str) -> None:
        self.stdout.write(json.dumps(numbers, cls=DjangoJSONEncoder) if options["json"] else sentences)


def _chosen(options: dict[str, Any]) -> tuple[Tenant | None, QuerySet[Membership]]:
    """The members that the command is about: all to look at, active ones to do something to. Raises NoMembership."""
    looking = options["action"] in {"list", "verify", "reencrypt"}
    members = Membership.objects.select_related("tenant", "user") if looking else active_memberships()
    if options["all"]:
        if options["user"]:
            raise CommandError("Give --tenant with --user.")
        return None, members
    tenant = find_tenant(options["tenant"])
    if options["user"]:
        members = members.filter(id=find_membership(options["tenant"], options["user"]).id)
    return tenant, members.filter(tenant=tenant)


def _described(membership: Membership) -> dict[str, Any]:
    credential: SearchCredential | None = getattr(membership, "search_credential", None)
    return {
        "tenant": membership.tenant.slug,
        "user": membership.user.get_username(),
        "membership": membership.id,
        "state": credential.state if credential else "missing",
        "key": credential.key_id if credential else "",
        "minted_at": credential.minted_at if credential else None,
        "expires_at": credential.expires_at if credential else None,
        "trouble": KeyTrouble(credential.trouble).sentence if credential else "",
    }


def _watched(members: Iterable[Membership], what: str) -> Iterable[Membership]:
    console = Console(stderr=True)
    return track(list(members), what, console=console, transient=True, disable=not console.is_terminal)


def _sentences(findings: Sequence[KeyFinding]) -> list[str]:
    ids = [finding.membership_id for finding in findings if finding.membership_id]
    members = Membership.objects.select_related("tenant", "user").in_bulk(ids)
    who: dict[UUID | None, str] = {
        id_: f"{member.tenant.slug} {member.user.get_username()}" for id_, member in members.items()
    }
    return [
        f"{who.get(finding.membership_id, 'no member')}, key {finding.key_id or 'none'}: {', '.join(finding.drift)}."
        for finding in findings
    ]
