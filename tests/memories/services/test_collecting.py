"""The daily collection: a thread where no Celery does it, and never two at once."""

from __future__ import annotations

from datetime import timedelta
from typing import NoReturn

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.services.retention import collection
from memories.types import Status
from memoryhub.db.advisory_lock import LockTaken
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def over(principal: Principal) -> None:
    """A fact whose time is over."""
    remember_fact(principal, text="Parks on level 3")
    Fact.objects.update(expires_at=timezone.now() - timedelta(days=1))


def test_the_task_collects(over: None) -> None:
    collection.collect_daily()
    assert Fact.objects.get().status == Status.EVICTED


def at_work(work: str) -> NoReturn:
    """Another process holds the lock."""
    raise LockTaken(work)


def test_it_waits_for_nobody_who_is_at_it(over: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.services.retention.collection.advisory_lock", at_work)
    collection.collect_daily()
    assert Fact.objects.get().status == Status.ACTIVE
