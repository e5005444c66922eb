"""The ready settings of agents name the site and the token, in the form that each agent reads."""

from __future__ import annotations

import json
import shlex
import tomllib

from memories.chat.snippets import PLACEHOLDER, snippets
from memories.selectors.upstreams import VENDORS

SITE, TOKEN = "https://memory.example.org", "mh_secret"
MCP = f"{SITE}/mcp"


def test_each_setting_is_whole_and_has_the_token() -> None:
    found = {each.title: each.code for each in snippets(SITE, TOKEN, models=VENDORS)}
    assert all(TOKEN in code and SITE in code for code in found.values())
    cursor, code = json.loads(found["Cursor"])["mcpServers"], json.loads(found["VS Code"])["servers"]
    gemini = json.loads(found["Gemini CLI"])["mcpServers"]["memoryhub"]
    assert cursor["memoryhub"] == {"url": MCP, "headers": {"Authorization": f"Bearer {TOKEN}"}}
    assert code["memoryhub"] == {"type": "http", **cursor["memoryhub"]}
    assert (gemini["httpUrl"], gemini["headers"]) == (MCP, cursor["memoryhub"]["headers"])
    assert tomllib.loads(found["Codex"])["mcp_servers"]["memoryhub"]["url"] == MCP
    command = shlex.split(found["Claude Code"].replace("\\\n", ""))
    assert command[-4:] == ["memoryhub", MCP, "--header", f"Authorization: Bearer {TOKEN}"]


def test_without_a_token_its_place_is_marked() -> None:
    assert all(PLACEHOLDER in each.code for each in snippets(SITE, "", models=VENDORS))
