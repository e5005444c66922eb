"""Prometheus' own judgement of the rules file: `promtool test rules` over series in its own text format."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memories.metrics.alerts import AlertState, description
from memories.metrics.exposition import SHARED
from memories.metrics.measuring import Measured
from tests.parts import missing_part

_LINE = re.compile(r"^(?P<series>memoryhub_\S*\{.*\}) (?P<value>\S+)$")


def promtool() -> str:
    """Where it is; without it the test is skipped, or fails where all parts must be there."""
    found = shutil.which("promtool")
    if found is None:
        missing_part("promtool is not installed: apt-get install --no-install-recommends prometheus")
    return found


def judged(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What promtool says; its exit code is its verdict."""
    command = [promtool(), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own


def series(looks: Iterable[bytes]) -> list[dict[str, str]]:
    """The expositions of one look after the other, as input series; what is missing in one was gone in that one."""
    seen = [dict(map(_split, filter(_LINE.match, look.decode().splitlines()))) for look in looks]
    names = sorted({name for look in seen for name in look})
    return [{"series": name, "values": " ".join(look.get(name, "stale") for look in seen)} for name in names]


def expected(standings: Iterable[AlertState], measured: Measured, alert: str) -> list[dict[str, Any]]:
    """The firing ones of an alert, as promtool is told to expect them."""
    return [
        {
            "exp_labels": {"severity": each.alert.severity.value, "tenant": (tenant := _slug(each, measured))},
            "exp_annotations": {
                "summary": f"{each.alert.title} ({tenant}): {each.value:.4g}",
                "description": description(each.alert),
            },
        }
        for each in standings
        if each.fires and each.alert.name == alert
    ]


def write_test(path: Path, rules: Path, looks: Sequence[bytes], expectations: Sequence[Mapping[str, Any]]) -> None:
    """A test file: five minutes from look to look. JSON is YAML."""
    content = {
        "rule_files": [str(rules)],
        "evaluation_interval": "5m",
        "tests": [{"interval": "5m", "input_series": series(looks), "alert_rule_test": list(expectations)}],
    }
    path.write_text(json.dumps(content))


def _split(line: str) -> tuple[str, str]:
    found = _LINE.match(line)
    assert found is not None
    return found["series"], found["value"]


def _slug(standing: AlertState, measured: Measured) -> str:
    return SHARED if standing.tenant_id is None else measured.slugs[standing.tenant_id]
