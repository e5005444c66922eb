"""`manage.py issue_token`: issues an API token for a member and prints it once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from tenants.errors import TenantsError
from tenants.principal import AGENT_RIGHTS, Right
from tenants.selectors import find_membership
from tenants.services import issue_token
from tenants.tokens import MAX_TOKEN_DAYS, TOKEN_DAYS

SCOPES = "default: all but memory:decide, which confirms for the member what an agent proposes"


class Command(BaseCommand):
    """Issues a token as the system; the audit event names no person."""

    help = "Issue an API token for a member; the token is printed once and kept nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug or id of the tenant")
        parser.add_argument("--user", required=True, help="username, external id, e-mail address or id of the member")
        parser.add_argument("--name", default="command line", help="what the token is for")
        parser.add_argument("--scopes", nargs="+", choices=list(Right), default=sorted(AGENT_RIGHTS), help=SCOPES)
        parser.add_argument("--days", type=int, default=TOKEN_DAYS, help="days until it expires")
        parser.add_argument("--json", action="store_true", help="print one JSON object: id, token, prefix, scopes")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        if not 1 <= options["days"] <= MAX_TOKEN_DAYS:
            raise CommandError(f"--days takes a number from 1 to {MAX_TOKEN_DAYS:,}.")
        expires_at = timezone.now() + timedelta(days=options["days"])
        try:
            membership = find_membership(options["tenant"], options["user"])
            token, plaintext = issue_token(
                membership, name=options["name"], scopes=options["scopes"], expires_at=expires_at
            )
        except TenantsError as error:
            raise CommandError(str(error)) from error
        answer = {"id": str(token.id), "token": plaintext, "prefix": token.prefix, "scopes": token.scopes}
        self.stdout.write(json.dumps(answer) if options["json"] else plaintext)
