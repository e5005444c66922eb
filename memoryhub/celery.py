"""Celery's tasks and schedule, made from the table of jobs. See docs/tasks.md.

The broker holds nothing that is worth keeping: a message carries the name of a job, and what is due is in the
database. So a message may be lost, late, or delivered twice.
"""

from __future__ import annotations

import functools
import logging
import os
from contextlib import ExitStack
from typing import Any

import django
import redis
from celery import Celery, signals
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.utils.log import configure_logging
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from memoryhub import observability as log_context
from memoryhub.env import EnvProblem, refuse
from memoryhub.jobs import RUN_SECONDS, Job, JobQueue, JobResult, Unavailable, announce_with, table
from memoryhub.observability import tracing
from memoryhub.worker import JobThread

log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
if not apps.ready:  # in Celery's own processes: the apps register their jobs
    django.setup()

# A task that takes longer is ended; the next one goes on. Rebuilding the part of a large owner takes minutes.
TASK_SECONDS = int(2 * RUN_SECONDS)
# A message whose worker died without a word is delivered again after so long; never while its task may still run.
VISIBILITY_SECONDS = 2 * TASK_SECONDS
# A request for what is asked again soon is worthless when it is old; nobody works through those of a long outage.
MESSAGE_SECONDS = 60
# The broker is next door. One that does not answer in this time is away.
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
# One message asks for all changes of this long: a drain takes everything that waits.
ANNOUNCE_SECONDS = 0.25

# The spans of the tasks in hand here.
_watched: dict[str, ExitStack] = {}


class BrokerAway(Unavailable):
    """The broker did not take a message. The message says what kind of error it was, and nothing of its text."""


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
    task_queues={queue.value: {} for queue in JobQueue},
    task_default_queue=JobQueue.CHANGES.value,
    task_routes={job.name: {"queue": job.queue.value} for job in table()},
    # A message is done when its task is, and goes back if the process is killed in the middle.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_time_limit=TASK_SECONDS,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    # A drain that loses the broker still has the database and the plane: it finishes, and may run again.
    worker_cancel_long_running_tasks_on_connection_loss=False,
    beat_schedule={
        job.name: {
            "task": job.name,
            "schedule": job.every,
            "options": {"expires": max(MESSAGE_SECONDS, job.every.total_seconds())},
        }
        for job in table()
        if job.when()
    },
    beat_schedule_filename=str(settings.MEMORYHUB_DATA_DIR / "celery-beat"),
    timezone="UTC",
)


def _add_task(job: Job) -> None:
    def run() -> None:
        try:
            result = job.run()
        except Unavailable as error:
            log.warning("%s: %s The schedule tries again.", job.name, error)
            return
        if result is JobResult.MORE:  # it stopped early, so that other tasks have their turn
            try:
                send(job.name)
            except BrokerAway as error:
                log.warning("%s The schedule continues %s.", error, job.name)

    app.task(run, name=job.name)


for _job in table():
    _add_task(_job)


def send(name: str) -> None:
    """Ask the workers for a job; from background threads and tasks only, never in a request. Raises BrokerAway."""
    try:
        app.send_task(name, expires=MESSAGE_SECONDS, ignore_result=True, headers=tracing.headers())
    except (OperationalError, OSError) as error:
        raise BrokerAway(f"The broker took no message ({type(error.__cause__ or error).__name__}).") from None


class Announcer:
    """Sends the names of woken jobs from a thread, so that no request waits for the broker.

    A burst of wake-ups is one message. The schedule finds work whose message was lost.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._thread = JobThread("announcer", self._send, rest=ANNOUNCE_SECONDS)

    @property
    def running(self) -> bool:
        """Whether its thread is alive."""
        return self._thread.running

    def start(self) -> None:
        """Announce the jobs that this process wakes from now on."""
        self._thread.start()
        announce_with(self.announce)

    def stop(self) -> None:
        """End the thread."""
        self._thread.stop()
        self._thread.join()

    def announce(self, name: str) -> None:
        """Send this name soon."""
        self._names.add(name)
        self._thread.wake()

    def _send(self) -> None:
        for name in tuple(self._names):
            self._names.discard(name)
            try:
                send(name)
            except BrokerAway:
                self._names.add(name)
                raise


def refuse_a_bad_environment(**_: object) -> None:
    """End a worker or a beat at once, naming the variable to correct."""
    problems = list(settings.ENVIRONMENT_PROBLEMS)
    if not settings.MEMORYHUB_BROKER_URL and not any(found.variable == "MEMORYHUB_BROKER_URL" for found in problems):
        problems.append(EnvProblem("MEMORYHUB_BROKER_URL", "needed by Celery"))
    refuse(problems)


def refuse_what_no_command_starts_with(**_: object) -> None:
    """End a worker at once where a system check finds an error, such as an identity that is a superuser."""
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
    """Close the span and clear the log context."""
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


PROBE_SECONDS = 1.0


def broker_answers() -> bool:
    """Whether the broker answers; asking takes at most a second and never raises."""
    try:
        return bool(_client(settings.MEMORYHUB_BROKER_URL).ping())
    except (redis.RedisError, OSError):
        return False


@functools.cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=PROBE_SECONDS,
        socket_connect_timeout=PROBE_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
