"""A model that fails by chance, in every way: each episode is consolidated once, or in a failed run to be run again."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from rich.progress import track

from memories.selectors.history.chains import verify_chains
from tenants.audit.verification import verify_all
from tests.factories import MakeMember, own_principal
from tests.faulty_model import FAULTS, go_through

SEED = 5_000_000
MEMBERS_OF_A_TENANT = 50

pytestmark = pytest.mark.django_db


def test_no_sequence_of_faults_skips_or_doubles_an_episode(
    make_member: MakeMember, faults: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "memories")  # each fault is worth a line, and there are thousands
    met: Counter[str] = Counter()
    tenant = make_member().tenant
    for number in track(range(faults), description="sequences of faults"):
        if number % MEMBERS_OF_A_TENANT == 0:
            tenant = make_member().tenant
        met += go_through(own_principal(make_member(tenant)), SEED + number)
    print(f"  {met.total()} faults: {dict(met.most_common())}")  # noqa: T201 - the finding
    assert faults < 100 or set(met) == set(FAULTS)
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())
