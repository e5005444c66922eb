"""What all pages of rows in the admin share: a scope, and no field that rows could be found by but their key."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tenants.admin.scoping import TenantScopedAdmin
from tenants.models import ApiToken, Membership, Tenant, User
from tenants.services import issue_token


def token_of(member: Membership) -> ApiToken:
    return issue_token(member, name="foreign token")[0]


@pytest.mark.parametrize("model", [User, Tenant, Membership, ApiToken])
@pytest.mark.parametrize("what", ["change", "delete"])
@pytest.mark.parametrize("name", ["", "x"])
def test_a_field_that_rows_are_not_referenced_by_reads_none(
    platform_browser: Client, foreign: Membership, model: type[Any], what: str, name: str
) -> None:
    row = {User: foreign.user, Tenant: foreign.tenant, Membership: foreign, ApiToken: token_of(foreign)}[model]
    address = reverse(f"admin:tenants_{model._meta.model_name}_{what}", args=[row.pk])
    for method, query, body in (("GET", {"_to_field": name}, None), ("POST", {"_to_field": name}, None),
                                ("POST", {}, {"_to_field": name})):  # fmt: skip
        with CaptureQueriesContext(connection) as asked:
            ask = platform_browser.get if method == "GET" else platform_browser.post
            assert ask(address, body, query_params=query).status_code == 400
        assert not any(str(row.pk) in query["sql"] or row.pk.hex in query["sql"] for query in asked)


def test_every_page_of_rows_is_within_a_scope() -> None:
    assert {type(each) for each in admin.site._registry.values() if not isinstance(each, TenantScopedAdmin)} == set()
