"""Probes for whoever runs the process: `/livez` (it answers) and `/readyz` (it can serve).

Invariant: only the database decides readiness, once the process has warmed up; other parts are reported, for without
them the service degrades and goes on. An answer names parts and states, never an address or an error's text.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

_probes: dict[str, Callable[[], bool]] = {}
_gates: list[Callable[[], bool]] = []


def register_probe(part: str, probe: Callable[[], bool]) -> None:
    """Let `/readyz` report on `part`; `probe` answers quickly, True for healthy, and does not raise."""
    _probes[part] = probe


def register_gate(warm: Callable[[], bool]) -> None:
    """Hold readiness back until `warm` says True, which it must do some day whatever happens."""
    _gates.append(warm)


@never_cache
@login_not_required
@require_safe
def livez(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """The process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - Django's signature
    """The database answers and the process is warm; the state of each other part beside it."""
    database = _database_answers()
    parts = {"database": database, **{part: probe() for part, probe in sorted(_probes.items())}}
    body = {part: "ok" if healthy else "unavailable" for part, healthy in parts.items()}
    warm = all(gate() for gate in _gates)
    if not warm:
        body["process"] = "warming up"
    return JsonResponse(body, status=200 if database and warm else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
