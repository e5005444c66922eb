"""The command that issues tokens."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tenants.models import AuditEvent, Membership
from tenants.principal import AGENT_RIGHTS
from tenants.services import authenticate_token
from tests.factories import make_tenant


def test_the_command_prints_a_token_that_works(membership: Membership) -> None:
    out = StringIO()
    call_command("issue_token", "--tenant", membership.tenant.slug, "--user", membership.user.username, stdout=out)
    principal = authenticate_token(out.getvalue().strip())
    assert principal is not None and principal.rights == AGENT_RIGHTS
    assert AuditEvent.objects.get().actor_kind == "system"


def test_the_command_answers_in_json_with_the_scopes_asked(membership: Membership) -> None:
    out = StringIO()
    where = ["--tenant", membership.tenant.slug, "--user", membership.user.username]
    call_command("issue_token", *where, "--scopes", "memory:read", "--days", "1", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["scopes"] == ["memory:read"] and answer["token"].startswith(answer["prefix"])


@pytest.mark.parametrize("days", ["0", "-1", "3651"])
def test_the_command_issues_no_token_for_ever(membership: Membership, days: str) -> None:
    where = ["--tenant", membership.tenant.slug, "--user", membership.user.username]
    with pytest.raises(CommandError, match="--days takes a number from 1 to 3,650"):
        call_command("issue_token", *where, "--days", days)


def test_the_command_isolates_other_tenants(membership: Membership) -> None:
    elsewhere = make_tenant()
    with pytest.raises(CommandError, match="No single active member"):
        call_command("issue_token", "--tenant", elsewhere.slug, "--user", membership.user.username)
