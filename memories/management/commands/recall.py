"""`manage.py recall QUERY`: recall a member's memories and, with --explain, show how they were chosen."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.table import Column, Table

from memories.constants import DEFAULT_RECALL_LIMIT
from memories.management.member_command import MemberCommand, number
from memories.models import RecallTrace
from memories.recall import recording
from memories.recall.adjust import SIGNALS
from memories.recall.pipeline import recall
from memories.types import ALL_KINDS, Kind, Recall, Recalled, Status
from tenants.principal import Principal


class Command(MemberCommand):
    """Recalls as the system on behalf of this member; records a trace like every recall."""

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
        answered = {name: getattr(answer, name) for name in ("query", "degraded", "took_ms", "as_of")}
        answered |= {"trace": answer.trace_id, "items": [_item_as_json(item) for item in answer.items]}
        shown: list[str | Table] = [_items(answer) if answer.items else "Nothing was found."]
        if answer.external:
            answered["external"] = [asdict(record) for record in answer.external]
            shown += [
                f"{record.source}: {record.title or 'Untitled'} {record.url}".strip() for record in answer.external
            ]
        if answer.degraded:
            shown.insert(0, "The search index did not answer; this is what the database alone could find.")
        if trace is not None:
            answered |= {"stages": trace.stages, "candidates": trace.candidates}
            shown += [_stages(trace), _candidates(trace)]
        self.answer(options, answered, *shown)


def _kinds(listed: str) -> tuple[Kind, ...]:
    try:
        return tuple(ALL_KINDS[ALL_KINDS.index(Kind(name.strip()))] for name in listed.split(","))
    except ValueError:
        raise ArgumentTypeError(f"name kinds out of {', '.join(ALL_KINDS)}, separated by commas") from None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("write a time such as 2024-03-01 or 2024-03-01T12:00:00+01:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _items(answer: Recall) -> Table:
    title = f"Recalled {len(answer.items)} in {answer.took_ms:.0f} ms"
    headings = (number(""), "kind", Column("memory", ratio=1), "since", "why", number("score"))
    table = Table(*headings, title=title, show_lines=True)
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
    table = Table("stage", number("memories"), number("ms"), title="Stages")
    for name, stage in trace.stages.items():
        table.add_row(name, f"{stage['count']}" if "count" in stage else "", f"{stage['ms']:.1f}")
    return table


def _candidates(trace: RecallTrace) -> Table:
    headings: tuple[str | Column, ...] = (
        "",
        "kind",
        "id",
        "signals",
        *map(number, ("sum", "adjusted", "score")),
        "cut",
    )
    table = Table(*headings, title="Candidates, and what each signal added to their scores")
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


_SHOWN = (
    "kind", "id", "text", "title", "key", "speaker", "trigger", "steps", "status", "since", "until", "superseded_by",
    "reasons",
)  # fmt: skip


def _item_as_json(item: Recalled) -> dict[str, Any]:
    return {name: getattr(item, name) for name in _SHOWN} | {"score": round(item.score, 4)}
