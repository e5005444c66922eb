"""Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a change is made once, however often it is sent.

A key belongs to the caller (a token, or a member in the browser), the owner, the method and the path. Only what was
carried out is remembered: after a refusal nothing is stored, and the key is free. Calls that change nothing ignore it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.problems import problem_of
from memories.errors import InvalidInput
from memories.services.idempotency import FAILED, RequestAttempt, StoredAnswer, claim
from memories.types import Owner
from tenants.principal import Principal

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_ACCEPTABLE = re.compile(r"[\x21-\x7e]{1,255}")


def claimed(request: Request, *, runs_again: bool) -> RequestAttempt | StoredAnswer | None:
    """Claim the request's key; None if it has none. Raises InvalidInput, and what `claim` raises."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not _ACCEPTABLE.fullmatch(key):
        raise InvalidInput(HEADER, "takes 1 to 255 visible ASCII characters.")
    caller: Any = request.auth
    owner = Owner(caller.tenant_id, getattr(caller, "user_id", None))
    actor = caller.actor_id if isinstance(caller, Principal) else caller.actor.id
    query = sorted(request.query_params.lists())
    return claim(
        owner,
        digest=_digest(str(owner), str(actor), str(request.method), request.path, key),
        fingerprint=_digest(json.dumps(query), _digest_of(request.data)),
        runs_again=runs_again,
    )


def _digest_of(data: Any) -> str:
    return hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else json.dumps(data, sort_keys=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def replayed(replay: StoredAnswer) -> HttpResponse:
    """The first answer again."""
    headers = {REPLAYED: "true"}
    return HttpResponse(replay.answer, status=replay.status, content_type="application/json", headers=headers)


def answered(attempt: RequestAttempt, run: Callable[[], HttpResponseBase], *, keeps_answer: bool) -> HttpResponseBase:
    """Carry out the request and keep its answer; one that runs again keeps its own, and ends its attempt itself."""
    with ending(attempt):
        if attempt.runs_again:
            return run()
        with attempt.running():
            response = run()
            attempt.finish(response.status_code, _shown(response) if keeps_answer else "")
    return response


def _shown(response: HttpResponseBase) -> str:
    if isinstance(response, Response):
        return str(JSONRenderer().render(response.data), "utf-8")
    return response.content.decode() if isinstance(response, HttpResponse) else ""


@contextmanager
def ending(attempt: RequestAttempt) -> Iterator[None]:
    """End the attempt if the block fails."""
    try:
        yield
    except Exception as error:
        problem = problem_of(error, stores=True)
        attempt.fail(by_service=problem is None or problem.status >= FAILED)
        raise
