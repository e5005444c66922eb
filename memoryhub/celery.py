"""Celery's tasks and schedule, made from the table of jobs. See docs/tasks.md.

A message carries only the name of a job; the database says what is due. Messages may therefore be lost, late, or
delivered twice.
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
if not apps.ready:  # Celery's own processes have not set up Django, so the apps have not registered their jobs yet
    django.setup()

# A longer task is killed and the next one starts. Rebuilding the index of a large owner takes minutes.
TASK_SECONDS = int(2 * RUN_SECONDS)
# The broker redelivers the message of a dead worker after this time; a running task ends before it.
VISIBILITY_SECONDS = 2 * TASK_SECONDS
# Messages expire, because the schedule sends the job again: workers skip the messages of a long outage.
MESSAGE_SECONDS = 60
# The broker is on the same network; without an answer in this time it counts as down.
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
# All wake-ups in this time become one message, since one run processes all waiting changes.
ANNOUNCE_SECONDS = 0.25

# Open spans of running tasks, by task id.
_watched: dict[str, ExitStack] = {}


class BrokerAway(Unavailable):
    """The broker did not take a message. The error names the kind of fault, not its text."""


app = Celery("memoryhub")
app.conf.update(
    # Without an address, messages must not go to Celery's default broker; workers refuse to start, see below.
    broker_url=settings.MEMORYHUB_BROKER_URL or "memory://nowhere",
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": ANSWER_SECONDS,
        "socket_keepalive": True,
        "max_retries": 0,  # for senders: `send` fails at once, and its caller decides
    },
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_queues={queue.value: {} for queue in JobQueue},
    task_default_queue=JobQueue.ROUTINE.value,
    task_routes={job.name: {"queue": job.queue.value} for job in table()},
    # Acknowledge a message after its task, so that it is redelivered if the process is killed.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_time_limit=TASK_SECONDS,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    # A task that loses the broker still has database and index: it finishes, and may run again.
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
        if result is JobResult.MORE:  # it stopped early to let other tasks run
            try:
                send(job.name)
            except BrokerAway as error:
                log.warning("%s The schedule continues %s.", error, job.name)

    app.task(run, name=job.name)


for _job in table():
    _add_task(_job)


def send(name: str) -> None:
    """Queue a job for Celery's workers. Blocks, so call it from background threads and tasks only.

    Raises BrokerAway.
    """
    try:
        app.send_task(name, expires=MESSAGE_SECONDS, ignore_result=True, headers=tracing.headers())
    except (OperationalError, OSError) as error:
        raise BrokerAway(f"The broker took no message ({type(error.__cause__ or error).__name__}).") from None


class Announcer:
    """Sends the names of woken jobs from a thread, so that no request waits for the broker.

    Several wake-ups of a job within ANNOUNCE_SECONDS are one message. The schedule replaces a lost message.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._thread = JobThread("announcer", self._send, rest=ANNOUNCE_SECONDS)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.running

    def start(self) -> None:
        """Send the jobs that this process wakes from now on."""
        self._thread.start()
        announce_with(self.announce)

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._thread.stop()
        self._thread.join()

    def announce(self, name: str) -> None:
        """Queue this name for sending."""
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
    """Exit a worker or beat at start if the environment is invalid; the message names the variables."""
    problems = list(settings.ENVIRONMENT_PROBLEMS)
    if not settings.MEMORYHUB_BROKER_URL and not any(found.variable == "MEMORYHUB_BROKER_URL" for found in problems):
        problems.append(EnvProblem("MEMORYHUB_BROKER_URL", "needed by Celery"))
    refuse(problems)


def refuse_what_no_command_starts_with(**_: object) -> None:
    """Exit a worker at start if a security check reports an error, such as a superuser as service identity."""
    errors = [found for found in checks.run_checks(tags=[checks.Tags.security]) if found.is_serious()]
    if errors:
        raise SystemExit("\n".join(f"{error.msg} {error.hint or ''}".rstrip() for error in errors))


def leave_logging_to_django(**_: object) -> None:
    """Configure logging as the web process does; connecting this signal disables Celery's own setup."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


def begin_to_watch(*, task_id: str, task: Any, **_: object) -> None:
    """Bind the task's name to the log context and open its span."""
    log_context.clear()
    log_context.bind(task=task.name)
    asked_by = {key: str(said) for key, said in (task.request.headers or {}).items()}
    stack = ExitStack()
    stack.enter_context(tracing.span("task", parent=asked_by, task_id=task_id))
    _watched[task_id] = stack


def end_to_watch(*, task_id: str, **_: object) -> None:
    """Close the task's span and clear the log context."""
    if (stack := _watched.pop(task_id, None)) is not None:
        stack.close()
    log_context.clear()


def send_spans(**_: object) -> None:
    """Send the queued spans before a worker process ends."""
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
    """Whether the broker answers a ping; takes at most a second and never raises."""
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
