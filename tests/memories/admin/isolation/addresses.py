"""Every address of the admin, read from the site itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib import admin
from django.urls import URLPattern, URLResolver


@dataclass(frozen=True, slots=True)
class Address:
    """One pattern: its name (empty for a redirect of Django's own), its route, and what it takes."""

    name: str
    route: str
    arguments: tuple[str, ...]


def addresses() -> list[Address]:
    """All of them, in the order of the site."""
    return list(_walk(admin.site.get_urls(), ""))


def _walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[Address]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield Address(pattern.name or "", route, tuple(pattern.pattern.converters))
