"""Keys near their end are told while there is time: those that should have been replaced, and no others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.health import PartState
from tenants.apps import credentials_last
from tenants.models import SearchCredential, Tenant
from tests.tenants.search_keys.conftest import Joins

pytestmark = pytest.mark.django_db


def test_a_key_that_nobody_replaced_is_told_before_it_ends(tenant: Tenant, joins: Joins) -> None:
    credential = SearchCredential.objects.filter(membership=joins(tenant))
    assert credentials_last() is PartState.OK
    now = timezone.now()
    credential.update(rotate_at=now - timedelta(days=20), expires_at=now + timedelta(days=6))
    assert credentials_last() is PartState.EXPIRING
    credential.update(rotate_at=now - timedelta(days=1), expires_at=now + timedelta(days=29))
    assert credentials_last() is PartState.OK
    credential.update(rotate_at=now + timedelta(hours=8), expires_at=now + timedelta(days=1))  # a key of three days
    assert credentials_last() is PartState.OK
    credential.update(rotate_at=now - timedelta(days=40), expires_at=now - timedelta(days=10))
    assert credentials_last() is PartState.EXPIRING
    tenant.is_active = False
    tenant.save()
    assert credentials_last() is PartState.OK
