"""Texts of people inside a prompt.

Invariant: a quoted text can neither close its quotes, open a tag, nor form the special tokens by which chat templates
tell roles apart.
"""

from __future__ import annotations

import json


def quoted(value: object) -> str:
    """JSON in which `<` is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
