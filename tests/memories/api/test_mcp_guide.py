"""The snippets of docs/mcp.md lead to the memory of the token's member, with the fields that each client reads."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memories.api.mcp.tools import TOOLS
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.api.caller import Caller
from tests.memories.api.mcp_caller import LATEST

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text()
JSON = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
TOML = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)]
SHELL = "".join(re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)).replace("\\\n", " ")
COMMANDS = [
    shlex.split(command) for command in re.findall(r"^(?:claude|npx|curl) (?:'[^']*'|[^'\n])*", SHELL, re.MULTILINE)
]
_VARIABLE = re.compile(r"\$\{(?:env:|input:)?[\w-]+\}|\$\w+")


def servers() -> list[tuple[str, str]]:
    """The address and the header with the token of each snippet."""
    found = []
    for snippet in JSON:
        (server,) = (snippet.get("mcpServers") or snippet["servers"]).values()
        found.append((server.get("url") or server["httpUrl"], server["headers"]["Authorization"]))
    for snippet in TOML:
        server = snippet["mcp_servers"]["memoryhub"]
        found.append((server["url"], f"Bearer ${server['bearer_token_env_var']}"))
    for words in COMMANDS:
        (header,) = (word for word in words if word.startswith("Authorization: "))
        (url,) = (word for word in words if word.startswith("http:"))
        found.append((url, header.partition(": ")[2]))
    assert len(found) == 8
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(("url", "authorization"), servers())
def test_a_snippet_reaches_the_tools(ada: Caller, url: str, authorization: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Authorization": _VARIABLE.sub(ada.token, authorization), "MCP-Protocol-Version": LATEST}
    answer = ada.client.post(urlsplit(url).path, message, content_type="application/json", headers=headers)
    assert answer.status_code == 200 and answer.json()["result"]["tools"]


@pytest.mark.django_db
def test_the_call_without_a_client_recalls(ada: Caller, principal: Principal) -> None:
    remember_fact(principal, text="Lives in Porto.")
    (words,) = (words for words in COMMANDS if words[0] == "curl")
    body = dict(itertools.pairwise(words))["-d"]
    headers = {"Authorization": f"Bearer {ada.token}"}
    answer = ada.client.post("/mcp", body.encode(), content_type="application/json", headers=headers)
    assert answer.json()["result"]["structuredContent"]["memories"][0]["text"] == "Lives in Porto."


def test_every_client_and_tool_is_in_the_guide() -> None:
    assert len(servers()) == 8
    assert set(re.findall(r"^\| `(\w+)` \|.*`memory:\w+` \|$", GUIDE, re.MULTILINE)) == set(TOOLS)
