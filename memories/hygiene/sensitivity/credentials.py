"""Credentials of known form, by CredSweeper: vendors' tokens, web tokens, keys, and passwords in URLs.

Its rules on format are taken, with their filters and checksums. Its rules on words ("password", "key") are not: they
were made for source code and lean on a model of it; `passwords.py` reads prose instead. Invariant: its loggers, which
print the lines that they read, are off.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, cast

from memories.hygiene.sensitivity.entropy import is_placeholder
from memories.hygiene.sensitivity.findings import Finding
from memories.types import SensitiveKind

if TYPE_CHECKING:
    from credsweeper.file_handler.analysis_target import AnalysisTarget
    from credsweeper.file_handler.content_provider import ContentProvider
    from credsweeper.scanner.scanner import Scanner

_LOADING = threading.Lock()
# Characters: some of the library's patterns take time that grows with the square of a line's length.
_PIECE = 2000
_OVERLAP = 400
# Forms that other things have as well: identifiers, public names, and any word of fifteen letters or so.
_NOT_SECRET = frozenset(
    {
        "AWS S3 Bucket",
        "Alibaba Multi",
        "AWS Multi",
        "Composio Credentials",
        "Dropbox API secret (long term)",
        "Dropbox App secret",
        "Firebase Domain",
        "Google Multi",
        "JWK",  # takes seconds on a text full of such words: see private_keys.py
        "NKEY Seed",
        "OTP / 2FA Secret",
        "Product Activation Key",
        "Salesforce Credentials",
        "Tencent WeChat API App ID",
        "UUID",
    }
)
# Rules that their authors leave to a model of source code, of use without it as well.
_WITHOUT_MODEL = frozenset({"URL Credentials", "CURL User Password"})
_KEYS = frozenset({"BASE64 encoded PEM Private Key", "BASE64 Private Key", "Age Secret Key", "JSON Web Key"})


def credentials(text: str) -> Iterator[Finding]:
    """The credentials of known form in a folded text."""
    lines = _Lines(text)
    for candidate in load().scan(cast("ContentProvider", lines)):
        kind = SensitiveKind.PRIVATE_KEY if candidate.rule_name in _KEYS else SensitiveKind.SECRET
        for found in candidate.line_data_list:
            if candidate.rule_name == "URL Credentials" and is_placeholder(found.value or ""):
                continue
            start = lines.starts[found.line_pos]
            yield Finding(kind, start + found.value_start, start + found.value_end, candidate.rule_name)


class _Lines:
    """The lines of a text as the scanner asks for them, long ones in pieces that overlap.

    The library's own providers are about files, and deprecated.
    """

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self._lines: list[str] = []
        start = 0
        for line in text.split("\n"):
            for piece in range(0, max(len(line), 1), _PIECE - _OVERLAP):
                self.starts.append(start + piece)
                self._lines.append(line[piece : piece + _PIECE])
            start += len(line) + 1

    def yield_analysis_target(self, min_len: int) -> Iterator[AnalysisTarget]:
        """What is to be scanned: each line of at least `min_len` characters."""
        from credsweeper.file_handler.analysis_target import AnalysisTarget  # noqa: PLC0415 - as in _made
        from credsweeper.file_handler.descriptor import Descriptor  # noqa: PLC0415

        descriptor = Descriptor("", "", "")
        numbers = list(range(1, len(self._lines) + 1))
        for place, line in enumerate(self._lines):
            if len(line.strip()) >= min_len:
                yield AnalysisTarget(place, self._lines, numbers, descriptor)


def load() -> Scanner:
    """The one scanner of the process; a second to load. Scanning changes nothing in it: threads share it."""
    with _LOADING:
        return _made()


@cache
def _made() -> Scanner:
    for name in ("credsweeper", "pdfminer"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # It imports a library that looks for git and fails where there is none, as in an image. Nothing here needs git.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it subclasses what it deprecates
        from credsweeper.app import CredSweeper  # noqa: PLC0415 - a second to import

    made = CredSweeper().scanner
    made.rules_scanners = [
        (rule, how)
        for rule, how in made.rules_scanners
        if rule.rule_name not in _NOT_SECRET
        and (not rule.use_ml or rule.rule_name in _WITHOUT_MODEL)
        and rule.rule_type.name != "PEM_KEY"
    ]
    return made
