"""Ready settings of well-known agents, with the site's addresses and, right after it was made, the member's token."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from tenants.oauth.protocol import MCP_PATH

PLACEHOLDER = "YOUR_TOKEN"


@dataclass(frozen=True, slots=True)
class Snippet:
    """What to put where for one agent. `alone`: without a token, the agent asks for access by itself."""

    title: str
    where: str
    code: str
    alone: str = ""


def snippets(site: str, token: str, *, models: Collection[str] = ()) -> list[Snippet]:
    """The settings for the site with this origin; without a token, with a placeholder.

    `models` are the APIs of models that the site passes on.
    """
    address, token = f"{site}/{MCP_PATH}", token or PLACEHOLDER
    claude_code, inspector = _terminals(address, token)
    plugin = _plugin(site, token)
    return [
        claude_code,
        plugin,
        *_files(address, token),
        inspector,
        *(_base_urls(site, token)[vendor] for vendor in models),
    ]


def _terminals(address: str, token: str) -> list[Snippet]:
    header = f'--header "Authorization: Bearer {token}"'
    inspector = "npx @modelcontextprotocol/inspector"
    return [
        Snippet(
            "Claude Code",
            _("In a terminal:"),
            f"claude mcp add --transport http memoryhub {address} \\\n  {header}",
            _("Leave out the header, and choose memoryhub under /mcp to sign in."),
        ),
        Snippet(
            "MCP inspector",
            _("In a terminal, to see what an agent sees:"),
            f"{inspector} --cli {address} --transport http \\\n  --method tools/list {header}",
        ),
    ]


def _plugin(site: str, token: str) -> Snippet:
    folder = "~/.claude/skills/memoryhub"
    return Snippet(
        _("Claude Code, with the plugin"),
        _(
            "Recalls before each answer and stores each turn. It needs Python 3. In a terminal, in a copy of "
            "memoryhub's source; put the first two lines into your shell's profile, too:"
        ),
        f"export MEMORYHUB_URL={site}\nexport MEMORYHUB_KEY={token}\n"
        f"mkdir -p {folder} && cp -r clients/claude-code/. {folder}",
    )


def _files(address: str, token: str) -> list[Snippet]:
    bearer = {"url": address, "headers": {"Authorization": f"Bearer {token}"}}
    # Some programs split an argument at its spaces, so the header comes from the environment.
    desktop = {
        "command": "npx",
        "args": ["-y", "mcp-remote", address, "--header", "Authorization:${MEMORYHUB_AUTH}"],
        "env": {"MEMORYHUB_AUTH": f"Bearer {token}"},
    }
    codex = f'[mcp_servers.memoryhub]\nurl = "{address}"\nbearer_token_env_var = "MEMORYHUB_TOKEN"'
    return [
        Snippet(
            _("Claude Desktop and claude.ai"),
            _("With a token, in claude_desktop_config.json (it needs Node):"),
            _servers(desktop),
            _("Settings, Connectors, Add custom connector: give the address. The internet must reach this server."),
        ),
        Snippet(
            "Cursor",
            _("In ~/.cursor/mcp.json, or .cursor/mcp.json of a project:"),
            _servers(bearer),
            _("Leave out the headers, and press Connect in Cursor's settings."),
        ),
        Snippet(
            "VS Code",
            _("In .vscode/mcp.json of a project:"),
            _servers({"type": "http", **bearer}, "servers"),
            _("Leave out the headers; it asks to sign in when it starts the server."),
        ),
        Snippet(
            "Codex",
            _("In ~/.codex/config.toml, and the token in the environment:"),
            f"{codex}\n\n# export MEMORYHUB_TOKEN={token}",
            _("Leave out the variable, and run codex mcp login memoryhub."),
        ),
        Snippet(
            "Gemini CLI",
            _("In ~/.gemini/settings.json:"),
            _servers({"httpUrl": address, "headers": bearer["headers"]}),
            _("Leave out the headers, and run /mcp auth memoryhub."),
        ),
    ]


def _servers(server: object, key: str = "mcpServers") -> str:
    return json.dumps({key: {"memoryhub": server}}, indent=2)


def _base_urls(site: str, token: str) -> dict[str, Snippet]:
    where = _("Change base URL and key, and the agent remembers:")
    openai = f"export OPENAI_BASE_URL={site}/v1\nexport OPENAI_API_KEY={token}"
    anthropic = f"export ANTHROPIC_BASE_URL={site}\nexport ANTHROPIC_AUTH_TOKEN={token}"
    return {
        "openai": Snippet(_("OpenAI clients"), where, openai),
        "anthropic": Snippet(_("Anthropic clients"), where, anthropic),
    }
