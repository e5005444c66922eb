"""Reads people from a file: a CSV with a head of `name,email,user_id,role,active`, in any order.

Only rows with a `user_id` or an `email` name somebody: the id of the tenant's own system, or else the address, says who
they are, so a second run changes nothing. Either every row is taken or none. A column may also be named as the list of
members names it, in any case, such as `External id` for `user_id`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from tenants.errors import Forbidden, InvalidValue
from tenants.people import DirectoryEntry, KnownMember, add_person, change_person, people_of
from tenants.principal import SYSTEM, Actor, Role

MAX_ROWS, MAX_CHARACTERS = 10_000, 2_000_000
_COLUMNS = ("name", "email", "user_id", "role", "active")
# Other names of columns, by their letters.
_SHOWN_AS = {
    "displayname": "name",
    "member": "name",
    "emailaddress": "email",
    "userid": "user_id",
    "externalid": "user_id",
    "isactive": "active",
}
_TRUTH = {"": None, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class PeopleRow:
    """What became of a row, or would: `added`, `changed` or `unchanged`; `details` are the new values of what changed.

    `membership` is the member, while the import stays.
    """

    line: int
    who: str
    what: str
    details: tuple[str, ...] = ()
    membership: UUID | None = None


@dataclass(slots=True)
class PeopleReport:
    """What an import did, or would do: rows by what became of them, and the faults by line."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)
    rows: list[PeopleRow] = field(default_factory=list, compare=False)


def import_people(tenant_id: UUID, text: str, *, dry_run: bool = False, actor: Actor = SYSTEM) -> PeopleReport:
    """Add and change the people of a CSV; nobody if a row has a fault, or if this is a dry run.

    People who are not in the file stay as they are. Without a value, a name, address, role or state stays, too.
    """
    report = PeopleReport()
    rows = _rows(text, report)
    with transaction.atomic():
        known = {each.external_id or each.known_as.lower(): each for each in people_of(tenant_id)}
        for line, row in rows:
            try:
                with transaction.atomic():
                    member = known.get(row["user_id"] or row["email"].lower())
                    done = _take(tenant_id, member, line, row, actor)
            except InvalidValue as error:
                named = {"external_id": "user_id", "user_name": "email"}.get(error.field, error.field)
                report.faults.append((line, f"{named}: {error.reason}"))
            except Forbidden as error:
                report.faults.append((line, str(error)))
            else:
                setattr(report, done.what, getattr(report, done.what) + 1)
                report.rows.append(done)
        if dry_run or report.faults:
            transaction.set_rollback(True)
    report.faults.sort()
    return report


def _take(tenant_id: UUID, member: KnownMember | None, line: int, row: dict[str, str], actor: Actor) -> PeopleRow:
    who = row["name"] or row["email"] or row["user_id"]
    role = Role(row["role"]) if row["role"] else None
    active = _TRUTH[row["active"].lower()]
    if member is None:
        person = DirectoryEntry(
            row["email"] or row["user_id"], row["user_id"], row["name"], row["email"], active is not False, role
        )
        made = add_person(tenant_id, person, actor=actor)
        return PeopleRow(line, who, "added", _details(person), made.pk)
    before = _as_person(member)
    after = DirectoryEntry(
        user_name=row["email"] or before.user_name,
        external_id=before.external_id,
        name=row["name"] or before.name,
        email=row["email"] or before.email,
        active=before.active if active is None else active,
        role=role or before.role,
    )
    if after == before:
        return PeopleRow(line, who, "unchanged", membership=member.pk)
    change_person(member, after, actor=actor)
    return PeopleRow(line, who, "changed", _details(after, before), member.pk)


def _details(after: DirectoryEntry, before: DirectoryEntry | None = None) -> tuple[str, ...]:
    """The values that somebody gets, those of `before` left out."""
    shown = {
        "name": after.name,
        "email": after.email,
        "role": after.role or Role.MEMBER,
        "active": "" if after.active else _("deactivated"),
    }
    if before is not None:
        shown["active"] = _("active") if after.active else _("deactivated")
        shown = {name: value for name, value in shown.items() if getattr(after, name) != getattr(before, name)}
    return tuple(str(value) for value in shown.values() if value)


