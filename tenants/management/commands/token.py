"""`manage.py token`: backend keys of a tenant and tokens of its members: create, list, rotate, revoke."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tenants.errors import NoMembership, TenantsError
from tenants.models import ApiToken
from tenants.principal import AGENT_RIGHTS, KEY_RIGHTS, Right
from tenants.selectors import find_membership, find_tenant
from tenants.services import issue_key, issue_token, revoke_token, rotate_token
from tenants.tokens import KEY_MARK, MAX_ROTATION_GRACE, MAX_TOKEN_DAYS, ROTATION_GRACE, TOKEN_DAYS, new_plaintext

_HOUR = timedelta(hours=1)
_SCOPES = f"default: {' '.join(sorted(AGENT_RIGHTS))}, and for a backend key members"


class Command(BaseCommand):
    """Acts as the system; the audit events name no person. A secret is printed once and stored nowhere."""

    help = "Backend keys, and tokens of members: create, list, rotate, revoke, generate."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="print a new backend key or, with --user, a member's token")
        create.add_argument("--name", default="command line", help="what it is for")
        create.add_argument("--scopes", nargs="+", choices=Right.values, help=_SCOPES)
        create.add_argument(
            "--days",
            type=int,
            help=f"days until it expires (default: {TOKEN_DAYS}; of a key: the policy's, or none)",
        )
        create.add_argument("--networks", nargs="+", help="from where it may be used, such as 10.0.0.0/8")
        listing = actions.add_parser("list", help="list keys and tokens, without their secrets")
        for action in (create, listing):
            action.add_argument("--tenant", required=True, help="slug or id of the tenant")
            action.add_argument("--user", help="username, external id, e-mail address or id of a member")
        rotate = actions.add_parser("rotate", help="print a new secret; the old one works on for a while")
        rotate.add_argument(
            "--grace-hours",
            type=int,
            default=ROTATION_GRACE // _HOUR,
            help=f"for so long, at most {MAX_ROTATION_GRACE // _HOUR}",
        )
        revoke = actions.add_parser("revoke", help="refuse a token from now on, and all that were made with it")
        for action in (rotate, revoke):
            action.add_argument("token", help="its id or prefix, as `list` shows them")
        for action in (create, listing, rotate):
            action.add_argument("--json", action="store_true", help="print JSON")
        actions.add_parser("generate", help="print a key for MEMORYHUB_BOOTSTRAP_KEY; needs no database")

    def handle(self, **options: Any) -> None:
        if options["action"] != "generate":
            self.check_migrations()
        try:
            self.stdout.write(getattr(self, f"_{options['action']}")(options))
        except TenantsError as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> str:
        days = options["days"]
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise CommandError(f"--days takes a number from 1 to {MAX_TOKEN_DAYS:,}.")
        expires_at = timezone.now() + timedelta(days=days) if days else None
        given = {"name": options["name"], "expires_at": expires_at, "networks": options["networks"]}
        if options["user"]:
            member = find_membership(options["tenant"], options["user"])
            token, plaintext = issue_token(member, scopes=options["scopes"] or AGENT_RIGHTS, **given)
        else:
            tenant = find_tenant(options["tenant"])
            token, plaintext = issue_key(tenant, scopes=options["scopes"] or KEY_RIGHTS, **given)
        return _printed(token, plaintext, options)

    def _list(self, options: dict[str, Any]) -> str:
        rows = find_tenant(options["tenant"]).api_tokens.select_related("membership__user")
        if options["user"]:
            rows = rows.filter(membership=find_membership(options["tenant"], options["user"]))
        shown = [_shown(each) for each in rows]
        if options["json"]:
            return json.dumps(shown)
        return "\n".join("\t".join(map(str, row.values())) for row in shown)

    def _rotate(self, options: dict[str, Any]) -> str:
        token = _find(options["token"])
        return _printed(token, rotate_token(token, grace=options["grace_hours"] * _HOUR), options)

    def _revoke(self, options: dict[str, Any]) -> str:
        token = _find(options["token"])
        revoke_token(token)
        return f"{token.prefix}… is revoked."

    def _generate(self, _options: dict[str, Any]) -> str:
        return new_plaintext(KEY_MARK)


def _find(named: str) -> ApiToken:
    found = [each for each in ApiToken.objects.all() if named in (str(each.pk), each.prefix)]
    if len(found) != 1:
        raise NoMembership(f"There is no single token {named!r}.")
    return found[0]


def _printed(token: ApiToken, plaintext: str, options: dict[str, Any]) -> str:
    answer = {"id": str(token.id), "token": plaintext, "prefix": token.prefix, "scopes": token.scopes}
    return json.dumps(answer) if options["json"] else plaintext


def _shown(token: ApiToken) -> dict[str, Any]:
    return {
        "id": str(token.pk),
        "prefix": token.prefix,
        "name": token.name,
        "of": token.membership.user.speaker if token.membership else "backend key",
        "scopes": " ".join(token.scopes),
        "state": token.state_at(timezone.now()),
    }
