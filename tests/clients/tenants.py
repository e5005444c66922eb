"""Tenants of a throwaway site with their secrets, printed as JSON: a program for the site's environment."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memories.services.policies import set_policy  # noqa: E402 - after the set-up
from memoryhub.db.scope import WideRole, acting_as  # noqa: E402
from tenants.principal import ALL_RIGHTS, SYSTEM, Right, Role  # noqa: E402
from tenants.services import add_member, create_tenant, create_user, issue_key  # noqa: E402
from tenants.tokens import issue_token  # noqa: E402


def tenant(slug: str, administrators: int) -> dict[str, Any]:
    """A tenant whose erasures begin at once: a backend key with all rights, and a token of each administrator."""
    made = create_tenant(name=slug, slug=slug)
    set_policy(SYSTEM, tenant_id=made.id, erasure_delay_hours=0, provision_members=True)
    tokens = []
    for number in range(administrators):
        user = create_user(username=f"{slug}-{number}", password=f"correct horse {number} battery")
        member = add_member(tenant=made, user=user, role=Role.ADMIN)
        tokens.append(issue_token(member, name="proof", scopes=ALL_RIGHTS)[1])
    return {"key": issue_key(made, name="proof", scopes=frozenset(Right))[1], "administrators": tokens}


def main(alone: int, administered: int) -> None:
    """Print tenants without administrators, and some with two."""
    found = {
        "alone": [tenant(f"alone-{number}", 0) for number in range(alone)],
        "administered": [tenant(f"administered-{number}", 2) for number in range(administered)],
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    with acting_as(WideRole.JOBS):
        main(*map(int, sys.argv[1:]))
