"""`manage.py recall QUERY`: what a member's memory answers, and with --explain why."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from memories.constants import DEFAULT_RECALL_LIMIT
from memories.management.member_command import MemberCommand
from memories.models import RecallTrace
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.types import ALL_KINDS, Kind, Recall, Recalled, Status
from tenants.principal import Principal

# The signals of the recipe, the heaviest first.
SIGNALS = (
    "meaning",
    "words",
    "words_before",
    "words_around",
    "session",
    "alone",
    "speaker",
    "answers",
    "first_person",
    "date",
    "when",
)


class Command(MemberCommand):
    """Asks as the system would for this member; leaves a trace, as every recall does."""

    help = "Recall a member's memories; --explain shows the stages and what each signal added."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query", help="a question or a message")
        super().add_arguments(parser)
        kinds = ",".join(ALL_KINDS)
        parser.add_argument("--types", type=_kinds, default=ALL_KINDS, metavar=kinds, help="only these kinds")
        parser.add_argument("--limit", type=int, default=DEFAULT_RECALL_LIMIT, help="how many (default: %(default)s)")
        parser.add_argument("--task", default="", help="also what is remembered for this task alone")
        parser.add_argument("--as-of", type=_time, help="what was believed then, such as 2024-03-01")
        parser.add_argument("--include-superseded", action="store_true", help="also what is no longer believed")
        parser.add_argument("--explain", action="store_true", help="show stages and signals")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        answer = recall(
            principal,
            options["query"],
            types=options["types"],
            limit=options["limit"],
            task=options["task"],
            include_superseded=options["include_superseded"],
            as_of=options["as_of"],
        )
        recording.flush()
        trace = RecallTrace.objects.of(principal).filter(pk=answer.trace_id).first() if options["explain"] else None
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(answer, trace), ensure_ascii=False))
            return
        console = Console()
        with console.capture() as captured:
            _show(console, answer, trace)
        self.stdout.write(captured.get())


def _show(console: Console, answer: Recall, trace: RecallTrace | None) -> None:
    if answer.degraded:
        console.print("[yellow]The search index did not answer; this is what the database alone could find.")
    console.print(_items(answer) if answer.items else "Nothing was found.")
    if trace is not None:
        console.print(_stages(trace))
        console.print(_candidates(trace))


def _kinds(listed: str) -> tuple[Kind, ...]:
    try:
        return tuple(Kind(name.strip()) for name in listed.split(","))
    except ValueError:
        raise ArgumentTypeError(f"name kinds out of {', '.join(ALL_KINDS)}, separated by commas") from None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("write a time such as 2024-03-01 or 2024-03-01T12:00:00+01:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _items(answer: Recall) -> Table:
    table = Table(title=f"Recalled {len(answer.items)} in {answer.took_ms:.0f} ms", show_lines=True)
    table.add_column("", justify="right")
    table.add_column("kind")
    table.add_column("memory", ratio=1)
    table.add_column("since")
    table.add_column("why")
    table.add_column("score", justify="right")
    for rank, item in enumerate(answer.items, start=1):
        since = item.since.date().isoformat() if item.since else ""
        table.add_row(f"{rank}", item.kind.value, _said(item), since, ", ".join(item.reasons), f"{item.score:.2f}")
    return table


def _said(item: Recalled) -> str:
    said = ": ".join(part for part in (item.speaker or item.title, item.text) if part)
    said = "\n".join([said, *(f"{number}. {step}" for number, step in enumerate(item.steps, start=1))])
    if item.status is Status.SUPERSEDED:
        until = f" until {item.until.date().isoformat()}" if item.until else ""
        said += f"\n(superseded{until}{', retracted' if item.retracted else ''})"
    return said


def _stages(trace: RecallTrace) -> Table:
    table = Table(title="Stages")
    table.add_column("stage")
    table.add_column("memories", justify="right")
    table.add_column("ms", justify="right")
    for name, stage in trace.stages.items():
        table.add_row(name, f"{stage['count']}" if "count" in stage else "", f"{stage['ms']:.1f}")
    return table


def _candidates(trace: RecallTrace) -> Table:
    table = Table(title="Candidates, and what each signal added to their scores")
    for heading in ("", "kind", "id", "signals"):
        table.add_column(heading)
    for heading in ("sum", "adjusted", "score"):
        table.add_column(heading, justify="right")
    table.add_column("cut")
    for line in trace.candidates:
        signals = line["signals"]
        added = [f"{name.replace('_', ' ')} {signals[name]:.2f}" for name in SIGNALS if signals.get(name)]
        table.add_row(
            f"{line['rank']}",
            line["kind"],
            line["id"][:8],
            ", ".join(added),
            f"{signals['fused']:.2f}",
            f"x {signals['adjustment']:.2f}",
            f"{line['score']:.2f}",
            line["cut"],
        )
    return table


def _as_json(answer: Recall, trace: RecallTrace | None) -> dict[str, Any]:
    answered: dict[str, Any] = {
        "query": answer.query,
        "trace": str(answer.trace_id),
        "degraded": answer.degraded,
        "took_ms": answer.took_ms,
        "as_of": answer.as_of.isoformat() if answer.as_of else None,
        "items": [_item_as_json(item) for item in answer.items],
    }
    if trace is not None:
        answered |= {"stages": trace.stages, "candidates": trace.candidates}
    return answered


def _item_as_json(item: Recalled) -> dict[str, Any]:
    return {
        "kind": item.kind.value,
        "id": str(item.id),
        "text": item.text,
        "title": item.title,
        "key": item.key,
        "speaker": item.speaker,
        "trigger": item.trigger,
        "steps": list(item.steps),
        "status": item.status.value,
        "since": item.since.isoformat() if item.since else None,
        "until": item.until.isoformat() if item.until else None,
        "superseded_by": str(item.superseded_by) if item.superseded_by else None,
        "score": round(item.score, 4),
        "reasons": list(item.reasons),
    }
