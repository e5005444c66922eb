"""docs/deploy.md: what it tells people to run and to set is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "deploy.md").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()


def test_every_script_that_the_guide_runs_is_mounted_where_it_says() -> None:
    scripts = set(re.findall(r"/deploy/([\w-]+\.sh)", GUIDE + COMPOSE))
    assert scripts
    assert all((ROOT / "deploy" / "postgres" / name).stat().st_mode & 0o100 for name in scripts)


def test_the_guide_names_every_variable_with_a_default_that_sets_a_limit() -> None:
    limits = set(re.findall(r"\$\{(\w*(?:MEMORY|HEAP|BUFFERS|WORKERS))\b", COMPOSE))
    assert limits
    assert all(f"`{name}`" in GUIDE for name in limits)
