"""The app config of memories: registers its jobs, health probes, warm-ups and the checks that tenants calls back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import m2m_changed

from memoryhub import health, jobs

if TYPE_CHECKING:
    from uuid import UUID

    from tenants.models import Membership


class MemoriesConfig(AppConfig):
    """Imports are inside the hooks, so that starting the app loads few modules."""

    name = "memories"
    verbose_name = "memories"

    def ready(self) -> None:
        """Register the jobs, the health probes and the callbacks."""
        from memories.jobs import JOBS
        from memories.models import Fact, Playbook
        from memories.models.guard import guarding_triggers, refuse_links, register_function
        from memoryhub.db import migrated
        from tenants.audit.triggers import expect_triggers
        from tenants.middleware import refuse_request_ids
        from tenants.services import refuse_activation
        from tenants.tokens import limit_token_days

        connection_created.connect(register_function, dispatch_uid="memoryhub_writing")
        for links in (Fact.supporting_episodes.through, Playbook.supporting_episodes.through):
            m2m_changed.connect(refuse_links, sender=links, dispatch_uid=f"guard of {links._meta.label}")
        expect_triggers(guarding_triggers)
        jobs.register(JOBS)
        health.register_warm_up(load_models)
        health.register_warm_up(warm_searches)
        health.register_probe("search", search_answers)
        health.register_gate(searches_are_warm)
        refuse_request_ids(_holds_secrets)
        refuse_activation(_why_not_active)
        limit_token_days(_max_token_days)
        migrated.connect(_bootstrap, dispatch_uid="memories.bootstrap")


def _bootstrap(**_: object) -> None:
    from memories.services.bootstrap import bootstrap

    bootstrap()


def _why_not_active(membership: Membership) -> str:
    from memories.selectors.erasure import why_not_active

    return why_not_active(membership)


def _max_token_days(tenant_id: UUID) -> int | None:
    from memories.selectors.policies import max_token_days

    return max_token_days(tenant_id)


def _holds_secrets(words: str) -> bool:
    from memories.hygiene.sensitivity.detecting import holds_secrets

    return holds_secrets(words)


def load_models() -> None:
    """Load the encoders and models before the first turn needs them, the encoders first."""
    from memories.agent.model import chat_model
    from memories.agent.tool_schemas import tool_schemas
    from memories.consolidation.rules import consolidation_extractor
    from memories.embedding import bundled_encoder, token_vectors
    from memories.hygiene.sensitivity import detecting

    token_vectors()
    bundled_encoder().encode(["Where do I live?"])
    detecting.load()
    tool_schemas()
    chat_model()
    consolidation_extractor()


def warm_searches() -> None:
    """Run the first, slow searches before a user waits for one."""
    from memories.search.warming import warm_up

    warm_up()


def searches_are_warm() -> bool:
    """Whether this process has run its warm-up searches or does not need them."""
    from memories.search.warming import ready

    return ready()


def search_answers() -> bool:
    """Whether the search plane is healthy."""
    from memories.search import search_plane

    return search_plane().health().ok
