"""The suites of others: linters, generated clients, and requests made from the OpenAPI description.

`make contract` runs them with the linters' packages; without Node and them their tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenants.principal import Right
from tests.migrated import Migrated
from tests.proofs.real_site import RealSite, real_parts
from tests.proofs.site import Person, Site

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
BIN = Path(sys.executable).parent
# Answers to requests that the description allows: no such thing, another state, what is not stored.
RULED = ["2xx", "304", "401", "403", "404", "409", "410", "412", "414", "422", "502"]
# Operations with a rule that a schema cannot say: between fields, between a field and what is stored or the time, of a
# whole filter, of whole metadata, of an address, of the bytes of a file.
BEYOND_SCHEMAS = (
    "audit_list",
    "context",
    "import",
    "items_search",
    "memories_correct",
    "memories_create",
    "memories_describe",
    "memories_forget_all",
    "memories_list",
    "memories_promote",
    "memories_supersede",
    "messages_batch",
    "messages_create",
    "recall",
    "reviews_decide",
    "tenant_audit_list",
    "tokens_create",
    "tokens_rotate",
    "webhooks_change",
    "webhooks_create",
    "webhooks_replay",
    "working_memory_set",
)
# Each entry is refused by itself, in an answer that tells so.
BATCHES = ("memories_batch", "messages_batch")
USER = "ann"
# What backend keys reach and members do not.
OF_KEYS = "^(members|webhooks|policy|holds|erasures|tenant|tokens|events|version)"
REFUSED = ["400", "401", "403", "404", "405", "406", "409", "411", "412", "413", "414", "415", "422", "431"]


def lint(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a linter of `make contract`; skip where it is not installed."""
    folder = Path(os.environ.get("MEMORYHUB_LINTERS", ROOT / "var" / "linters"))
    program = folder / "node_modules" / ".bin" / command[0]
    if shutil.which("node") is None or not program.exists():
        pytest.skip("needs Node and the linters: make contract")
    return subprocess.run([program, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603


def test_redocly_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / "redocly.yaml"
    config.write_text("extends: [recommended]\n")
    done = lint("redocly", "lint", str(DESCRIPTION), "--config", str(config), "--format=json")
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert (found["totals"]["errors"], found["totals"]["warnings"]) == (0, 0), found["problems"][:5]


def test_spectral_finds_nothing(tmp_path: Path) -> None:
    rules = tmp_path / "spectral.yaml"
    rules.write_text('extends: ["spectral:oas"]\n')
    done = lint("spectral", "lint", str(DESCRIPTION), "-r", str(rules), "--fail-severity=hint")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_client_is_generated_and_works(tmp_path: Path, site: Site) -> None:
    (person,) = site.people(1)
    site.start()
    client = tmp_path / "client"
    options = ["--path", DESCRIPTION, "--output-path", client, "--meta=none"]
    command: list[Any] = [BIN / "openapi-python-client", "generate", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own tool
    assert done.returncode == 0 and "unable to" not in done.stdout.casefold(), done.stdout + done.stderr
    program = f"""
from client import AuthenticatedClient
from client.api.recall import recall
from client.api.memories import memories_create
from client.models import FactRequest, RecallRequest
api = AuthenticatedClient("http://127.0.0.1:{site.port}", {person.token!r})
written = memories_create.sync(client=api, body=FactRequest(text="Plays the cello."))
found = recall.sync(client=api, body=RecallRequest(query="Which instrument?"))
print(found.items[0].text, written.memory.kind)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout.strip() == "Plays the cello. semantic", done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _migrated: Migrated | None) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    if _migrated is not None:
        _migrated.give(site.database)
    with site:
        yield site


@contextmanager
def on(plane: str, folder: Path) -> Iterator[Site]:
    """A site on this search plane; with Elasticsearch, on PostgreSQL and with Celery as well."""
    folder.mkdir()
    if plane == "embedded":
        with Site(folder) as site:
            yield site
        return
    with real_parts() as parts, RealSite(folder, parts) as site:
        yield site


Headers = dict[str, str]


def members(site: Site, people: list[Person]) -> dict[str, Headers]:
    """Callers by name: members, and a backend key that acts for a user."""
    site.manage("member", "create", "--tenant", people[0].tenant, USER)
    found = {person.username: {"Authorization": f"Bearer {person.token}"} for person in people}
    return found | {USER: {**keys(site, people)[0], "X-Memoryhub-User": USER}}


def keys(site: Site, people: list[Person]) -> list[Headers]:
    """A backend key of each tenant, with all scopes."""
    scopes = sorted(right.value for right in Right)
    tenants = dict.fromkeys(person.tenant for person in people)
    made = [site.manage("token", "create", "--tenant", each, "--scopes", *scopes).strip() for each in tenants]
    return [{"Authorization": f"Bearer {key}"} for key in made]


def made(site: Site, person: Person) -> dict[str, str]:
    """One thing of each kind, by the parameter that names it in an address."""
    with httpx.Client(
        base_url=f"http://127.0.0.1:{site.port}/api/v1", headers={"Authorization": f"Bearer {person.token}"}
    ) as client:

        def post(path: str, body: Any) -> Any:
            return client.post(path, json=body).raise_for_status().json()

        session = post("sessions", {"title": "Instruments"})["id"]
        fact = post("memories", {"text": "Plays the xylophone.", "key": "instrument"})["memory_id"]
        post("memories", {"kind": "episodic", "session_id": session, "text": "I bought a xylophone."})
        run = post("consolidation", {})["runs"][0]
        proposal = post("forget-proposals", {"memory_ids": [fact]})["id"]
        return {"session_id": session, "memory_id": fact, "run_id": run, "proposal_id": proposal}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("plane", ["embedded", "elasticsearch"])
def test_requests_made_from_the_description_find_no_fault(
    tmp_path: Path, plane: str, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--examples", 0):
        pytest.skip("takes minutes: make contract")
    with on(plane, tmp_path / "site") as site:
        people = site.people(3)
        site.start()
        callers = members(site, people)
        check(request, site, tmp_path / "members", callers, made(site, people[0]))
        callers = {f"key {number}": each for number, each in enumerate(keys(site, people))}
        check(request, site, tmp_path / "keys", callers, {"user_id": USER}, f"--include-operation-id-regex={OF_KEYS}")


def check(
    request: pytest.FixtureRequest,
    site: Site,
    folder: Path,
    callers: Mapping[str, Headers],
    ids: Mapping[str, str],
    *options: str,
) -> None:
    """The first of the callers makes the requests; the others are peers, who reach nothing of what is the caller's."""
    folder.mkdir()
    entries = [
        {"name": name, "fixedHeaders": [{"name": field, "value": value} for field, value in headers.items()]}
        for name, headers in callers.items()
    ]
    (folder / "callers.json").write_text(json.dumps({"auth": entries}))
    config = [
        f"hooks = {json.dumps(str(Path(__file__).with_name('contract_hooks.py')))}",
        "[generation]",
        "allow-x00 = false",
        "[auth.wfc]",
        'path = "callers.json"',
        f"user = {json.dumps(next(iter(callers)))}",
        f"peers = {json.dumps(list(callers))}",
        "[checks]",
        f"positive_data_acceptance.expected-statuses = {json.dumps(RULED)}",
        f"negative_data_rejection.expected-statuses = {json.dumps(REFUSED)}",
        "[parameters]",
        *(f'"path.{name}" = "{value}"' for name, value in ids.items()),
    ]
    for name in BEYOND_SCHEMAS:
        config += ["[[operations]]", f'include-operation-id = "{name}"', "[operations.checks]"]
        config += [f"positive_data_acceptance.expected-statuses = {json.dumps([*RULED, '400'])}"]
    for name in BATCHES:
        config += ["[[operations]]", f'include-operation-id = "{name}"', "[operations.checks]"]
        config += [f"negative_data_rejection.expected-statuses = {json.dumps([*REFUSED, '200'])}"]
    (folder / "schemathesis.toml").write_text("\n".join(config) + "\n")
    url = f"--url=http://127.0.0.1:{site.port}"
    command: list[Any] = [BIN / "schemathesis", "run", DESCRIPTION, url, "--checks=all"]
    numbers = {"seed": request.config.getoption("--seed", 1), "max-examples": request.config.getoption("--examples")}
    # A machine that is busy makes requests slowly; that is no fault of the description.
    command += ["--continue-on-failure", "--no-shrink", "--suppress-health-check=too_slow", *options]
    command += [f"--{name}={number}" for name, number in numbers.items()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    sys.stdout.write(done.stdout[-1_500:])  # for -rP: how many requests were made
