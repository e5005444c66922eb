"""The plugin of Claude Code: its hooks, run as Claude Code runs them, and its MCP server, against a real site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from memories.api.mcp.tools import TOOLS
from memoryhub_client import Client
from tests.parts import eventually, serving
from tests.ports import free_port
from tests.proofs.site import ROOT, Person

pytestmark = pytest.mark.long

PLUGIN = ROOT / "clients" / "claude-code"
HOME, ASKED = "I live in Bristol.", "Which city do I live in?"
Done = subprocess.CompletedProcess[str]
Hook = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def hook(url: str, person: Person, data: Path) -> Hook:
    """`hook(event, session=…, …)`: what the hook of this event prints, with fields as Claude Code documents them."""
    commands = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    variables = {"MEMORYHUB_URL": url, "MEMORYHUB_KEY": person.token, "PATH": os.environ["PATH"]}

    def run(event: str, *, session: str = "abc123", environ: dict[str, str] | None = None, **fields: Any) -> Done:
        common = {"session_id": session, "transcript_path": "/none.jsonl", "cwd": "/", "permission_mode": "default"}
        sent = json.dumps({**common, "hook_event_name": event, **fields})
        ours = {"CLAUDE_PLUGIN_ROOT": str(PLUGIN), "CLAUDE_PLUGIN_DATA": str(data)}
        ((command,),) = (each["hooks"] for each in commands[event])
        return subprocess.run(  # noqa: S603 - the plugin's own command
            [shutil.which("sh") or "sh", "-c", command["command"]],
            input=sent,
            env=variables | ours | (environ or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def shown(done: Done) -> str:
    """What Claude is shown."""
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["hookSpecificOutput"]
    assert found["hookEventName"] == "UserPromptSubmit"
    return str(found["additionalContext"])


def test_a_turn_is_stored_and_recalled_in_the_next_session(hook: Hook, memory: Client, data: Path) -> None:
    asked = hook("UserPromptSubmit", prompt=HOME)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")
    ended = hook("Stop", stop_hook_active=False, last_assistant_message="Noted.", background_tasks=[])
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "") and not list(data.iterdir())
    (session,) = memory.sessions.list()
    (turn,) = memory.sessions.get(session.id).turns
    assert (session.external_id, turn.message, turn.answer) == ("claude-code-abc123", HOME, "Noted.")
    assert eventually(lambda: [each.text for each in memory.memories.list()] == ["Lives in Bristol"])
    assert [each.app for each in memory.memories.list()] == ["claude-code"]
    assert "Lives in Bristol" in shown(hook("UserPromptSubmit", session="def456", prompt=ASKED))


def test_what_is_shown_of_a_full_memory_is_shown_whole(hook: Hook, memory: Client) -> None:
    for number in range(30):
        memory.memories.write(f"Boat number {number} lies in Bristol, " + "beside a barge " * 100, pinned=number < 10)
    text = shown(hook("UserPromptSubmit", prompt="Which boats lie in Bristol?"))
    assert 1_000 < len(text) <= 10_000


def test_a_turn_that_was_broken_off_is_stored_with_the_next(hook: Hook, memory: Client) -> None:
    for prompt in ("Wait.", HOME):
        assert hook("UserPromptSubmit", prompt=prompt).returncode == 0
    assert hook("Stop", last_assistant_message="x" * 40_000).returncode == 0
    assert hook("Stop", stop_hook_active=True, last_assistant_message="And more.").returncode == 0
    (session,) = memory.sessions.list()
    said = [(each.message, each.answer) for each in memory.sessions.get(session.id).turns]
    assert said == [("Wait.", ""), (HOME, "x" * 32_000)]


def test_of_a_long_prompt_the_beginning_is_stored(hook: Hook, memory: Client) -> None:
    assert hook("UserPromptSubmit", prompt=f"{HOME} {'x' * 40_000}").returncode == 0
    assert hook("Stop", last_assistant_message="Noted.").returncode == 0
    (session,) = memory.sessions.list()
    (turn,) = memory.sessions.get(session.id).turns
    assert turn.message.startswith(HOME) and len(turn.message) == 32_000


def test_a_notice_that_comes_as_a_prompt_is_nothing_the_user_said(hook: Hook, memory: Client, data: Path) -> None:
    notice = f"<task-notification>\n<task-id>a1</task-id>\n<result>{HOME}</result>\n</task-notification>"
    for event, field in (("UserPromptSubmit", {"prompt": notice}), ("Stop", {"last_assistant_message": "Read."})):
        done = hook(event, **field)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not data.exists() and not list(memory.sessions.list())


def test_the_token_does_not_follow_a_redirect(hook: Hook) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"\x1b[2J\nmoved")

        def do_GET(self) -> None:
            asked.append(self.path)

    with serving(Elsewhere) as port:
        done = hook("UserPromptSubmit", environ={"MEMORYHUB_URL": f"http://127.0.0.1:{port}"}, prompt=HOME)
    assert (done.returncode, done.stdout, asked) == (1, "", ["/api/v1/context/"])
    assert done.stderr.endswith("without it: 302  [2J moved\n")


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"MEMORYHUB_KEY": ""}, "set MEMORYHUB_KEY"),
        ({"MEMORYHUB_KEY": "mh_\nsecret"}, "set MEMORYHUB_KEY"),
        ({"MEMORYHUB_KEY": "mhb_secret"}, "is a backend key; make a token under /connect/"),
        ({"MEMORYHUB_KEY": "mh_wrong"}, "without it: 401 This token is not valid"),
        ({"MEMORYHUB_URL": f"http://127.0.0.1:{free_port()}"}, "did not answer .*refused"),
        ({"MEMORYHUB_URL": "nonsense"}, "did not answer .*unknown url type"),
        ({"MEMORYHUB_URL": "http://127.0.0.1:port"}, "did not answer .*nonnumeric port"),
    ],
)
def test_what_goes_wrong_is_said_and_blocks_nothing(hook: Hook, environ: dict[str, str], reason: str) -> None:
    """Of the exit statuses, 2 alone blocks."""
    for event, field in (("UserPromptSubmit", {"prompt": HOME}), ("Stop", {"last_assistant_message": "Noted."})):
        done = hook(event, environ=environ, **field)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.search(reason, done.stderr) and done.stderr.count("\n") == 1 and "secret" not in done.stderr
        hook("UserPromptSubmit", prompt=HOME)


def test_its_mcp_server_is_the_member_s(url: str, person: Person) -> None:
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"].values()
    environ = {"MEMORYHUB_URL": url, "MEMORYHUB_KEY": person.token}

    def expanded(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda found: environ.get(found[1]) or found[2], text)

    headers = {name: expanded(text) for name, text in server["headers"].items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(expanded(server["url"]), json=body, headers=headers)
    assert {each["name"] for each in answer.json()["result"]["tools"]} == set(TOOLS)


def test_the_skill_names_tools_that_there_are() -> None:
    text = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text()
    assert re.match(r"---\nname: memory\ndescription: \S.{20,1000}\n---\n", text)
    rows = re.findall(r"^\|[^|]+\| (.*) \|$", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"^(?:`recall` its ids, then )?`(\w+)`", row)}
    assert named == set(TOOLS) - {"context", "list"}
