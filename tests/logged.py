"""Captures the log in the format of production."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memoryhub.observability.logs import ContextFilter, JsonLineFormatter, LineFormatter

FORMATS: dict[str, type[logging.Formatter]] = {"line": LineFormatter, "json": JsonLineFormatter}


class Logged:
    """The captured log."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        """The whole log."""
        return self.stream.getvalue()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The parsed lines of a JSON log."""
        return [json.loads(line) for line in self.text.splitlines()]


@contextmanager
def logged(form: str, *, level: int = logging.INFO) -> Iterator[Logged]:
    """Log everything from `level` on in this format during the block, ignoring levels of libraries' loggers."""
    root, found = logging.getLogger(), Logged()
    handler = logging.StreamHandler(found.stream)
    handler.setFormatter(FORMATS[form]())
    handler.addFilter(ContextFilter())
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield found
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
