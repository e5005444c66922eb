"""What schemathesis changes in valid requests.

Conditions, cursors and users that nobody has given it, used keys, and names of agents that no pattern can describe.
`schemathesis` loads this file; it is not imported by the tests.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from uuid import uuid4

import schemathesis

PARAMETERS = ("If-Match", "If-None-Match", "Idempotency-Key", "X-Memoryhub-User")


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for name in [name for name in case.headers if name.title() in PARAMETERS]:
        del case.headers[name]
    case.headers["Idempotency-Key"] = str(uuid4())
    case.query.pop("cursor", None)
    for place, name in ((case.headers, "X-Memoryhub-App"), (case.query, "app"), (case.body, "app")):
        if isinstance(place, MutableMapping) and not str(place.get(name, "")).isprintable():
            place[name] = "planner"
