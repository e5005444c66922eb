"""Celery: the broker, how tasks run, and what runs by itself at which times. See docs/tasks.md.

Invariant: the broker holds nothing that is worth keeping. A message carries ids or nothing at all, what it asks for is
in the database, and the schedule asks for it again. So a message may be lost, late, or delivered twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, TypeVar, cast

import django
from celery import Celery, signals
from django.conf import settings
from django.core import checks
from django.utils.log import configure_logging
from kombu.exceptions import OperationalError

from memoryhub.background import Unavailable
from memoryhub.elasticsearch import in_use
from memoryhub.env.problems import Problem, refuse
from memoryhub.observability import context as log_context
from memoryhub.observability import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

Work = TypeVar("Work", bound=Callable[..., object])

DRAIN_OUTBOX = "memories.drain_outbox"
SCAN_HYGIENE = "memories.scan_hygiene"
PROVE_CHAINS = "memories.prove_chains"
# A long line of changes must not keep a key waiting: the queues take turns (Redis transport: round robin), and a drain
# is short.
CHANGES, KEYS = "memoryhub.changes", "memoryhub.keys"
# A consolidation waits for a model, minutes at worst; a scan and the proof of chains look at every memory.
UPKEEP = "memoryhub.upkeep"

# A task that takes longer is ended; the next one goes on. Rebuilding the part of a large owner takes minutes.
TASK_SECONDS = 30 * 60
# A message whose worker died without a word is delivered again after so long; never while its task may still run.
VISIBILITY_SECONDS = 2 * TASK_SECONDS
# A request for what is asked again soon is worthless when it is old; nobody works through those of a long outage.
MESSAGE_SECONDS = 60
# The broker is next door. One that does not answer in this time is away.
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0

# Changes are announced when they are committed; this finds those whose announcement was lost, and those held back.
DRAIN_EVERY = timedelta(seconds=3)
SCHEDULE = {
    DRAIN_OUTBOX: DRAIN_EVERY,
    "memories.consolidate": timedelta(minutes=1),
    "memories.collect": timedelta(days=1),
    SCAN_HYGIENE: timedelta(days=1),
    PROVE_CHAINS: timedelta(days=1),
    "memories.expire_sessions": timedelta(hours=1),
    "memories.tune_recall": timedelta(days=1),
    "memories.sample_metrics": timedelta(minutes=1),
    "memories.erase": timedelta(seconds=15),
}
# With Elasticsearch only. A key is revoked in the application at once, in the cluster by the sweep.
CLUSTER_SCHEDULE = {
    "tenants.revoke_waiting": timedelta(seconds=3),
    "tenants.mint_waiting": timedelta(seconds=5),
    "tenants.rotate_due": timedelta(minutes=10),
    "tenants.end_orphans": timedelta(hours=1),
    "memories.expunge": timedelta(hours=1),
}


# The spans of the tasks in hand here.
_watched: dict[str, ExitStack] = {}


class BrokerAway(Unavailable):
    """The broker did not take a message. The message says what kind of error it was, and nothing of its text."""


def _schedule() -> dict[str, dict[str, Any]]:
    times = SCHEDULE | (CLUSTER_SCHEDULE if in_use() else {})
    return {
        name: {"task": name, "schedule": every, "options": {"expires": max(MESSAGE_SECONDS, every.total_seconds())}}
        for name, every in times.items()
    }


app = Celery("memoryhub")
app.conf.update(
    # Without an address nothing is sent anywhere, least of all to Celery's default; workers refuse to start, see below.
    broker_url=settings.MEMORYHUB_BROKER_URL or "memory://nowhere",
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": ANSWER_SECONDS,
        "socket_keepalive": True,
        "max_retries": 0,  # of a sender: `send` fails at once, and its caller decides
    },
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_queues={CHANGES: {}, KEYS: {}, UPKEEP: {}},
    task_default_queue=CHANGES,
    task_routes={
        "tenants.*": {"queue": KEYS},
        "memories.consolidate": {"queue": UPKEEP},
        SCAN_HYGIENE: {"queue": UPKEEP},
        "memories.erase": {"queue": UPKEEP},
        PROVE_CHAINS: {"queue": UPKEEP},
    },
    # A message is done when its task is, and goes back if the process is killed in the middle.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_time_limit=TASK_SECONDS,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    # A drain that loses the broker still has the database and the plane: it finishes, and may run again.
    worker_cancel_long_running_tasks_on_connection_loss=False,
    beat_schedule=_schedule(),
    beat_schedule_filename=str(settings.MEMORYHUB_DATA_DIR / "celery-beat"),
    timezone="UTC",
)
app.autodiscover_tasks()


def task(name: str) -> Callable[[Work], Work]:
    """Make a function a task. It must be idempotent, and take ids or nothing."""
    return cast("Callable[[Work], Work]", app.task(name=name))


def send(name: str, *ids: str) -> None:
    """Ask the workers for a task; for background threads and tasks, never within a request. Raises BrokerAway."""
    try:
        app.send_task(name, args=ids, expires=MESSAGE_SECONDS, ignore_result=True, headers=tracing.headers())
    except (OperationalError, OSError) as error:
        raise BrokerAway(f"The broker took no message ({type(error.__cause__ or error).__name__}).") from None


def refuse_a_bad_environment(**_: object) -> None:
    """End a worker or a beat at once, and say which variable to mend."""
    problems = list(settings.ENVIRONMENT_PROBLEMS)
    if not settings.MEMORYHUB_BROKER_URL and not any(found.variable == "MEMORYHUB_BROKER_URL" for found in problems):
        problems.append(Problem("MEMORYHUB_BROKER_URL", "needed by Celery"))
    refuse(problems)


def refuse_what_no_command_starts_with(**_: object) -> None:
    """End a worker at once where a system check finds an error, such as an identity that is a superuser."""
    django.setup()
    errors = [found for found in checks.run_checks(tags=[checks.Tags.security]) if found.is_serious()]
    if errors:
        raise SystemExit("\n".join(f"{error.msg} {error.hint or ''}".rstrip() for error in errors))


def leave_logging_to_django(**_: object) -> None:
    """Log as the web process does: with a receiver Celery sets up no logging of its own."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


def begin_to_watch(*, task_id: str, task: Any, **_: object) -> None:
    """From now on log lines say which task this is, and a span lasts until its end."""
    log_context.clear()
    log_context.bind(task=task.name)
    asked_by = {key: str(said) for key, said in (task.request.headers or {}).items()}
    stack = ExitStack()
    stack.enter_context(tracing.span("task", parent=asked_by, task_id=task_id))
    _watched[task_id] = stack


def end_to_watch(*, task_id: str, **_: object) -> None:
    """The task is over, however it ended."""
    if (stack := _watched.pop(task_id, None)) is not None:
        stack.close()
    log_context.clear()


def send_spans(**_: object) -> None:
    """Let go of what waits before a process of a worker ends."""
    tracing.stop()


signals.celeryd_init.connect(refuse_a_bad_environment)
signals.celeryd_init.connect(refuse_what_no_command_starts_with)
signals.beat_init.connect(refuse_a_bad_environment)
signals.setup_logging.connect(leave_logging_to_django)
signals.task_prerun.connect(begin_to_watch)
signals.task_postrun.connect(end_to_watch)
signals.worker_process_shutdown.connect(send_spans)
