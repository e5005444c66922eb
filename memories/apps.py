"""The application of memories. Starting it reads nothing; a serving process starts the threads that it registers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.apps import AppConfig

from memoryhub import background, health

if TYPE_CHECKING:
    from tenants.models import Membership


class MemoriesConfig(AppConfig):
    """Episodes, facts, playbooks, the catalog, and their recall."""

    name = "memories"
    verbose_name = "memories"

    def ready(self) -> None:
        """Register the threads, the probe of the search plane, and what the id of a request must not hold."""
        background.register("outbox", start_drainer)
        background.register("encoders", load_encoders)
        background.register("search warming", warm_searches)
        background.register("search expunging", start_expunger)
        background.register("consolidation", start_consolidator)
        background.register("collection", start_collector)
        background.register("hygiene", start_hygiene)
        background.register("chain proofs", start_chain_proofs)
        background.register("session expiry", start_session_expiry)
        background.register("recall tuning", start_recall_tuning)
        background.register("metric sampling", start_metric_sampling)
        background.register("erasure", start_eraser)
        health.register_probe("search", search_answers)
        health.register_gate(searches_are_warm)
        _guard_request_ids()
        _guard_activation()


def _guard_request_ids() -> None:
    from tenants.middleware import refuse_request_ids

    refuse_request_ids(_holds_secrets)


def _guard_activation() -> None:
    from tenants.services import refuse_activation

    refuse_activation(_why_not_active)


def _why_not_active(membership: Membership) -> str:
    from memories.selectors.erasure import why_not_active

    return why_not_active(membership)


def _holds_secrets(words: str) -> bool:
    from memories.hygiene.sensitivity.detecting import holds_secrets

    return holds_secrets(words)


def start_drainer() -> Callable[[], None]:
    """Carry the outbox to the search plane from now on, unless MEMORYHUB_DRAIN is off."""
    from memories.search.drainer import serve

    return serve()


def load_encoders() -> Callable[[], None]:
    """Load on a thread what the first turn would wait for, encoders first of all; return what awaits it."""
    from memories.agent.model import chat_model
    from memories.agent.tool_schemas import tool_schemas
    from memories.consolidation.rules import consolidation_extractor
    from memories.embedding import encoder, token_vectors
    from memories.hygiene.sensitivity import detecting

    def load() -> None:
        token_vectors()
        encoder().encode(["Where do I live?"])
        detecting.load()
        tool_schemas()
        # The clients of the models, where there are any: a second to import.
        chat_model()
        consolidation_extractor()

    thread = threading.Thread(target=load, name="encoder-loader", daemon=True)
    thread.start()
    return thread.join


def warm_searches() -> Callable[[], None]:
    """Make the first, slow searches before anybody waits for one."""
    from memories.search.warming import start

    return start()


def start_expunger() -> Callable[[], None]:
    """Take what was removed off the cluster's disk from now on, where no Celery does."""
    from memories.search.expunging import serve

    return serve()


def start_consolidator() -> Callable[[], None]:
    """Turn episodes into facts and playbooks from now on, where no Celery does."""
    from memories.services.consolidation.sweeping import serve

    return serve()


def start_collector() -> Callable[[], None]:
    """Collect what is over from now on, once a day, where no Celery does."""
    from memories.services.retention.collection import serve

    return serve()


def start_hygiene() -> Callable[[], None]:
    """Scan what is stored from now on, once a day, where no Celery does."""
    from memories.services.retention.hygiene_run import serve

    return serve()


def start_chain_proofs() -> Callable[[], None]:
    """Prove all chains from now on, once a day, where no Celery does."""
    from memories.services.chain_proofs import serve

    return serve()


def start_session_expiry() -> Callable[[], None]:
    """End the sessions whose time is over from now on, where no Celery does."""
    from memories.services.sessions.expiry import serve

    return serve()


def start_recall_tuning() -> Callable[[], None]:
    """Look at recorded use from now on, once a day, where a setting asks for it and no Celery does it."""
    from memories.services.tuning import serve

    return serve()


def start_metric_sampling() -> Callable[[], None]:
    """Sample the metrics from now on, every five minutes, where no Celery does."""
    from memories.metrics.sampling import serve

    return serve()


def start_eraser() -> Callable[[], None]:
    """Erase the members whose erasure is approved from now on, where no Celery does."""
    from memories.services.erasure.stages import serve

    return serve()


def searches_are_warm() -> bool:
    """Whether this process has made its first searches, or need not."""
    from memories.search.warming import ready

    return ready()


def search_answers() -> bool:
    """Whether the search plane can be read and written now."""
    from memories.search import search_plane

    return search_plane().health().ok
