"""The glue as an application, so that its system checks are registered."""

from django.apps import AppConfig


class MemoryhubConfig(AppConfig):
    """No models, only checks."""

    name = "memoryhub"

    def ready(self) -> None:
        """Register the checks."""
        from memoryhub import checks  # noqa: F401
