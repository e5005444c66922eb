"""Exempts tests from the guards of memory rows.

The guards of `memories/models/guard.py` apply to all callers outside `tests/`. Inside `guards_hold` they apply to a
test's own code, too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from memories.models import guard
from memories.models.guard import GuardedRow, OwnedQuerySet, raw_writes

TESTS = Path(__file__).resolve().parent
ROOT = f"{TESTS.parent}/"
# The virtual environment may be inside the checkout.
PACKAGES = f"{ROOT}.venv/"
_OWN = {__file__, guard.__file__}
_WRITES = ("update", "delete", "bulk_create", "bulk_update")
_holding = False


@contextmanager
def guards_hold() -> Iterator[None]:
    """Apply the guards to the test's own code during the block."""
    global _holding  # noqa: PLW0603 - a process runs one test at a time
    _holding = True
    try:
        yield
    finally:
        _holding = False


def pass_tests(patch: pytest.MonkeyPatch) -> None:
    """Exempt code under `tests/` from the guards."""
    require_scope = OwnedQuerySet.require_scope

    def required(rows: OwnedQuerySet[Any]) -> None:
        if not _by_a_test():
            require_scope(rows)

    patch.setattr(OwnedQuerySet, "require_scope", required)
    for owner, name in [(OwnedQuerySet, each) for each in _WRITES] + [
        (GuardedRow, "save_base"),
        (GuardedRow, "delete"),
    ]:
        patch.setattr(owner, name, _passing(getattr(owner, name)))


def _passing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def passed(*args: Any, **options: Any) -> Any:
        if guard.is_writing() or not _by_a_test():
            return method(*args, **options)
        with raw_writes("a test"):
            return method(*args, **options)

    return passed


def _by_a_test() -> bool:
    """Whether the innermost caller in this project is a test."""
    if _holding:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_of_this_project(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(str(TESTS))


def _is_of_this_project(file: str) -> bool:
    return file.startswith(ROOT) and not file.startswith(PACKAGES) and file not in _OWN
