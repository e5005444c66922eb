"""The jobs of search keys, on a real cluster."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memoryhub.jobs import Unavailable
from tenants.apps import JOBS
from tenants.models import Membership, SearchCredential
from tests.cluster import Cluster
from tests.tenants.search_keys.probing import credential


def has_key(membership: Membership) -> bool:
    return SearchCredential.objects.filter(membership=membership, state="active").exists()


@pytest.fixture
def keyless(elasticsearch: Cluster, membership: Membership) -> Membership:
    """Ada, before anybody gave her a key."""
    SearchCredential.objects.filter(membership=membership).delete()
    return membership


def test_a_cluster_that_is_away_is_no_error(keyless: Membership, settings: Settings) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "ELASTICSEARCH_URLS", ("http://127.0.0.1:1",))
        for job in JOBS[:3]:
            job.run()
        with pytest.raises(Unavailable, match="Keys without a member could not be looked for"):
            JOBS[3].run()
    assert credential(keyless).trouble == "unreachable"
    assert not has_key(keyless)