def _as_person(member: KnownMember) -> DirectoryEntry:
    return DirectoryEntry(
        user_name=member.known_as,
        external_id=member.external_id,
        name=member.user.display_name,
        email=member.user.email,
        active=member.is_active,
        role=Role(member.role),
    )


def _rows(text: str, report: PeopleReport) -> list[tuple[int, dict[str, str]]]:
    """The rows with the lines on which they end; faults go to the report."""
    if len(text) > MAX_CHARACTERS:
        report.faults.append((1, _("The file is too long: at most %d characters.") % MAX_CHARACTERS))
        return []
    text = text.removeprefix("\ufeff")
    first, _newline, _rest = text.partition("\n")
    delimiter = ";" if ";" in first and "," not in first else ","  # as spreadsheets write where "," is a decimal point
    reader = csv.DictReader(io.StringIO(text), strict=True, delimiter=delimiter)
    found: list[tuple[int, dict[str, str]]] = []
    try:
        named = [(name or "").strip() for name in reader.fieldnames or []]
        head = reader.fieldnames = [_column(name) for name in named]
        if faults := _head_faults(named, head):
            report.faults += [(1, fault) for fault in faults]
            return []
        for row in reader:
            if None in row or None in row.values():
                report.faults.append((reader.line_num, _("Has not as many values as the first line has columns.")))
                continue
            values = dict.fromkeys(_COLUMNS, "") | {name: value.strip() for name, value in row.items()}
            if any(values.values()):
                found.append((reader.line_num, values))
    except csv.Error as error:
        report.faults.append((reader.line_num + 1, _("Is no CSV: %s.") % error))
    if len(found) > MAX_ROWS:
        report.faults.append((1, _("Has too many rows: at most %d.") % MAX_ROWS))
        return []
    names = Counter(row["user_id"] or row["email"].lower() for _line, row in found)
    good = []
    for line, row in found:
        if faults := _faults(row, names):
            report.faults += [(line, fault) for fault in faults]
        else:
            good.append((line, row))
    return good


def _column(name: str) -> str:
    """The column that a name in the first line means; the letters of an unknown one."""
    shown = {
        _("Display name"): "name",
        _("E-mail"): "email",
        _("external id"): "user_id",
        _("Role"): "role",
        _("Active"): "active",
    }
    by_letters = _SHOWN_AS | {_letters(each): column for each, column in shown.items()}
    return by_letters.get(_letters(name), _letters(name))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _head_faults(named: list[str], head: list[str]) -> list[str]:
    faults = []
    if unknown := [name for name, column in zip(named, head, strict=True) if column not in _COLUMNS]:
        names = ", ".join(name or "“”" for name in unknown)
        faults.append(
            _("The first line names columns that are not known: %(unknown)s. Known are: %(columns)s.")
            % {"unknown": names, "columns": ", ".join(_COLUMNS)}
        )
    faults += [
        _("The first line names the column %s more than once.") % column
        for column in _COLUMNS
        if head.count(column) > 1
    ]
    if not {"email", "user_id"} & set(head):
        faults.append(_("The first line needs a column email or user_id."))
    return faults


def _faults(row: dict[str, str], names: Counter[str]) -> list[str]:
    who = row["user_id"] or row["email"].lower()
    faults = []
    if not who:
        faults.append(_("Needs a user_id or an email."))
    elif names[who] > 1:
        faults.append(_("Is in the file more than once: %s.") % who)
    if row["role"] and row["role"] not in Role.values:
        choices = {"role": row["role"], "roles": ", ".join(Role.values)}
        faults.append(_("There is no role %(role)s: choose one of %(roles)s.") % choices)
    if row["active"].lower() not in _TRUTH:
        faults.append(_("active: write yes or no."))
    try:
        validate_email(row["email"] or "nobody@example.org")
    except ValidationError:
        faults.append(_("email: is no e-mail address."))
    return faults
