"""`manage.py import_conversation`: import a conversation from another product into a member's memory."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memories.importing import ConversationSession, parse_chatgpt, parse_jsonl, parse_locomo
from memories.importing.conversations import chosen, read_json, read_lines
from memories.management.member_command import MemberCommand, counts, progress, remarks, warm_index
from memories.services.portability.sessions_import import import_sessions
from memories.types import Kind
from tenants.principal import Principal


class Command(MemberCommand):
    """Imports sessions and episodes with their original times, all or nothing; repeating an import adds nothing."""

    help = "Import a conversation: sessions, transcripts and episodes at their own times."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what to import")
        super().add_arguments(parser)
        parser.add_argument(
            "--format",
            required=True,
            choices=["jsonl", "locomo", "chatgpt"],
            help='jsonl: lines {"session", "role", "content", "timestamp"}; chatgpt: conversations.json of an export',
        )
        parser.add_argument("--conversation", type=int, help="only this one of the file, counted from 0")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        sessions = read(options["file"], options["format"], options["conversation"])
        total = sum(len(session.turns) for session in sessions)
        with progress("Importing", total) as advance:
            report = import_sessions(principal, sessions, source=options["format"], advance=advance)
        waiting = warm_index(principal, report.total_added)
        episodes = report.added.get(Kind.EPISODIC, 0)
        self.answer(
            options,
            {"sessions": report.sessions, "messages": report.messages, "episodes": episodes} | counts(report, waiting),
            f"Imported {report.messages:,} messages in {report.sessions:,} new sessions; "
            f"{episodes:,} became episodes.{remarks(report, waiting)}",
        )


def read(path: Path, form: str, number: int | None) -> tuple[ConversationSession, ...]:
    """Read the sessions of a file, or of its conversation `number`. Raises InvalidInput or OSError."""
    if form == "jsonl":
        return tuple(session for _, session in chosen(parse_jsonl(read_lines(path)), number))
    parse = parse_chatgpt if form == "chatgpt" else parse_locomo
    return parse(read_json(path), number)
