"""Times are shown in the zone that the reader's browser names."""

from __future__ import annotations

import pytest

from memories.chat.presenting import zone_named


def test_a_known_zone_is_taken() -> None:
    assert str(zone_named("Europe/Paris")) == "Europe/Paris"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="none"),
        pytest.param("Mars/Olympus", id="unknown"),
        pytest.param("../../etc/passwd", id="a path"),
        pytest.param("/etc/localtime", id="an absolute path"),
        pytest.param("Europe", id="a folder of zones"),
        pytest.param("x" * 5_000, id="long"),
        pytest.param("Europe/\x00Paris", id="a NUL"),
    ],
)
def test_anything_else_means_the_zone_of_the_site(name: str) -> None:
    assert zone_named(name) is None
