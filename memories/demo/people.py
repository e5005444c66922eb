"""Who is in the demo. All of them are invented, and all sign in with the same password."""

from __future__ import annotations

from dataclasses import dataclass

from tenants.principal import Role

PASSWORD = "memoryhub-demo"  # noqa: S105 - it is printed; the demo never runs in production
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Company:
    """A tenant; its catalog is `content/<slug>/catalog.jsonl`."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Person:
    """A user with one role in each of `companies`.

    `story` and `records` name files of `content/<first company>/`: what they said here, and what was imported of them.
    Without a login they are known by `external_id` alone.
    """

    username: str
    name: str
    role: Role
    companies: tuple[str, ...]
    note: str
    story: str = ""
    records: str = ""
    external_id: str = ""
    signs_in: bool = True


COMPANIES = (
    Company("quill-lane", "Quill Lane Cycles"),
    Company("voltara", "Voltara"),
)

PEOPLE = (
    Person(
        "ada",
        "Ada Fenwick",
        Role.MEMBER,
        ("quill-lane",),
        "lives in Bristol; tell it where you moved",
        story="ada.toml",
    ),
    Person("noor", "Noor Rahimi", Role.MEMBER, ("quill-lane",), "changed gears, then jobs", story="noor.toml"),
    Person("benji", "Benji Lowe", Role.MEMBER, ("quill-lane",), "a mechanic, for how-tos", story="benji.toml"),
    Person("tamsin", "Tamsin Cole", Role.SUPPORT, ("quill-lane",), "helps members"),
    Person("hollis", "Hollis Grant", Role.ADMIN, ("quill-lane",), "members and tokens"),
    Person(
        "imani",
        "Imani Okafor",
        Role.MEMBER,
        ("voltara",),
        "two years, two houses",
        story="imani.toml",
        records="imani.jsonl",
        external_id="VT-20418",
    ),
    Person("theo", "Theo Marsh", Role.MEMBER, ("voltara",), "came for the graphs", story="theo.toml"),
    Person(
        "rhona",
        "Rhona Petrie",
        Role.MEMBER,
        ("voltara",),
        "cannot sign in",
        external_id="VT-30977",
        signs_in=False,
    ),
    Person("joss", "Joss Whitfield", Role.SUPPORT, ("voltara",), "helps members"),
    Person("marit", "Marit Solberg", Role.ADMIN, ("voltara",), "members and tokens"),
    Person("colm", "Colm Brady", Role.AUDITOR, ("quill-lane", "voltara"), "checks both companies"),
)
