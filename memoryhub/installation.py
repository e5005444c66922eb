"""Where this installation keeps code, templates and data: a checkout, or a wheel in site-packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

_PACKAGE = Path(__file__).resolve().parent
# The folder of the packages: the checkout, or site-packages.
BASE_DIR = _PACKAGE.parent
# A wheel has the templates inside this package (pyproject.toml); a checkout has them beside it.
INSTALLED = (_PACKAGE / "templates").is_dir()
# What a person types before a command.
PROGRAM: Final = "memoryhub" if INSTALLED else "manage.py"
# The texts of pages in other languages (`make messages`).
LOCALE_DIR = _PACKAGE / "locale"
TEMPLATE_DIR = (_PACKAGE if INSTALLED else BASE_DIR) / "templates"


def default_data_dir() -> Path:
    """`var` in a checkout; else the user's folder for data, so that commands of all folders share one database."""
    if not INSTALLED:
        return BASE_DIR / "var"
    if os.environ.get("XDG_DATA_HOME"):
        return Path(os.environ["XDG_DATA_HOME"], "memoryhub")
    data = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    # Unlike Path.expanduser, this does not fail for a user without a home.
    home = Path(os.path.expanduser("~"))  # noqa: PTH111
    return home / data / "memoryhub" if home.is_absolute() else Path("memoryhub-data")


def command(*arguments: str) -> list[str]:
    """The arguments that run a command of memoryhub in another process, whatever its working directory."""
    # -P: no module of the working directory is imported.
    entry = ["-P", "-m", "memoryhub"] if INSTALLED else [str(BASE_DIR / "manage.py")]
    return [sys.executable, *entry, *arguments]
