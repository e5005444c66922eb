"""The glue as an application, so that its system checks and probes are registered."""

from django.apps import AppConfig


class MemoryhubConfig(AppConfig):
    """No models, only checks and a probe."""

    name = "memoryhub"

    def ready(self) -> None:
        """Register the checks and the probe of the broker where there is one; name the collector of spans."""
        from django.conf import settings

        from memoryhub import health
        from memoryhub.observability import tracing

        if settings.MEMORYHUB_JOBS == "celery":
            from memoryhub import broker

            health.register_probe("broker", broker.answers)
        tracing.configure(settings.MEMORYHUB_TRACES_URL)
