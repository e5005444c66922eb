"""Base classes of commands: finding a member, text or JSON output, errors as sentences, progress, indexing.

A command that fails writes one sentence to standard error and exits with code 1. Standard output holds only the result,
so it can be piped.
"""

from __future__ import annotations

import functools
import json
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.text import capfirst
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from memories.errors import MemoriesError
from memories.hygiene.sensitivity.findings import noun
from memories.search.documents import batches, encode_missing, rows_of
from memories.search.outbox import drain
from memories.services.portability.imports import Advance, ImportReport
from memories.types import Owner, SensitiveKind
from memoryhub.jobs import Unavailable
from memoryhub.leases import halved
from tenants.errors import NoMembership, TenantsError
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.selectors import find_membership

# Places listed in a report for people; JSON contains all.
MOST_PLACES = 50


class ReportCommand(BaseCommand):
    """A command that prints sentences or, with --json, one JSON object."""

    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --json; subclasses add their own arguments."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    @abstractmethod
    def report(self, options: dict[str, Any]) -> None:
        """Run the command. Its errors are printed as sentences."""

    def handle(self, **options: Any) -> None:
        """Call `report` and convert its errors to sentences."""
        with sentences():
            self.report(options)

    def answer(self, options: Mapping[str, Any], numbers: object, *parts: str | Table) -> None:
        """Print `numbers` as JSON if --json was given, else the sentences and tables."""
        self.stdout.write(as_json(numbers) if options["json"] else rendered(*parts), ending="")


class MemberCommand(ReportCommand):
    """A command for one member, named by --tenant and --user, on whose behalf the system acts."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the member's arguments and --json; subclasses add their own."""
        name_member(parser)
        super().add_arguments(parser)

    @abstractmethod
    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        """Run the command for this member."""

    def report(self, options: dict[str, Any]) -> None:
        """Find the member and call `run`."""
        self.run(member(options["tenant"], options["user"]), options)


def name_member(parser: ArgumentParser) -> None:
    """Add the arguments --tenant and --user."""
    parser.add_argument("--tenant", required=True, help="slug or id of the tenant")
    parser.add_argument("--user", required=True, help="username, e-mail address, external id or id of the member")


# A right-aligned column for numbers.
number = functools.partial(Column, justify="right")


def as_json(value: object) -> str:
    """Encode as one line of JSON: dataclasses by their fields, times as ISO 8601, ids and decimals as strings."""
    return json.dumps(value, ensure_ascii=False, default=_plain) + "\n"


def _plain(value: Any) -> object:
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value.isoformat() if isinstance(value, datetime) else str(value)


def rendered(*parts: str | Table) -> str:
    """Render sentences, one per line, and tables as wide as the terminal."""
    console = Console()
    with console.capture() as captured:
        for part in parts:
            console.print(part) if isinstance(part, Table) else console.out(part, highlight=False)
    return captured.get()


@contextmanager
def sentences() -> Iterator[None]:
    """Convert the product's own errors and file errors to CommandError with one sentence."""
    try:
        yield
    except (MemoriesError, TenantsError, Unavailable) as error:
        raise CommandError(capfirst(str(error))) from error
    except BrokenPipeError:
        raise  # the reader closed the pipe: manage.py ends
    except OSError as error:
        raise CommandError(f"{error.filename or 'The file'}: {error.strerror or error}.") from error


def member(tenant: str, user: str) -> Principal:
    """Return a system principal for this member. Raises CommandError, which names no other member."""
    try:
        return system_principal(find_membership(tenant, user))
    except NoMembership as error:
        raise CommandError(
            f"There is no active member {user!r} in a tenant {tenant!r}. Name the tenant by its slug or id, and the "
            "user by username, e-mail address, external id or id."
        ) from error


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Advance]:
    """Show a progress bar on standard error if that is a terminal; `total` is None if it is unknown."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)

        def advance(done: int) -> None:
            bar.advance(task, done)

        yield advance


def warm_index(principal: Principal, added: int, *, shared: bool = False) -> int:
    """Encode the owner's new memories and deliver them to the search plane; return the number still waiting.

    `shared` includes the tenant's shared memories. Undelivered changes are retried by the next drain; until then recall
    finds them in the outbox.
    """
    owners = [Owner(principal.tenant_id, principal.user_id)]
    if shared:
        owners.append(Owner(principal.tenant_id, None))
    waiting = 0
    with progress("Encoding for search", added) as advance:
        for owner in owners:
            with suppress(Unavailable):  # the drain counts what an endpoint did not encode
                for batch in batches(rows_of(owner, without_vector=True)):
                    halved(batch, encode_missing, lambda *_: None)  # the drain shows what cannot be encoded
                    advance(len(batch))
            waiting += drain(owner=owner).failed
    return waiting


def counts(report: ImportReport, waiting: int) -> dict[str, object]:
    """Return the numbers that both imports report in JSON."""
    numbers = {name: getattr(report, name) for name in ("known", "forgotten", "masked")}
    return {**numbers, "waiting_for_index": waiting}


def remarks(report: ImportReport, waiting: int) -> str:
    """Return further remarks on an import for people; empty if there are none."""
    counts = (
        (report.merged, "said what was remembered already and were merged."),
        (report.known, "were here already."),
        (report.forgotten, "were left out: their owner had them erased."),
        (report.masked, "were stored without a value that must not be stored; a label stands in its place."),
        (waiting, "still wait for the search index, which did not take them; recall finds them meanwhile."),
    )
    return "".join(f" {count:,} {what}" for count, what in counts if count) + _left_out(report)


def _left_out(report: ImportReport) -> str:
    """List the records that were refused for sensitive values, one line each, with the kinds."""
    if not report.left_out:
        return ""
    lines = [
        f"  {each.place}: {', '.join(noun(SensitiveKind(kind)) for kind in each.kinds)}" for each in report.left_out
    ]
    first = f"\n{len(lines):,} were left out: they hold what is not stored. Take it out and import them again."
    more = len(lines) - MOST_PLACES
    rest = [f"  and {more:,} more"] if more > 0 else []
    return "\n".join([first, *lines[:MOST_PLACES], *rest])
