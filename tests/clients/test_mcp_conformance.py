"""What the owners of MCP say of the endpoint: their conformance package for both eras, and their inspector.

The scenarios that are not passed are listed in `mcp_conformance/` with the reason of each; the package fails for a
scenario that is missing there, or passes after all.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from memories.api.mcp.tools import TOOLS
from tests.npm import installed, node
from tests.parts import serving
from tests.proofs.site import Person, Site

pytestmark = pytest.mark.long

PACKAGES = {
    "@modelcontextprotocol/conformance": "0.1.16",
    "conformance-2026": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
}
SKIPPED = Path(__file__).parent / "mcp_conformance"
REVISIONS = {
    "2025-11-25": ("@modelcontextprotocol/conformance", ["--suite", "active"]),
    "2026-07-28": ("conformance-2026", ["--requirements", "2026-07-28"]),
}
# Of a connection, and not of what it carries.
_HOP = ("connection", "content-length", "date", "server", "transfer-encoding")


def _ran(package: str, file: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a package does; what it keeps of its own stays in its folder."""
    folder = installed("mcp", PACKAGES)
    return subprocess.run(  # noqa: S603 - our own arguments
        [node(), f"node_modules/{package}/{file}", *arguments],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture
def open_url(site: Site, person: Person) -> Iterator[str]:
    """The endpoint without authentication: a proxy adds the member's token, for which the package has no option."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {**self.headers, "Authorization": f"Bearer {person.token}"}
            with closing(HTTPConnection("127.0.0.1", site.port, timeout=60)) as behind:
                behind.request(self.command, self.path, body, headers)
                with behind.getresponse() as answer:
                    content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the framework's names

    with serving(Proxy) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_conformance_package_passes_but_for_what_is_listed(open_url: str, revision: str, tmp_path: Path) -> None:
    package, scenarios = REVISIONS[revision]
    listed = ["--expected-failures", str(SKIPPED / f"{revision}.yml"), "--output-dir", str(tmp_path)]
    done = _ran(package, "dist/index.js", "server", "--url", open_url, *scenarios, *listed)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    if revision == "2026-07-28":  # run, and not counted by the package
        assert "✓ http-header-validation: 14 passed" in done.stdout


def test_the_inspector_connects_lists_and_calls(url: str, person: Person) -> None:
    def inspect(method: str, *arguments: str) -> Any:
        header = f"Authorization: Bearer {person.token}"
        fixed = ["--cli", f"{url}/mcp", "--transport", "http", "--quiet", "--header", header, "--method", method]
        done = _ran("@modelcontextprotocol/inspector", "clients/launcher/build/index.js", *fixed, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    assert {tool["name"] for tool in inspect("tools/list")["tools"]} == set(TOOLS)
    fact = ["text=Lives in Leith", "said=I live in Leith.", "key=home_city"]
    arguments = [word for each in fact for word in ("--tool-arg", each)]
    assert not inspect("tools/call", "--tool-name", "remember", *arguments).get("isError")
    found = inspect("tools/call", "--tool-name", "recall", "--tool-arg", "query=Where do I live?")
    assert "Lives in Leith" in [each["text"] for each in found["structuredContent"]["memories"]]
    assert inspect("prompts/list")["prompts"] and inspect("resources/list")["resources"]
