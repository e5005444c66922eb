"""`manage.py consolidate`: turn a member's episodes into facts and playbooks now, list the runs, or repeat one."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from memories.constants import CONSOLIDATION_BATCH
from memories.errors import InvalidInput
from memories.management.member_command import MemberCommand
from memories.models import ConsolidationRun, RunState
from memories.selectors.runs import backlog_of, get_run, list_runs
from memories.services.consolidation import RunReport, consolidate, rerun
from tenants.principal import Principal

SHOWN = 20
UUID_CHARACTERS = 36
_MOST = 10_000


class Command(MemberCommand):
    """Exits with code 1 if the model failed; the sweep retries the episodes still waiting."""

    help = "Consolidate a member's episodes; --runs lists the runs, --show one of them, --rerun reads one again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--runs", action="store_true", help=f"list the last {SHOWN} runs and what waits")
        action.add_argument("--show", type=UUID, metavar="RUN", help="show the decisions of a run and their reasons")
        action.add_argument("--rerun", type=UUID, metavar="RUN", help="read the episodes of a run once more")
        parser.add_argument("--batch", type=int, default=CONSOLIDATION_BATCH, help="episodes a run (%(default)s)")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        if not 1 <= options["batch"] <= _MOST:
            raise InvalidInput("--batch", f"must be between 1 and {_MOST:,}.")
        if options["runs"]:
            self._list(principal, options)
        elif options["show"]:
            self._show(get_run(principal, options["show"]), options)
        elif options["rerun"]:
            self._tell(rerun(principal, options["rerun"]), options)
        else:
            self._tell(consolidate(principal, batch=options["batch"]), options)

    def _tell(self, report: RunReport, options: Mapping[str, Any]) -> None:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.decisions.items())) or "nothing new"
        sentence = f"{_episodes(report.episodes)} consolidated: {told}. {report.waiting} wait."
        if report.given_up:
            sentence += f" {report.given_up} given up; --runs shows the failed runs, --rerun reads one again."
        self.answer(options, report, f"{sentence} {report.error}".rstrip())
        if report.error and (report.waiting or report.given_up):
            raise SystemExit(1)

    def _list(self, principal: Principal, options: Mapping[str, Any]) -> None:
        backlog = backlog_of(principal)
        lines = [_line(run) for run in list_runs(principal)[:SHOWN]]
        table = Table(_id("run"), "began", "state", "read", "stored", box=SIMPLE_HEAD, pad_edge=False)
        faults = []
        for line in lines:
            began, state = f"{line['started_at']:%d %b %H:%M}", "given up" if line["given_up"] else line["state"]
            table.add_row(line["id"], began, state, str(line["episodes"]), str(line["stored"]))
            faults += [f"{began}  {line['error']}"] if line["error"] else []
        numbers = {"waiting": backlog.waiting, "since": backlog.since, "runs": lines}
        tables = [table] if lines else []
        self.answer(options, numbers, *tables, *faults, f"{_episodes(backlog.waiting)} waiting.")

    def _show(self, run: ConsolidationRun, options: Mapping[str, Any]) -> None:
        table = Table("what", "verdict", _id("memory"), "reason", box=SIMPLE_HEAD, pad_edge=False)
        for line in run.decisions:
            replaced = f", {len(line['superseded_ids'])} replaced" if line["superseded_ids"] else ""
            table.add_row(line["what"], line["verdict"], line["memory_id"] or "", f"{line['reason']}{replaced}")
        decided = f"{len(run.decisions)} decision{'' if len(run.decisions) == 1 else 's'} by {run.extractor}."
        shown = _line(run) | {"input": run.input, "decisions": run.decisions, "output": run.output}
        self.answer(options, shown, *([table] if run.decisions else []), run.error or decided)


def _id(header: str) -> Column:
    """Return a column that never truncates ids, so that they can be copied in a narrow terminal."""
    return Column(header, no_wrap=True, min_width=UUID_CHARACTERS)


def _episodes(number: int) -> str:
    return f"{number} episode{'' if number == 1 else 's'}"


_COLUMNS = (
    "given_up",
    "trigger",
    "extractor",
    "started_at",
    "ended_at",
    "input_tokens",
    "output_tokens",
    "cost",
    "error",
)


def _line(run: ConsolidationRun) -> dict[str, Any]:
    verdicts = Counter(line["verdict"] for line in run.decisions)
    return {name: getattr(run, name) for name in _COLUMNS} | {
        "id": str(run.pk),
        "state": RunState(run.state).value,
        "episodes": len(run.input.get("episodes", ())),
        "stored": verdicts.total() - verdicts["known"] - verdicts["refused"],
        "known": verdicts["known"],
        "refused": verdicts["refused"],
        "rerun_of": run.rerun_of_id,
    }
