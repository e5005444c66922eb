"""The app of the project itself: it has system checks and probes, no models."""

from django.apps import AppConfig


class MemoryhubConfig(AppConfig):
    """Registers the probe of the broker where there is one, and names the collector of spans."""

    name = "memoryhub"

    def ready(self) -> None:
        """Register them."""
        from django.conf import settings

        from memoryhub import health
        from memoryhub.observability import tracing

        if settings.MEMORYHUB_JOBS == "celery":
            health.register_probe("broker", broker_answers)
        tracing.configure(settings.MEMORYHUB_TRACES_URL)


def broker_answers() -> bool:
    """Whether the broker answers now; Celery is imported when somebody asks."""
    from memoryhub import celery

    return celery.broker_answers()
