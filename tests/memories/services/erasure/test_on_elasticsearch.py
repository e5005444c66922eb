"""On the cluster: nothing of an erased member is left in any index, and no key of theirs opens anything."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.search import search_plane
from memories.search.outbox import drain, enqueue
from memories.selectors.erasure import owner_of
from memories.services.erasure.receipt import stored_receipt, verify_receipt
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.types import Owner, Status
from tenants.models import SearchCredential
from tenants.principal import SYSTEM, Principal
from tests.factories import MakeMember, own_principal
from tests.memories.services.erasure.life import live, share

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("elasticsearch")]


def archive(principal: Principal) -> None:
    """Put what was superseded into the archive."""
    rows = Fact.objects.of(principal).filter(status=Status.SUPERSEDED)
    rows.update(archived_at=timezone.now(), version=7)
    enqueue(list(rows))


def test_no_document_of_theirs_is_left_and_others_keep_theirs(make_member: MakeMember) -> None:
    ada, bob = make_member(role="admin"), make_member()
    principal = own_principal(ada)
    copy = share(principal, live(principal, "qumranshelf"))
    live(own_principal(bob), "lisbonshelf")
    archive(principal)
    drain()
    plane = search_plane()
    plane.settle()
    assert any(state.archived for state in plane.stored(owner_of(ada)))
    theirs = {state.id for state in plane.stored(owner_of(bob))}
    request = ask_erasure(SYSTEM, membership_id=ada.pk, reason="asked by letter")
    assert carry_out(request.pk)
    assert list(plane.stored(owner_of(ada))) == []
    assert copy not in {state.id for state in plane.stored(Owner(ada.tenant_id, None))}
    assert {state.id for state in plane.stored(owner_of(bob))} == theirs
    assert SearchCredential.objects.get(membership=ada).state == "revoked"
    assert verify_receipt(stored_receipt(request.pk)).ok
