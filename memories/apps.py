"""The app config of memories: registers its jobs, probes, warm-ups, and checks that tenants asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from memoryhub import health, jobs

if TYPE_CHECKING:
    from tenants.models import Membership


class MemoriesConfig(AppConfig):
    """Starting the app imports little: each hook below imports what it calls."""

    name = "memories"
    verbose_name = "memories"

    def ready(self) -> None:
        """Register them."""
        from memories.jobs import JOBS
        from memories.models.guard import register_function
        from tenants.middleware import refuse_request_ids
        from tenants.services import refuse_activation

        connection_created.connect(register_function, dispatch_uid="memoryhub_writing")
        jobs.register(JOBS)
        health.register_warm_up(load_models)
        health.register_warm_up(warm_searches)
        health.register_probe("search", search_answers)
        health.register_gate(searches_are_warm)
        refuse_request_ids(_holds_secrets)
        refuse_activation(_why_not_active)


def _why_not_active(membership: Membership) -> str:
    from memories.selectors.erasure import why_not_active

    return why_not_active(membership)


def _holds_secrets(words: str) -> bool:
    from memories.hygiene.sensitivity.detecting import holds_secrets

    return holds_secrets(words)


def load_models() -> None:
    """Load what the first turn would wait for, the encoders first."""
    from memories.agent.model import chat_model
    from memories.agent.tool_schemas import tool_schemas
    from memories.consolidation.rules import consolidation_extractor
    from memories.embedding import encoder, token_vectors
    from memories.hygiene.sensitivity import detecting

    token_vectors()
    encoder().encode(["Where do I live?"])
    detecting.load()
    tool_schemas()
    chat_model()
    consolidation_extractor()


def warm_searches() -> None:
    """Make the first, slow searches before somebody waits for one."""
    from memories.search.warming import warm_up

    warm_up()


def searches_are_warm() -> bool:
    """Whether this process has made its first searches, or need not."""
    from memories.search.warming import ready

    return ready()


def search_answers() -> bool:
    """Whether the search plane can be read and written now."""
    from memories.search import search_plane

    return search_plane().health().ok
