"""The clients of OpenAI, Anthropic and Vercel get the same with memoryhub between, changed in base URL and key alone.

Each runs twice as a program of its own: against a model's API, and against a server that passes on to it. So do two
suites that score such an API, of which the model's has the full score.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.conftest import Product
from tests.model_api import KEY, ModelApi
from tests.npm import installed, node
from tests.proofs.site import ROOT, Site

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).parent / "provider_clients"
PACKAGES = {
    "openai": "7.57.0",
    "@anthropic-ai/sdk": "1.12.0",
    "ai": "7.0.173",
    "@ai-sdk/openai": "4.0.118",
    "@ai-sdk/anthropic": "4.0.105",
}
CANARY = {"compatcanary": "0.2.2"}
# How many tests of a format llm-comply runs; it skips one more for each, which wants the name of a reasoning model.
COMPLY = {"openai-chat": 8, "open-responses": 12, "anthropic": 8}
PROFILES = {"chat": 5, "modern": 7}
OPENAI = ("1.109.1", "2.54.0", "3.54.0")
UV = ROOT / ".venv" / "bin" / "uv"
_LIMITS = "token_turns=1000,member_turns=1000,token_writes=1000,member_writes=1000"


@pytest.fixture(scope="module")
def api() -> Iterator[ModelApi]:
    with ModelApi().running() as api:
        yield api


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory, api: ModelApi) -> Iterator[Site]:
    """A site that passes on to the API."""
    upstream = {"OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": KEY, "MEMORYHUB_LIMITS": _LIMITS}
    upstream |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY, "MEMORYHUB_SHARED_UPSTREAM": "true"}
    with Product(tmp_path_factory.mktemp("relay"), upstream) as site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def tokens(relay: Site) -> Iterator[str]:
    """Tokens of members of whom nothing is known yet."""
    return iter([person.token for person in relay.people(len(OPENAI) + len(COMPLY) + len(PROFILES) + 4)])


def python(version: str) -> list[str]:
    """A client of this version, in an environment of its own."""
    alone = ["run", "--quiet", "--isolated", "--no-project", "--python", sys.executable, "--with", f"openai=={version}"]
    return [str(UV), *alone, str(PROGRAMS / "openai_client.py")]


def javascript(name: str) -> list[str]:
    """A program beside the packages that it imports."""
    return [node(), str(shutil.copy(PROGRAMS / name, installed("provider_clients", PACKAGES)))]


def said(command: list[str], url: str, key: str) -> list[list[object]]:
    """The lines that the program prints with this base URL and key."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
    given = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": key}
    given |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
    done = subprocess.run(command, env=kept | given, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(command: list[str], api: ModelApi, relay: Site, tokens: Iterator[str], *, lines: int) -> list[list[object]]:
    """What the program gets, the same with memoryhub between, which recalls what the user said."""
    direct = said(command, api.url, KEY)
    assert len(direct) == lines and "Bristol" not in api.last.text
    assert said(command, f"http://127.0.0.1:{relay.port}", next(tokens)) == direct
    assert "Where do I live?" in api.last.text and "Bristol" in api.last.text
    return direct


@pytest.mark.parametrize("version", OPENAI)
def test_openai_in_python(api: ModelApi, relay: Site, tokens: Iterator[str], version: str) -> None:
    assert same(python(version), api, relay, tokens, lines=16)[0] == ["version", version]


def test_openai_agents(api: ModelApi, relay: Site, tokens: Iterator[str]) -> None:
    pytest.importorskip("agents", reason="the OpenAI Agents SDK is not installed (make integrations)")
    same([sys.executable, str(PROGRAMS / "openai_agents.py")], api, relay, tokens, lines=10)


@pytest.mark.parametrize(("name", "lines"), [("openai.mjs", 13), ("anthropic.mjs", 10), ("ai.mjs", 15)])
def test_npm(api: ModelApi, relay: Site, tokens: Iterator[str], name: str, lines: int) -> None:
    same(javascript(name), api, relay, tokens, lines=lines)


def scored(command: list[str], url: str, key: str) -> str:
    """The report, in JSON, of a suite that found no fault."""
    given = {**os.environ, "OPENAI_API_KEY": key}
    filled = [each.format(url=url, key=key) for each in command]
    done = subprocess.run(filled, env=given, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout[done.stdout.index("{") :]


@pytest.mark.parametrize(("kind", "count"), COMPLY.items(), ids=COMPLY)
def test_llm_comply(api: ModelApi, relay: Site, tokens: Iterator[str], kind: str, count: int) -> None:
    pytest.importorskip("llm_comply", reason="llm-comply is not installed (make integrations)")
    command = [sys.executable, "-m", "llm_comply.cli", "--json", "-m", "first", "--format", kind]
    command += ["-u", "{url}/v1", "-k", "{key}"]
    found = []
    for url, key in ((api.url, KEY), (f"http://127.0.0.1:{relay.port}", next(tokens))):
        told = json.loads(scored(command, url, key))
        found.append({each["id"]: each["status"] for each in told["results"]})
    assert found[0] == found[1]
    assert sorted(found[1].values()) == ["passed"] * count + ["skipped"]


@pytest.mark.parametrize(("profile", "count"), PROFILES.items(), ids=PROFILES)
def test_compatcanary(api: ModelApi, relay: Site, tokens: Iterator[str], profile: str, count: int) -> None:
    program = installed("compatcanary", CANARY) / "node_modules" / "compatcanary" / "src" / "cli.js"
    command = [node(), str(program), "scan", "--base-url", "{url}/v1", "--model", "first", "--profile", profile]
    found = []
    for url, key in ((api.url, KEY), (f"http://127.0.0.1:{relay.port}", next(tokens))):
        told = json.loads(scored([*command, "--format", "json"], url, key))
        found.append((told["score"], {each["id"]: each["status"] for each in told["results"]}))
    assert found[0] == found[1]
    assert found[1][0] == 100 and list(found[1][1].values()) == ["pass"] * count
