"""The probes `/livez` (the process answers) and `/readyz` (it can serve), and the warm-ups of a serving process.

Only the database, with every migration applied, and the registered gates decide readiness. Other components are
reported: without them the service continues with less. An answer names components and states, never an address or an
error's text; in production only the listener of MEMORYHUB_PROBES names them (memoryhub/probes.py). Each registered
probe runs once at a time, and at most every SEEN_SECONDS.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memoryhub.db.scope import WideRole, acting_as

SEEN_SECONDS = 1.0
# The longest that a process waits for its warm-ups when it ends.
WARM_UP_SECONDS = 10.0


class PartState(StrEnum):
    """The state of a component."""

    OK = "ok"
    UNAVAILABLE = "unavailable"
    UNAPPLIED = "unapplied"
    EXPIRING = "expiring"
    BROKEN = "broken"
    UNENFORCED = "unenforced"


Probe = Callable[[], bool | PartState]

# Set once all migrations were found applied; the result is final for this code.
_migrated = threading.Event()


class _Seen:
    """Caches a probe's answer for SEEN_SECONDS. While one caller probes, the others get the last answer.

    The first callers wait for it.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._asking = threading.Lock()
        self._said: tuple[float, PartState] | None = None

    def state(self) -> PartState:
        """The component's state; may be older than SEEN_SECONDS while another caller probes."""
        said = self._said
        if said is not None:
            if time.monotonic() - said[0] < SEEN_SECONDS or not self._asking.acquire(blocking=False):
                return said[1]
        else:
            self._asking.acquire()
        try:
            found = self._said
            if found is None or found is said:
                found = self._said = (time.monotonic(), _asked(self._probe))
            return found[1]
        finally:
            self._asking.release()


def _asked(probe: Probe) -> PartState:
    with acting_as(WideRole.JOBS):
        found = probe()
    if isinstance(found, PartState):
        return found
    return PartState.OK if found else PartState.UNAVAILABLE


_probes: dict[str, _Seen] = {}
_gates: list[Callable[[], bool]] = []
_warm_ups: list[Callable[[], None]] = []


def register_probe(part: str, probe: Probe) -> None:
    """Add a component to `/readyz`. `probe` is quick, returns True for healthy or a PartState, and does not raise."""
    _probes[part] = _Seen(probe)


def register_gate(is_ready: Callable[[], bool]) -> None:
    """Delay readiness until `is_ready` returns True, which it must do eventually."""
    _gates.append(is_ready)


def register_warm_up(work: Callable[[], None]) -> None:
    """Call `work` on a thread in each serving process when it starts."""
    _warm_ups.append(work)


def warm_up() -> None:
    """Start the warm-ups, each on a thread; the process waits for them at exit, up to WARM_UP_SECONDS each."""
    for work in _warm_ups:
        thread = threading.Thread(target=acting_as(WideRole.JOBS)(work), name=work.__name__, daemon=True)
        thread.start()
        # Exiting while the encoder's library starts would abort the process.
        atexit.register(thread.join, WARM_UP_SECONDS)


@never_cache
@login_not_required
@require_safe
def livez(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Liveness probe: the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - Django's signature
    """Readiness probe: 200 or 503."""
    ready, parts = readiness()
    return JsonResponse({"ready": ready} if settings.PRODUCTION else parts, status=200 if ready else 503)


def readiness() -> tuple[bool, dict[str, str]]:
    """Whether database, migrations and gates are ready, and the state of each component."""
    parts = {"database": _database()}
    if parts["database"] is PartState.OK:
        parts["migrations"] = _migrations()
    serves = all(state is PartState.OK for state in parts.values())
    body = {part: state.value for part, state in parts.items()}
    body |= {part: seen.state().value for part, seen in sorted(_probes.items())}
    warm = all(gate() for gate in _gates)
    if not warm:
        body["process"] = "warming up"
    return serves and warm, body


def _database() -> PartState:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return PartState.UNAVAILABLE
    return PartState.OK


def _migration_state() -> bool | PartState:
    """OK if every migration of this code is applied. Reads all migration files, which is slow."""
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return PartState.UNAVAILABLE
    if waiting:
        return PartState.UNAPPLIED
    _migrated.set()
    return PartState.OK


_migration_probe = _Seen(_migration_state)


def _migrations() -> PartState:
    return PartState.OK if _migrated.is_set() else _migration_probe.state()
