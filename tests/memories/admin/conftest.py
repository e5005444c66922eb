"""Somebody who supports Ada's tenant, in a browser."""

from __future__ import annotations

import pytest
from django.test import Client

from tenants.models import Tenant
from tests.memories.staff.conftest import browser_of


@pytest.fixture
def support(tenant: Tenant) -> Client:
    """Somebody who supports Ada's tenant."""
    return browser_of(tenant, "support")
