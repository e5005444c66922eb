"""`make messages`: collects the texts of templates, code and scripts for each language, and compiles the catalogs.

It needs Debian's `gettext`. A text that changed is untranslated, never guessed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.commands.makemessages import Command

# Folders without a text that a person sees on a page.
IGNORED = (".venv", "var", "tests", "benchmarks", "clients", "deploy", "docs", "proof", "node_modules", "dist")
_CHANGING = re.compile(
    r'^"(?:POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|Report-Msgid-Bugs-To).*\n', re.MULTILINE
)


def main() -> None:
    """Write the catalogs, and say how many texts have no translation."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    django.setup()
    Command.msgmerge_options = [*Command.msgmerge_options, "--no-fuzzy-matching"]
    languages = [code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
    for domain in ("django", "djangojs"):
        call_command(
            Command(), domain=domain, locale=languages, ignore_patterns=[*IGNORED], no_location=True, no_wrap=True,
            no_obsolete=True, verbosity=0,
        )  # fmt: skip
    for file in sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/*.po")):
        text = _CHANGING.sub("", file.read_text())
        file.write_text(text)
        empty = len(re.findall(r'^msgstr(?:\[\d\])? ""\n(?!")', text, re.MULTILINE))
        sys.stdout.write(f"{file.parent.parent.name} {file.stem}: {empty} texts without a translation\n")
    os.chdir(Path(settings.LOCALE_PATHS[0]).parent)
    call_command("compilemessages", verbosity=0)


if __name__ == "__main__":
    main()
