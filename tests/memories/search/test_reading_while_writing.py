"""Rows are read in batches that let others write in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memories.models import Episode
from memories.search import documents
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Owner
from tenants.models import Tenant
from tests.factories import make_membership, own_principal

pytestmark = pytest.mark.django_db(transaction=True)


def _rename_tenants() -> None:
    """Another connection commits something."""
    Tenant.objects.update(name="Renamed meanwhile")
    connection.close()


def test_encoding_goes_on_while_others_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "BATCH", 2)
    principal = own_principal(make_membership())
    drafts = [EpisodeDraft(f"Said {number}.") for number in range(5)]
    remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)
    owner = Owner(principal.tenant_id, principal.user_id)
    encoded = 0
    with ThreadPoolExecutor(1) as elsewhere:
        for batch in documents.batches(documents.rows_of(owner, without_vector=True)):
            elsewhere.submit(_rename_tenants).result()
            encoded += documents.encode_missing(batch)
    assert encoded == 5
    assert not Episode.objects.filter(embedding__isnull=True).exists()
