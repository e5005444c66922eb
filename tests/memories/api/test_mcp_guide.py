"""The settings of docs/mcp.md and of the page "Connect an agent" lead to the memory of the token's member."""

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
from memories.chat.snippets import snippets
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.api.caller import Caller
from tests.memories.api.mcp_caller import LATEST

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text()
PLUGIN_FOLDER = Path(__file__).resolve().parents[3] / "clients" / "claude-code"
SHELL = "".join(re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)).replace("\\\n", " ")
COMMANDS = [
    shlex.split(command) for command in re.findall(r"^(?:claude|npx|curl) (?:'[^']*'|[^'\n])*", SHELL, re.MULTILINE)
]
SETTINGS = {each.title: each.code for each in snippets("http://localhost:8000", "$TOKEN")}
PLUGIN = SETTINGS.pop("Claude Code, with the plugin")
_VARIABLE = re.compile(r"\$\{(?:env:|input:)?[\w-]+\}|\$\w+")


def of_command(words: list[str]) -> tuple[str, str]:
    (header,) = (word for word in words if word.startswith("Authorization: "))
    (url,) = (word for word in words if word.startswith("http:"))
    return url, header.partition(": ")[2]


def of_file(content: str) -> tuple[str, str]:
    found = json.loads(content)
    (server,) = (found.get("mcpServers") or found["servers"]).values()
    if "args" in server:
        return server["args"][2], server["env"]["MEMORYHUB_AUTH"]
    return server.get("url") or server["httpUrl"], server["headers"]["Authorization"]


def servers() -> dict[str, tuple[str, str]]:
    """The address and the header with the token of each setting, by its client."""
    found = {f"guide, {words[0]}": of_command(words) for words in COMMANDS}
    (file,) = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    found["guide, file"] = of_file(file)
    for title, code in SETTINGS.items():
        if title == "Codex":
            found[title] = (tomllib.loads(code)["mcp_servers"]["memoryhub"]["url"], "Bearer $TOKEN")
        else:
            command = shlex.split(code.replace("\\\n", " "))
            found[title] = of_file(code) if code.startswith("{") else of_command(command)
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(("url", "authorization"), servers().values(), ids=servers())
def test_a_setting_reaches_the_tools(ada: Caller, url: str, authorization: str) -> None:
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
    assert len(servers()) == 11
    assert all(title.partition(" and ")[0] in GUIDE for title in SETTINGS if title != "MCP inspector")
    assert set(re.findall(r"^\| `(\w+)` \|.*`memory:\w+` \|$", GUIDE, re.MULTILINE)) == set(TOOLS)


def test_the_plugin_is_told_the_address_and_the_token_and_lies_where_the_guide_says() -> None:
    *named, copied = PLUGIN.splitlines()
    assert named == ["export MEMORYHUB_URL=http://localhost:8000", "export MEMORYHUB_KEY=$TOKEN"]
    assert copied in GUIDE
    assert all(name in (PLUGIN_FOLDER / ".mcp.json").read_text() for name in ("MEMORYHUB_URL", "MEMORYHUB_KEY"))
