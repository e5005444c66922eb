"""`python -m benchmarks.turns`: the cost of a chat turn without its model.

A member with some hundred memories sends messages through the chat page (streamed) and through the API. The model is a
stub that says one sentence, so the figures are memoryhub's own: processor milliseconds of all threads, wall
milliseconds, and SQL statements on the request's thread. Recalls are recorded on their own thread, as in production;
its processor time counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import use_sqlite

PLACES = ("Leeds", "Oslo", "Bath", "Lyon", "Porto", "Ghent", "Turin", "Cork", "Bergen", "Graz")
THINGS = ("the cello", "my sister", "the allotment", "our boiler", "the tax form", "chess", "the night train", "bread")
QUESTIONS = (
    "Where did I go with my sister last spring?",
    "What did I say about the boiler?",
    "Which train do I take to Oslo?",
    "How is the allotment doing?",
    "Do I still play the cello?",
)


class Stub:
    """A model that answers at once."""

    name = "stub"
    offline = False

    def stream(self, messages: Sequence[Any], tools: Sequence[Any], *, may_call_tools: bool) -> Iterator[Any]:  # noqa: ARG002 - the protocol of a model
        """Stream one sentence and the end."""
        from memories.llm.base import Finished, StopReason, TextPiece  # noqa: PLC0415 - after Django's set-up

        yield TextPiece("I found that in your memory.")
        yield Finished(StopReason.DONE)


@dataclass(frozen=True, slots=True)
class Cost:
    """The medians of one way to send messages."""

    way: str
    core_ms: float
    wall_ms: float
    statements: float


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--memories", type=int, default=400, help="memories of the member (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=40, help="turns to time in each way (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        use_sqlite(folder, MEMORYHUB_JOBS="off", MEMORYHUB_LIMITS="off")
        costs = measured(options.memories, options.turns)
    if options.json:
        sys.stdout.write(json.dumps(list(map(asdict, costs))))
        return 0
    for cost in costs:
        sys.stdout.write(
            f"{cost.way:20s} {cost.core_ms:6.1f} ms of one core {cost.wall_ms:6.1f} ms {cost.statements:3.0f} queries\n"
        )
    return 0


def measured(count: int, turns: int) -> list[Cost]:
    """The costs of each way, in the order of measuring."""
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from memories.agent import loop  # noqa: PLC0415
    from memories.search.outbox import drain  # noqa: PLC0415
    from tenants.principal import ALL_RIGHTS  # noqa: PLC0415
    from tenants.services import add_member, create_tenant, create_user, issue_token  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    membership = add_member(
        tenant=create_tenant(name="Bench", slug="bench"), user=create_user(username="bench", display_name="Bench")
    )
    _fill(membership, count)
    while drain(limit=256).delivered:
        pass
    setattr(loop, "chat_model_of", lambda *_: Stub())  # noqa: B010 - replaces the configured model
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(membership.user)
    _, token = issue_token(membership, name="bench", scopes=ALL_RIGHTS)
    program = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})

    def chat(path: str) -> Callable[[str], bytes]:
        return lambda text: b"".join(browser.post(path, {"message": text}, headers={"Accept": "text/event-stream"}))

    def api(path: str) -> Callable[[str], bytes]:
        return lambda text: program.post(path, {"message": text}, content_type="application/json").content

    opened = json.loads(api("/api/v1/turns/")("Hello"))["session_id"]
    ways = {
        "chat, old session": chat(f"/chat/{opened}/send/"),
        "chat, new session": chat("/chat/send/"),
        "API, old session": api(f"/api/v1/sessions/{opened}/turns/"),
        "API, new session": api("/api/v1/turns/"),
    }
    costs = []
    for way, send in ways.items():
        _timed(send, 3)
        costs.append(_cost(way, _timed(send, turns)))
    return costs


def _fill(membership: Any, count: int) -> None:
    from memories.services.facts.remember import remember_fact  # noqa: PLC0415
    from memories.services.sessions.episodes import EpisodeDraft, remember_episodes  # noqa: PLC0415
    from memories.services.sessions.sessions import start_session  # noqa: PLC0415
    from tenants.principals import system_principal  # noqa: PLC0415

    principal = system_principal(membership)
    said = [
        f"In {PLACES[number % 10]} I spoke of {THINGS[number % 8]}, for the {number}th time." for number in range(count)
    ]
    session = start_session(principal)
    remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft(text) for text in said[count // 5 :]])
    for number, text in enumerate(said[: count // 5]):
        remember_fact(principal, text=f"Note {number}: {text}", category=f"notes_{number}")


def _timed(send: Callable[[str], bytes], turns: int) -> list[tuple[float, float, int]]:
    from memories.recall import recording  # noqa: PLC0415
    from memories.search.outbox import drain  # noqa: PLC0415

    taken = []
    for number in range(turns):
        with _statements() as statements:
            core, wall = time.process_time(), time.perf_counter()
            answer = send(f"{QUESTIONS[number % len(QUESTIONS)]} ({number})")
            wall = time.perf_counter() - wall
        recording.flush()
        taken.append(((time.process_time() - core) * 1000, wall * 1000, len(statements)))
        if b"I found that" not in answer:
            raise RuntimeError(f"A turn was not answered: {answer[:300]!r}")
        drain()
    return taken


@contextmanager
def _statements() -> Iterator[list[str]]:
    from django.db import connection  # noqa: PLC0415

    seen: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield seen


def _cost(way: str, taken: Sequence[tuple[float, float, int]]) -> Cost:
    core, wall, statements = (statistics.median(column) for column in zip(*taken, strict=True))
    return Cost(way, core, wall, statements)


if __name__ == "__main__":
    sys.exit(main())
