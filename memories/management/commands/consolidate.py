"""`manage.py consolidate`: turn a member's episodes into facts and playbooks now, list the runs, or run one again."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rich.box import SIMPLE_HEAD
from rich.console import Console
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
    """Ends with code 1 if the model failed; what waits then is tried again by the sweep."""

    help = "Consolidate a member's episodes; --runs lists the runs, --show one of them, --rerun reads one again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--runs", action="store_true", help=f"list the last {SHOWN} runs and what waits")
        action.add_argument("--show", type=UUID, metavar="RUN", help="show the decisions of a run and their reasons")
        action.add_argument("--rerun", type=UUID, metavar="RUN", help="read the episodes of a run once more")
        parser.add_argument("--batch", type=int, default=CONSOLIDATION_BATCH, help="episodes a run (%(default)s)")
        parser.add_argument("--json", action="store_true", help="print as JSON")

    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        if not 1 <= options["batch"] <= _MOST:
            raise InvalidInput("--batch", f"must be between 1 and {_MOST:,}.")
        if options["runs"]:
            self._list(principal, as_json=options["json"])
        elif options["show"]:
            self._show(get_run(principal, options["show"]), as_json=options["json"])
        elif options["rerun"]:
            self._report(rerun(principal, options["rerun"]), options)
        else:
            self._report(consolidate(principal, batch=options["batch"]), options)

    def _report(self, report: RunReport, options: Mapping[str, Any]) -> None:
        numbers = {
            "runs": [str(run_id) for run_id in report.runs],
            "episodes": report.episodes,
            "decisions": report.decisions,
            "given_up": report.given_up,
            "waiting": report.waiting,
            "error": report.error,
        }
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.decisions.items())) or "nothing new"
        sentence = f"{_episodes(report.episodes)} consolidated: {told}. {report.waiting} wait."
        if report.given_up:
            sentence += f" {report.given_up} given up; --runs shows the failed runs, --rerun reads one again."
        self.answer(options, numbers, f"{sentence} {report.error}".rstrip())
        if report.error and (report.waiting or report.given_up):
            raise SystemExit(1)

    def _list(self, principal: Principal, *, as_json: bool) -> None:
        backlog = backlog_of(principal)
        runs = list(list_runs(principal)[:SHOWN])
        if as_json:
            since = backlog.since.isoformat() if backlog.since else None
            self.stdout.write(
                json.dumps({"waiting": backlog.waiting, "since": since, "runs": [_line(run) for run in runs]})
            )
            return
        table = Table(_id("run"), "began", "state", "read", "stored", box=SIMPLE_HEAD, pad_edge=False)
        for run in runs:
            line = _line(run)
            state = "given up" if run.given_up else line["state"]
            table.add_row(
                str(run.pk), f"{run.started_at:%d %b %H:%M}", state, str(line["episodes"]), str(line["stored"])
            )
        faults = [f"{run.started_at:%d %b %H:%M}  {run.error}" for run in runs if run.error]
        self._print(table, "\n".join([*faults, f"{_episodes(backlog.waiting)} waiting."]))

    def _show(self, run: ConsolidationRun, *, as_json: bool) -> None:
        if as_json:
            shown = _line(run) | {"input": run.input, "decisions": run.decisions, "output": run.output}
            self.stdout.write(json.dumps(shown, ensure_ascii=False))
            return
        table = Table("what", "verdict", _id("memory"), "reason", box=SIMPLE_HEAD, pad_edge=False)
        for line in run.decisions:
            replaced = f", {len(line['superseded_ids'])} replaced" if line["superseded_ids"] else ""
            table.add_row(line["what"], line["verdict"], line["memory_id"] or "", f"{line['reason']}{replaced}")
        decided = f"{len(run.decisions)} decision{'' if len(run.decisions) == 1 else 's'} by {run.extractor}."
        self._print(table, run.error or decided)

    def _print(self, table: Table, sentence: str) -> None:
        console = Console()
        with console.capture() as captured:
            if table.row_count:
                console.print(table)
        self.stdout.write(f"{captured.get()}{sentence}")


def _id(header: str) -> Column:
    """Ids are there to be copied: they stay whole in however narrow a terminal."""
    return Column(header, no_wrap=True, min_width=UUID_CHARACTERS)


def _episodes(number: int) -> str:
    return f"{number} episode{'' if number == 1 else 's'}"


def _line(run: ConsolidationRun) -> dict[str, Any]:
    verdicts = [line["verdict"] for line in run.decisions]
    return {
        "id": str(run.pk),
        "state": RunState(run.state).value,
        "given_up": run.given_up,
        "trigger": run.trigger,
        "extractor": run.extractor,
        "started_at": run.started_at.isoformat(),
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
        "episodes": len(run.input.get("episodes", ())),
        "stored": len(verdicts) - verdicts.count("known") - verdicts.count("refused"),
        "known": verdicts.count("known"),
        "refused": verdicts.count("refused"),
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": str(run.cost) if run.cost is not None else None,
        "rerun_of": str(run.rerun_of_id) if run.rerun_of_id else None,
        "error": run.error,
    }
