"""The benchmark of the hygiene scan measures what it says: all memories, few statements, nothing the second time."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from rich.progress import Progress

from benchmarks.hygiene import EACH, fill, floor, scanned
from benchmarks.texts import Writer
from memories.models import Fact
from memories.services.retention.hygiene_run import hygiene_scan

pytestmark = pytest.mark.django_db

COUNT = 300


def test_a_second_scan_of_all_memories_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.hygiene.LARGE_OWNER", COUNT - 2 * EACH)
    now = timezone.now()
    fill(COUNT, Writer(1), Progress(disable=True), now=now)
    first, second = (scanned(name, lambda: hygiene_scan(apply=True, now=now).counts) for name in ("first", "second"))
    assert (first.memories, second.memories) == (COUNT, COUNT)
    assert not Fact.objects.filter(staleness=None).exists()
    # Some thirty for each of three owners, and ten for each proposal; none for each memory.
    assert first.statements <= 200 and second.statements <= 150
    assert floor(tmp_path, 10) > 0
