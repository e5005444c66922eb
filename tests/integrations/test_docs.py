"""The examples of the documents run as they are written: a user moves, and is asked in the next session."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any, Protocol

import pytest

from memoryhub_client import Client
from tests.proofs.site import ROOT

pytestmark = pytest.mark.long

DOCS = ROOT / "docs"


def needs(package: str, name: str) -> pytest.MarkDecorator:
    """Skips a test where a framework is not installed."""
    # To look for a part of a package imports the package.
    missing = find_spec(package.partition(".")[0]) is None or find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{name} is not installed (make integrations)")


def examples(name: str) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```$", (DOCS / name).read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found


class Run(Protocol):
    """Runs an example for this user, and returns its client."""

    def __call__(self, example: str, url: str, key: str, user: str, **names: Any) -> Client: ...


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs an example; what it opened is closed at the end of the test."""
    with ExitStack() as opened:

        def runs(example: str, url: str, key: str, user: str, **names: Any) -> Client:
            names["BACKEND_KEY"] = key
            ours = example.replace("http://127.0.0.1:8000", url).replace('"alice"', f'"{user}"')
            exec(compile(ours, "example", "exec"), names)  # noqa: S102 - ours
            client = names["client"]
            assert isinstance(client, Client)
            for value in names.values():
                if callable(getattr(value, "close", None)) and not isinstance(value, type):
                    opened.callback(value.close)
            return client

        yield runs


def moved(client: Client, user: str, app: str) -> None:
    """The fact of the move has a chain, which names the app."""
    client = client.for_user(user)
    (fact,) = client.memories.list(key="home_city")
    assert fact.text == "Lives in Edinburgh" and fact.app == app
    assert [link.text for link in client.memories.chain(fact.id).links] == ["Lives in Bristol", "Lives in Edinburgh"]


@needs("langgraph", "LangGraph")
def test_langgraph(run: Run, url: str, key: str, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    for example in examples("integrations-langgraph.md"):
        run(example, url, key, user)
    assert "Bristol -> Edinburgh" in capsys.readouterr().out


@needs("langchain", "LangChain")
def test_langchain(run: Run, url: str, key: str, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.integrations.parrot import Parrot  # noqa: PLC0415 - needs LangChain

    agent, retriever = examples("integrations-langchain.md")
    client = run(agent, url, key, user, MODEL=Parrot())
    assert "Lives in Edinburgh" in capsys.readouterr().out
    moved(client, user, "travel")
    run(retriever, url, key, user)
    assert "Lives in Edinburgh" in capsys.readouterr().out


@needs("agents", "the OpenAI Agents SDK")
def test_openai_agents(run: Run, url: str, key: str, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    from agents.testing import ScriptedModel, assistant_message  # noqa: PLC0415 - needs the SDK

    model = ScriptedModel([[assistant_message(text)] for text in ("Noted.", "Noted, too.", "In Edinburgh.")])
    (example,) = examples("integrations-openai-agents.md")
    client = run(example, url, key, user, MODEL=model)
    assert "In Edinburgh." in capsys.readouterr().out
    assert "Lives in Edinburgh" in (model.calls[-1].system_instructions or "")
    moved(client, user, "guide")


@needs("anthropic", "the SDK of Anthropic")
def test_anthropic(
    run: Run, url: str, key: str, user: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "/memories/home.md"
    script: list[dict[str, str] | str] = [
        {"command": "create", "path": file, "file_text": "Lives in Bristol."},
        "Noted.",
        {"command": "str_replace", "path": file, "old_str": "Bristol", "new_str": "Edinburgh"},
        "Noted, too.",
        {"command": "view", "path": file},
        "In Edinburgh.",
    ]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    (example,) = examples("integrations-anthropic.md")
    with messages_server(script) as (address, received):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        client = run(example, url, key, user)
    assert "In Edinburgh." in capsys.readouterr().out
    assert "Lives in Edinburgh." in json.dumps(received[-1]["messages"][-1])
    history = [(event.action, event.value) for event in client.items.history(["memories"], "home.md")]
    assert history == [("replaced", "Lives in Edinburgh."), ("created", "Lives in Bristol.")]
    assert client.items.get(["memories"], "home.md").app == "claude"


@contextmanager
def messages_server(script: list[dict[str, str] | str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of Anthropic's Messages API that answers by a script: texts, and arguments of a tool."""
    answers, received = iter(script), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step = next(answers)
            content: dict[str, Any] = {"type": "text", "text": step}
            if isinstance(step, dict):
                tool = {"id": f"toolu_{len(received)}", "name": step.pop("tool", "memory"), "input": step}
                content = {"type": "tool_use", **tool}
            body = json.dumps(
                {
                    "id": f"msg_{len(received)}",
                    "type": "message",
                    "role": "assistant",
                    "model": "scripted",
                    "content": [content],
                    "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()
