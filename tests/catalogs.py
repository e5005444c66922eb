"""Reads the catalogs of texts (`memoryhub/locale/`), as they are in the source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

CATALOGS = sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/*.po"))
_FIELD = re.compile(r'(msg\w+(?:\[\d\])?) "(.*)"$')
_ESCAPED = {"n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Text:
    """An English text with its plural, if it has one, and its forms in the language of the catalog."""

    context: str
    english: str
    plural: str
    forms: tuple[str, ...]
    fuzzy: bool

    @property
    def key(self) -> str:
        """Its key in the compiled catalog."""
        return f"{self.context}\x04{self.english}" if self.context else self.english


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[1], found[1])


@cache
def texts(catalog: Path) -> tuple[Text, ...]:
    """The texts of a catalog, without its header."""
    found = []
    for block in catalog.read_text().split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if match := _FIELD.match(line):
                name = match[1]
                fields[name] = match[2]
            elif line.startswith('"'):
                fields[name] += line[1:-1]
        said = {name: re.sub(r"\\(.)", _unescaped, text) for name, text in fields.items()}
        forms = tuple(text for name, text in sorted(said.items()) if name.startswith("msgstr"))
        if said.get("msgid"):
            plural, fuzzy = said.get("msgid_plural", ""), "#, fuzzy" in block
            found.append(Text(said.get("msgctxt", ""), said["msgid"], plural, forms, fuzzy))
    return tuple(found)
