"""The application of memories. Starting it reads nothing; a serving process starts the threads that it registers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.apps import AppConfig

from memoryhub import background, health


class MemoriesConfig(AppConfig):
    """Episodes, facts, playbooks, the catalog, and their recall."""

    name = "memories"
    verbose_name = "memories"

    def ready(self) -> None:
        """Register the outbox thread, the loading of the encoders, and the probe of the search plane."""
        background.register("outbox", start_drainer)
        background.register("encoders", load_encoders)
        health.register_probe("search", search_answers)


def start_drainer() -> Callable[[], None]:
    """Carry the outbox to the search plane from now on, unless MEMORYHUB_DRAIN is off."""
    from memories.search.drainer import serve

    return serve()


def load_encoders() -> Callable[[], None]:
    """Load both encoders on a thread, so that the first question does not wait for them; return what awaits the end."""
    from memories.embedding import encoder, token_vectors

    def load() -> None:
        token_vectors()
        encoder().encode(["Where do I live?"])

    thread = threading.Thread(target=load, name="encoder-loader", daemon=True)
    thread.start()
    return thread.join


def search_answers() -> bool:
    """Whether the search plane can be read and written now."""
    from memories.search import search_plane

    return search_plane().health().ok
