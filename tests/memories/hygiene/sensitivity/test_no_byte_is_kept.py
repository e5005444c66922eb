"""Whatever must not be stored: wherever it is pushed in, no byte of it is in database, index, log, trace or prompt."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, given, settings
from pytest_django import Settings

from tenants.models import Membership, User
from tests.memories.hygiene.sensitivity import pushing
from tests.memories.hygiene.sensitivity.values import Value
from tests.parts import about_the_embedded_plane

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="the files of a server are its own affair"),
    about_the_embedded_plane,
]


@pytest.mark.long
@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(value=pushing.secrets(), around=pushing.wrapped())
def test_no_byte_of_it_is_kept(
    index_dir: Path, caplog: pytest.LogCaptureFixture, settings: Settings, value: Value, around: tuple[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    pushing.push_and_look(value, around, index_dir, caplog, settings)


def test_the_search_would_find_it(index_dir: Path, membership: Membership) -> None:
    index_dir.mkdir(parents=True, exist_ok=True)
    (index_dir / "leak").write_text("… wRoTe4111ToDisk …")
    assert [found[:5] for found in pushing.kept("wrote4111todisk", index_dir)] == ["leak:"]
    User.objects.filter(pk=membership.user_id).update(display_name="told9876543210abc")
    assert len(pushing.kept("Told9876543210abc", index_dir, "some told9876543210ABC here")) >= 2
