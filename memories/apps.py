"""The application of memories. Starting it reads nothing; a serving process starts the threads that it registers."""

from __future__ import annotations

from collections.abc import Callable

from django.apps import AppConfig

from memoryhub import background, health


class MemoriesConfig(AppConfig):
    """Episodes, facts, playbooks, the catalog, and their recall."""

    name = "memories"
    verbose_name = "memories"

    def ready(self) -> None:
        """Register the outbox thread and the probe of the search plane."""
        background.register("outbox", start_drainer)
        health.register_probe("search", search_answers)


def start_drainer() -> Callable[[], None]:
    """Carry the outbox to the search plane from now on, unless MEMORYHUB_DRAIN is off."""
    from memories.search.drainer import serve

    return serve()


def search_answers() -> bool:
    """Whether the search plane can be read and written now."""
    from memories.search import search_plane

    return search_plane().health().ok
