"""Migrations that change rows."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tenants.models import ApiToken, Membership
from tenants.services import authenticate_token, issue_token

KEYS = ("tenants", "0006_keys")


def migrate(*targets: tuple[str, str]) -> MigrationExecutor:
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return executor


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor == 'postgresql'", reason="going back drops a policy, which later tests need")
def test_tokens_from_before_backend_keys_keep_working(membership: Membership) -> None:
    _, plaintext = issue_token(membership, name="old")
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    try:
        before = import_module(".".join(("tenants", "migrations", KEYS[1]))).Migration.dependencies
        then = migrate(*before).loader.project_state(before).apps.get_model("tenants", "ApiToken")
        assert not hasattr(then, "tenant") and then.objects.count() == 1
    finally:
        migrate(*latest)
    token = ApiToken.objects.get()
    assert (token.tenant_id, token.membership_id, token.networks) == (membership.tenant_id, membership.pk, [])
    assert authenticate_token(plaintext) is not None
