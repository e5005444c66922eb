"""The app of the project itself, which registers system checks and health probes. It has no models."""

from django.apps import AppConfig
from django.db import connection


class MemoryhubConfig(AppConfig):
    """Registers the broker's probe if Celery runs the jobs, and configures the export of spans."""

    name = "memoryhub"

    def ready(self) -> None:
        """Register the probe and configure tracing."""
        from django.conf import settings

        from memoryhub import health
        from memoryhub.db import row_security
        from memoryhub.observability import tracing

        if settings.MEMORYHUB_JOBS == "celery":
            health.register_probe("broker", broker_answers)
        if connection.vendor == "postgresql":
            health.register_probe("row_security", row_security.holds)
        tracing.configure(settings.MEMORYHUB_TRACES_URL)


def broker_answers() -> bool:
    """Whether the broker answers; imports Celery on the first call."""
    from memoryhub import celery

    return celery.broker_answers()
