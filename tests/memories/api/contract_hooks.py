"""What schemathesis changes in valid requests.

Conditions, cursors and users that nobody has given it, used keys, and names of agents and users that no pattern can
describe.
`schemathesis` loads this file; it is not imported by the tests.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import schemathesis

PARAMETERS = ("If-Match", "If-None-Match", "Idempotency-Key", "X-Memoryhub-User")


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for name in [name for name in case.headers if name.title() in PARAMETERS]:
        # The caller that is a backend key with a user is called as the user is.
        if case.headers[name] != case.auth_identity:
            del case.headers[name]
    case.headers["Idempotency-Key"] = str(uuid4())
    case.query.pop("cursor", None)
    apps = ((case.headers, "X-Memoryhub-App"), (case.query, "app"), (case.body, "app"))
    users = ((case.path_parameters, "user_id"), (case.body, "user_id"))
    for place, name in (*apps, *users):
        if isinstance(place, MutableMapping) and not unquote(str(place.get(name, ""))).isprintable():
            place[name] = "planner"
