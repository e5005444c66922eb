"""A page that refreshes itself is one look for a while, in however many tabs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection

from memories.services import admin_requests
from memories.services.admin_requests import MEMORY_READ, note_refresh
from tenants.models import AuditEvent, Membership
from tenants.principals import reading_principal
from tests.factories import make_membership

TABS = 4


@pytest.mark.django_db(transaction=True)
def test_tabs_that_refresh_at_once_are_one_look(membership: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    staff = make_membership(membership.tenant, role="support", name="Sue").user
    principal = reading_principal(membership, staff=staff)
    looked, first = admin_requests._has_looked, Barrier(TABS, timeout=20)
    seen: list[bool] = []

    def together(*whose: object) -> bool:
        has = looked(*whose)  # type: ignore[arg-type]  # as they came
        if not connection.in_atomic_block:
            seen.append(has)
            first.wait()
        return has

    monkeypatch.setattr(admin_requests, "_has_looked", together)

    def refresh(_: int) -> None:
        try:
            note_refresh(principal, "inspector")
        finally:
            connection.close()

    with ThreadPoolExecutor(TABS) as pool:
        list(pool.map(refresh, range(TABS)))
    assert seen == [False] * TABS, "all found that nobody had looked"
    assert AuditEvent.objects.filter(action=MEMORY_READ).count() == 1


@pytest.mark.django_db
def test_it_is_told_again_of_another_page_another_person_and_after_a_while(
    membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    sue, tom = (
        reading_principal(membership, staff=make_membership(membership.tenant, role="support", name=name).user)
        for name in ("Sue", "Tom")
    )
    for principal, page in ((sue, "inspector"), (sue, "inspector"), (sue, "record"), (tom, "inspector")):
        note_refresh(principal, page)
    assert AuditEvent.objects.filter(action=MEMORY_READ).count() == 3
    monkeypatch.setattr(admin_requests, "_ONE_LOOK", timedelta(0))
    note_refresh(sue, "inspector")
    assert AuditEvent.objects.filter(action=MEMORY_READ).count() == 4
