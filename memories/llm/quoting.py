"""Users' texts inside a prompt.

A quoted text can neither close its quotes, open a tag, nor form the special tokens that mark roles in chat templates.
"""

from __future__ import annotations

import json


def quoted(value: object) -> str:
    """JSON in which `<` is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
