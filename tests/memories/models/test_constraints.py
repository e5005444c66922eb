"""The database itself refuses rows that no service would write."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memories.models import CatalogEntry, Episode, Fact, Session
from memories.types import Scope, Status
from tenants.models import Membership

pytestmark = pytest.mark.django_db


def refused(model: type[Any], **columns: object) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.create(text="x", **columns)


@pytest.fixture
def owner(membership: Membership) -> dict[str, object]:
    """The columns that name Ada."""
    return {"tenant_id": membership.tenant_id, "user_id": membership.user_id}


def test_scope_decides_who_owns(owner: dict[str, object]) -> None:
    refused(Fact, scope=Scope.USER, content_hash="1")
    refused(Fact, scope=Scope.GLOBAL, content_hash="2", **owner)
    refused(Fact, scope=Scope.TENANT, content_hash="3", **owner)
    refused(Fact, scope=Scope.TASK, content_hash="4", **owner)
    refused(Fact, scope=Scope.USER, task="kitchen", content_hash="5", **owner)
    refused(CatalogEntry, scope=Scope.USER, title="x", content_hash="6", **owner)


def test_one_current_fact_for_each_key_and_wording(owner: dict[str, object]) -> None:
    Fact.objects.create(text="x", content_hash="1", key="home_city", **owner)
    refused(Fact, content_hash="2", key="home_city", **owner)
    refused(Fact, content_hash="1", **owner)
    Fact.objects.create(
        text="x", content_hash="1", key="home_city", status=Status.SUPERSEDED, superseded_at=timezone.now(), **owner
    )


def test_a_link_and_a_time_mean_superseded(owner: dict[str, object]) -> None:
    successor = Fact.objects.create(text="new", content_hash="0", **owner)
    refused(Fact, content_hash="1", superseded_by=successor, **owner)
    refused(Fact, content_hash="2", superseded_at=timezone.now(), **owner)
    refused(Fact, content_hash="3", status=Status.SUPERSEDED, **owner)


def test_an_episode_has_one_place_and_one_owner(owner: dict[str, object]) -> None:
    session = Session.objects.create(**owner)
    place = {"session": session, "sequence": 1, "ordinal": 1, "happened_at": timezone.now(), "content_hash": "1"}
    Episode.objects.create(text="x", **place, **owner)
    refused(Episode, **place, **owner)
    refused(Episode, **place | {"sequence": 2}, **owner)
    refused(Episode, **place | {"sequence": 2, "ordinal": 2}, scope=Scope.GLOBAL)
