"""Times are shown in the zone that the reader's browser names."""

from __future__ import annotations

import pytest

from memories.chat.presenting import zone_named


def test_a_known_zone_is_taken() -> None:
    assert str(zone_named("Europe/Paris")) == "Europe/Paris"


@pytest.mark.parametrize(
    "name",
    ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "x" * 5_000, "Europe/\x00Paris"],
    ids=["none", "unknown", "a path", "an absolute path", "a folder of zones", "long", "a NUL"],
)
def test_anything_else_means_the_zone_of_the_site(name: str) -> None:
    assert zone_named(name) is None
