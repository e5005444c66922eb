"""Regular expressions that are compiled at their first use.

Every process imports the detectors' tables, and few of them read a text: compiling all of them takes a third of a
second. After its first use, a method of such an expression is the method of the compiled one, so loops are as fast.
"""

from __future__ import annotations

import functools
import re
from typing import Any, cast

_made: list[_Lazy] = []


class _Lazy:
    """Looks like a re.Pattern. Threads that use it first at the same time compile it twice, to the same end."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @functools.cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """What was not asked for yet: from then on an attribute, without this step."""
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As re.compile for what stands in a module, but an error in `pattern` shows at its first use (see compile_all)."""
    made = _Lazy(pattern, flags)
    _made.append(made)
    return cast("re.Pattern[str]", made)


def compile_all() -> int:
    """Compile all that there are, so that the first text does not wait for it; return how many there are."""
    for made in _made:
        _ = made.compiled
    return len(_made)
