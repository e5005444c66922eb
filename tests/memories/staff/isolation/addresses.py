"""Every address of the admin and of the staff pages, read from the URLconfs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.contrib import admin
from django.urls import URLPattern, URLResolver

from memories.staff.urls import urlpatterns


@dataclass(frozen=True, slots=True)
class Address:
    """One pattern: its name (`staff:` before those of staff pages), its route, and what it takes.

    The name of a redirect of Django's own is empty.
    """

    name: str
    route: str
    arguments: tuple[str, ...]


def addresses() -> list[Address]:
    """All of them."""
    pages = (replace(each, name=f"staff:{each.name}") for each in _walk(urlpatterns, ""))
    return [*pages, *_walk(admin.site.get_urls(), "")]


def reversed_name(name: str) -> str:
    """The name of an address with its namespace."""
    return name if ":" in name else f"admin:{name}"


def _walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[Address]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield Address(pattern.name or "", route, tuple(pattern.pattern.converters))
