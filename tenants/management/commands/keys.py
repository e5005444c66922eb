"""`manage.py keys mint|rotate|revoke|list|verify|reencrypt`: manages members' search keys."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class KeysAnswer:
    """The answer of an action as JSON and as text; exit code 1 unless `ok`."""

    numbers: dict[str, Any]
    text: str
    ok: bool = True


class Command(BaseCommand):
    """Prints ids, states and findings, never a key."""

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
            answer: KeysAnswer = getattr(self, f"_{options['action']}")(options, tenant, members)
        except TenantsError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(answer.numbers, cls=DjangoJSONEncoder) if options["json"] else answer.text)
        if not answer.ok:
            sys.exit(1)

    def _mint(self, _options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        for membership in members.filter(search_credential__state="revoked"):
            allow(membership)
        while begin_missing(members):
            pass
        return _counted([provision(membership) for membership in _watched(members, "Minting")], members, "made")

    def _rotate(self, _options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        outcomes = [rotate(membership, grace=GRACE) for membership in _watched(members, "Rotating")]
        if KeyOutcome.MADE in outcomes:
            # Old keys end once no running search can use them; after a leak, too, rotation waits for that.
            time.sleep(GRACE.total_seconds())
            revoke_waiting()
        return _counted(outcomes, members, "replaced")

    def _revoke(self, _options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        revoked = sum([revoke(membership) for membership in _watched(members, "Revoking")])
        waiting = revoke_waiting().waiting
        if waiting:
            time.sleep(1.5)  # Elasticsearch does not see a key made a moment ago
            waiting = revoke_waiting().waiting
        more = f" {waiting:,} still have to end at the cluster; it is tried again." if waiting else ""
        return KeysAnswer({"revoked": revoked, "waiting": waiting}, f"Revoked {revoked:,} keys.{more}", not waiting)

    def _list(self, _options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        rows = [_described(membership) for membership in members.select_related("search_credential")]
        lines = [
            f"{row['tenant']} {row['user']}: {row['state']}"
            + (f", key {row['key']}, expires {row['expires_at']:%Y-%m-%d}" if row["key"] else "")
            + (f" ({row['trouble']})" if row["trouble"] else "")
            for row in rows
        ]
        return KeysAnswer({"keys": rows}, "\n".join([*lines, f"{len(rows):,} members."]))

    def _verify(self, options: dict[str, Any], tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        report = verify(members, tenant_id=tenant.id if tenant else None, with_orphans=not options["user"])
        repaired = repair(report.findings) if options["repair"] else 0
        findings = [
            {"membership": finding.membership_id, "key": finding.key_id, "drift": finding.drift}
            for finding in report.findings
        ]
        numbers = {"ok": not findings, "members": report.members, "repaired": repaired, "findings": findings}
        verdict = f"{len(findings):,} differ" if findings else "all as they should be"
        sentences = [*_sentences(report.findings), f"{report.members:,} members: {verdict}."]
        sentences += [f"Repaired {repaired:,}."] if repaired else []
        return KeysAnswer(numbers, "\n".join(sentences), len(findings) <= repaired)

    def _reencrypt(self, _options: dict[str, Any], _tenant: Tenant | None, members: QuerySet[Membership]) -> KeysAnswer:
        done, closed = reencrypt(SearchCredential.objects.filter(membership_id__in=members.values("id")))
        lines = [f"membership {pk}: no key of MEMORYHUB_CREDENTIAL_KEYS opens it." for pk in closed]
        lines.append(f"Encrypted {done:,} secrets anew.")
        return KeysAnswer({"reencrypted": done, "undecipherable": closed}, "\n".join(lines), not closed)


def _counted(outcomes: Sequence[KeyOutcome], members: QuerySet[Membership], verb: str) -> KeysAnswer:
    counts = Counter(outcomes)
    made, failed = counts[KeyOutcome.MADE], counts[KeyOutcome.FAILED] + counts[KeyOutcome.UNREACHABLE]
    troubles = SearchCredential.objects.filter(membership_id__in=members.values("id")).exclude(trouble="")
    why = sorted({KeyTrouble(code).sentence for code in troubles.values_list("trouble", flat=True)})
    numbers = {verb: made, "failed": failed, "why": why, "ending": RetiredKey.objects.count()}
    return KeysAnswer(
        numbers, f"{made:,} keys {verb}." + (f" {failed:,} failed: {' '.join(why)}" if failed else ""), not failed
    )


def _chosen(options: dict[str, Any]) -> tuple[Tenant | None, QuerySet[Membership]]:
    """The selected members: all for reading actions, active ones for the others. Raises NoMembership."""
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
