"""`manage.py index rebuild|check|drain|expunge|embed`: maintain the search index as a copy of the database."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from memories.management.member_command import ReportCommand, member, progress
from memories.search import search_plane
from memories.search.checking import CheckReport, IndexDifference, check, expunge, owners
from memories.search.outbox import DrainReport, backlog, drain, rebuild_all, rebuild_owner, set_aside
from memories.search.reembedding import embed_all, embedding_progress, owners_to_embed
from memories.types import Owner
from memoryhub.installation import PROGRAM
from memoryhub.jobs import Unavailable

# Differences listed in the text output; JSON contains all.
MAX_LISTED = 20


class Command(ReportCommand):
    """Covers all owners, or one member and what their tenant shares. Prints ids, never a text."""

    help = "Rebuild the search index from the database, compare the two, or carry over what is waiting."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, text in (
            ("rebuild", "fill the index anew from the database"),
            ("check", "compare index and database row by row; exit code 1 if they differ"),
            ("drain", "carry the changes that are waiting to the index"),
            ("expunge", "take what was removed off the disk of the search cluster"),
            ("embed", "show how many memories have a vector of the configured encoder"),
        ):
            action = actions.add_parser(name, help=text)
            super().add_arguments(action)
            if name in ("rebuild", "check"):
                action.add_argument("--tenant", help="slug or id of a tenant, with --user")
                action.add_argument("--user", help="only this member, and what their tenant shares")
            if name == "embed":
                action.add_argument("--now", action="store_true", help="re-embed the others now, before it is shown")
            if name == "check":
                action.add_argument("--repair", action="store_true", help="rebuild what differs")

    def report(self, options: dict[str, Any]) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _rebuild(self, options: dict[str, Any]) -> None:
        chosen = _chosen(options)
        watched = _watched(chosen, "Rebuilding")
        count = sum(map(rebuild_owner, watched)) if options["user"] else rebuild_all(watched)
        numbers = {"owners": len(chosen), "memories": count}
        self.answer(options, numbers, f"Rebuilt {len(chosen):,} parts of the index with {count:,} memories.")

    def _check(self, options: dict[str, Any]) -> None:
        search_plane().settle()
        reports = [check(owner) for owner in _watched(_chosen(options), "Comparing")]
        differing = [report for report in reports if not report.ok]
        repaired = 0
        if options["repair"] and differing:
            for report in differing:
                rebuild_owner(report.differences[0].owner)
            search_plane().settle()
            repaired = sum(check(report.differences[0].owner).ok for report in differing)
        self._tell(options, reports, repaired)
        if len(differing) > repaired:
            sys.exit(1)

    def _tell(self, options: dict[str, Any], reports: Sequence[CheckReport], repaired: int) -> None:
        differences = [difference for report in reports for difference in report.differences]
        rows, waiting = sum(report.rows for report in reports), sum(report.waiting for report in reports)
        numbers = {
            "ok": not differences,
            "owners": len(reports),
            "rows": rows,
            "waiting": waiting,
            "repaired": repaired,
            "differences": [_as_json(difference) for difference in differences],
        }
        verdict = f"{len(differences):,} differences" if differences else "Index and database agree"
        lines = [_sentence(difference) for difference in differences[:MAX_LISTED]]
        if len(differences) > MAX_LISTED:
            lines.append(f"and {len(differences) - MAX_LISTED:,} more")
        lines.append(f"{verdict}: {rows:,} rows of {len(reports):,} owners, {waiting:,} still waiting to be indexed.")
        if repaired:
            lines.append(f"Rebuilt {repaired:,} parts.")
        if options["repair"] and len([report for report in reports if not report.ok]) > repaired:
            lines.append(f"Some still differ; `{PROGRAM} index rebuild` makes the whole index anew.")
        self.answer(options, numbers, *lines)

    def _drain(self, options: dict[str, Any]) -> None:
        total = backlog()
        report = DrainReport()
        with progress("Indexing", total) as advance:
            while (step := drain(limit=1000)) != DrainReport():
                report += step
                advance(step.delivered + step.failed)
        waiting, aside = backlog(), set_aside()
        sentence = f"Carried {report.delivered:,} changes to the index; {waiting:,} are still waiting."
        if aside:
            sentence += (
                f" {aside:,} were set aside; once the reason is mended, `{PROGRAM} index check --repair` carries them."
            )
        self.answer(options, asdict(report) | {"waiting": waiting, "set_aside": aside}, sentence)
        if report.failed:
            sys.exit(1)

    def _expunge(self, options: dict[str, Any]) -> None:
        expunge()
        sentence = "What was removed more than half a minute ago is off the disk of the index."
        self.answer(options, {"expunged": True}, sentence)

    def _embed(self, options: dict[str, Any]) -> None:
        before = embedding_progress()
        if options["now"]:
            try:
                with progress("Embedding", before.memories - before.embedded) as advance:
                    embed_all(advance)
            except Unavailable as error:
                raise CommandError(f"{error} What is done is kept: repeat this to go on.") from None
        after, waiting = embedding_progress(), len(owners_to_embed())
        sentence = (
            f"{after.embedded:,} of {after.memories:,} memories ({after.share:.1%}) have a vector of {after.encoder};"
            f" {waiting:,} owners wait to be re-embedded."
        )
        self.answer(options, asdict(after) | {"owners_waiting": waiting}, sentence)


def _chosen(options: dict[str, Any]) -> list[Owner]:
    if options["user"] is None and options["tenant"] is None:
        return owners()
    if not (options["user"] and options["tenant"]):
        raise CommandError("Give --tenant and --user together, or neither.")
    principal = member(options["tenant"], options["user"])
    return [Owner(principal.tenant_id, principal.user_id), Owner(principal.tenant_id, None)]


def _watched(chosen: Sequence[Owner], what: str) -> Iterable[Owner]:
    with progress(what, len(chosen)) as advance:
        for owner in chosen:
            yield owner
            advance(1)


def _sentence(difference: IndexDifference) -> str:
    if difference.id is None:
        named = difference.owner.user_id or difference.owner.tenant_id or "global"
        return f"owner {named}: {difference.problem.value}."
    return f"{difference.kind} {difference.id}: {difference.problem.value}."


def _as_json(difference: IndexDifference) -> dict[str, object]:
    return {
        "tenant": difference.owner.tenant_id,
        "user": difference.owner.user_id,
        "kind": difference.kind,
        "id": difference.id,
        "problem": difference.problem,
    }
