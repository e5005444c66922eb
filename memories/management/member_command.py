"""What commands on one member's memory share: finding the member, errors as sentences, progress, a warm index.

A command that fails writes one sentence to standard error and ends with code 1. Standard output holds only the result,
so it can be piped.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memories.errors import MemoriesError
from memories.hygiene.sensitivity.findings import noun
from memories.search.documents import batches, encode_missing, rows_of
from memories.search.outbox import drain
from memories.services.portability.imports import Advance, ImportReport
from memories.types import Owner, SensitiveKind
from tenants.errors import NoMembership, TenantsError
from tenants.principal import Principal
from tenants.principals import system_principal
from tenants.selectors import find_membership

# Places that a report for people lists; one for machines has all.
MOST_PLACES = 50


class MemberCommand(BaseCommand):
    """A command for one member, named by --tenant and --user; the system acts for them."""

    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who it is about; subclasses add the rest."""
        parser.add_argument("--tenant", required=True, help="slug or id of the tenant")
        parser.add_argument("--user", required=True, help="username, e-mail address, external id or id of the member")

    @abstractmethod
    def run(self, principal: Principal, options: Mapping[str, Any]) -> None:
        """Do it for this member."""

    def handle(self, **options: Any) -> None:
        """Find the member and run; errors become sentences."""
        with sentences():
            self.run(member(options["tenant"], options["user"]), options)

    def answer(self, options: Mapping[str, Any], numbers: Mapping[str, object], sentence: str) -> None:
        """Print the numbers as JSON if asked, else the sentence."""
        self.stdout.write(json.dumps(numbers) if options["json"] else sentence)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn the errors that are raised on purpose, and those of files, into one sentence and exit code 1."""
    try:
        yield
    except (MemoriesError, TenantsError) as error:
        raise CommandError(str(error)[:1].upper() + str(error)[1:]) from error
    except BrokenPipeError:
        raise  # whoever reads has enough: manage.py ends
    except OSError as error:
        raise CommandError(f"{error.filename or 'The file'}: {error.strerror or error}.") from error


def member(tenant: str, user: str) -> Principal:
    """The system acting for this member. Raises CommandError, which names nobody else."""
    try:
        return system_principal(find_membership(tenant, user))
    except NoMembership as error:
        raise CommandError(
            f"There is no active member {user!r} in a tenant {tenant!r}. Name the tenant by its slug or id, and the "
            "user by username, e-mail address, external id or id."
        ) from error


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Advance]:
    """A progress bar on standard error, if that is a terminal; None: how much there is to do is not known."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)

        def advance(done: int) -> None:
            bar.advance(task, done)

        yield advance


def warm_index(principal: Principal, added: int, *, shared: bool = False) -> int:
    """Encode what the owner has new and carry it to the search plane; return how many changes still wait.

    `shared` does the same for what the tenant shares. What waits is tried again by whoever drains next; recall finds it
    meanwhile among the just-written.
    """
    owners = [Owner(principal.tenant_id, principal.user_id)]
    if shared:
        owners.append(Owner(principal.tenant_id, None))
    waiting = 0
    with progress("Encoding for search", added) as advance:
        for owner in owners:
            for batch in batches(rows_of(owner, without_vector=True)):
                advance(encode_missing(batch))
            waiting += drain(owner=owner).failed
    return waiting


def remarks(report: ImportReport, waiting: int) -> str:
    """What else there is to say of an import, to people; empty for a plain one."""
    counts = (
        (report.merged, "said what was remembered already and were merged."),
        (report.known, "were here already."),
        (report.forgotten, "were left out: their owner had them erased."),
        (report.masked, "were stored without a value that must not be stored; a label stands in its place."),
        (waiting, "still wait for the search index, which did not take them; recall finds them meanwhile."),
    )
    return "".join(f" {count:,} {what}" for count, what in counts if count) + _left_out(report)


def _left_out(report: ImportReport) -> str:
    """What holds something that is not stored: each place on a line of its own, with the kinds."""
    if not report.left_out:
        return ""
    lines = [
        f"  {each.place}: {', '.join(noun(SensitiveKind(kind)) for kind in each.kinds)}" for each in report.left_out
    ]
    first = f"\n{len(lines):,} were left out: they hold what is not stored. Take it out and import them again."
    more = len(lines) - MOST_PLACES
    rest = [f"  and {more:,} more"] if more > 0 else []
    return "\n".join([first, *lines[:MOST_PLACES], *rest])
