"""Members of a throwaway site, each with a login and a token, printed as JSON: a program for the site's environment."""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memoryhub.db.scope import WideRole, acting_as  # noqa: E402 - after the set-up
from tenants.principal import ALL_RIGHTS  # noqa: E402 - after the set-up
from tenants.services import add_member, create_tenant, create_user  # noqa: E402 - after the set-up
from tenants.tokens import issue_token  # noqa: E402


def populate(count: int) -> list[dict[str, str]]:
    """`count` members, two to a tenant."""
    members = []
    tenant = None
    for number in range(count):
        if number % 2 == 0 or tenant is None:
            tenant = create_tenant(name=f"Proof {number}", slug=f"proof-{number}")
        username, password = f"member{number}", f"correct horse {number} battery"
        user = create_user(username=username, display_name=f"Member {number}", password=password)
        membership = add_member(tenant=tenant, user=user)
        _, token = issue_token(membership, name="proof", scopes=ALL_RIGHTS)
        members.append({"username": username, "password": password, "token": token, "tenant": tenant.slug})
    return members


if __name__ == "__main__":
    with acting_as(WideRole.JOBS):
        sys.stdout.write(json.dumps(populate(int(sys.argv[1]))))
