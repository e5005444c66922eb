"""What the tests of the API share: callers with tokens, and an owner with a life to look into."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings

from memories.models import ConsolidationRun, ForgetProposal, LearningOperation, Playbook, RunState
from memories.services.erasure.proposals import UNDO_FOR, forget_now, propose
from memories.services.facts.remember import remember_fact
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.reviews.queue import open_eviction
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.working_memory import set_task
from memories.services.write import write
from memories.types import Kind, Scope
from tenants.end_users import provision_end_user
from tenants.models import Membership, Tenant
from tenants.principal import Principal, Right
from tests.factories import make_membership, mint_at_once, own_principal
from tests.memories.api.caller import Caller, Life, caller_of, key_of
from tests.model_api import KEY, ModelApi
from tests.stored import Lived, Stored, stored_life


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of requests that are made from the OpenAPI description."""
    parser.addoption("--examples", type=int, default=0, help="how many requests are made for each operation; 0: none")


@pytest.fixture
def ada(membership: Membership) -> Caller:
    """Ada's program, with a token of all scopes."""
    return caller_of(membership)


@pytest.fixture
def bob(tenant: Tenant) -> Caller:
    """The program of another member of the same tenant."""
    return caller_of(make_membership(tenant, name="Bob"))


@pytest.fixture
def eve(db: None) -> Caller:
    """The program of a member of another tenant, an administrator there."""
    return caller_of(make_membership(role="admin", name="Eve"))


@pytest.fixture
def admin(tenant: Tenant) -> Caller:
    """The program of an administrator of Ada's tenant."""
    return caller_of(make_membership(tenant, role="admin", name="Alice"))


@pytest.fixture
def ann(tenant: Tenant) -> Membership:
    """Ann, a user of the tenant's own system."""
    return provision_end_user(tenant.id, "ann", name="Ann")[0]


@pytest.fixture
def keys_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members get their search keys at once."""
    mint_at_once(monkeypatch)


@pytest.fixture
def key(tenant: Tenant) -> Caller:
    """A backend of the tenant with every right."""
    return key_of(tenant, Right)


@pytest.fixture(scope="session")
def lived(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Stored[Lived[Life]] | None:
    """Ada with her life, made once for each worker."""
    return stored_life(live, django_db_blocker)


@pytest.fixture
def life(membership: Membership, lived: Stored[Lived[Life]] | None, relived: Lived[Life] | None) -> Life:
    """What Ada's memory holds: a session, an episode, two facts of which one replaced another, a playbook."""
    if relived is None:
        return live(own_principal(membership))
    # The stored life is minutes old, and an undo is possible for seconds.
    proposals = ForgetProposal.objects.unscoped("a test winds the clock")
    proposals.filter(pk=relived.life.confirmed).update(erase_at=timezone.now() + UNDO_FOR)
    return relived.life


def live(principal: Principal) -> Life:
    """Fill a principal's memory; every text holds the word xylophone."""
    session = start_session(principal, title="xylophone lessons")
    episode = remember_episode(principal, session_id=session.pk, text="I bought a xylophone.").memory_id
    old = remember_fact(principal, text="Plays no xylophone.", key="instrument").memory_id
    fact = remember_fact(
        principal, text="Plays the xylophone.", key="instrument", supporting_episode_ids=[episode]
    ).memory_id
    task = remember_fact(principal, text="Xylophone task.", scope=Scope.TASK, task="music").memory_id
    playbook = remember_playbook(principal, title="Tune a xylophone", steps=["Listen.", "File."]).memory_id
    run = ConsolidationRun.objects.create(
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        state=RunState.DONE,
        ended_at=timezone.now(),
        extractor="rules",
        first_ordinal=1,
        last_ordinal=1,
        input={"episodes": [str(episode)]},
    )
    with write(principal) as w:
        to_go = Playbook.objects.get(pk=playbook)
        review = open_eviction(w, to_go, reason="No xylophone was tuned for long.", evidence={"staleness": 0.95})
    assert review is not None
    ids = {"old_fact": old, "fact": fact, "task_fact": task, "playbook": playbook, "run": run.pk, "review": review.pk}
    kept = remember_fact(principal, text="Sold a xylophone.").memory_id
    ids["proposal"] = propose(principal, targets=[(Kind.PROCEDURAL, playbook)])[0].pk
    ids["confirmed"] = forget_now(principal, kind=Kind.SEMANTIC, memory_id=kept).pk
    ids["operation"] = LearningOperation.objects.create(
        tenant_id=principal.tenant_id, user_id=principal.user_id, session=session, first_ordinal=1, last_ordinal=1
    ).pk
    ids["item"] = put(principal, namespace=("things",), key="instrument", value={"name": "xylophone"})[0].pk
    set_task(principal, session_id=session.pk, goal="Learn the xylophone", constraints=["No xylophone after ten"])
    return Life(session=session.pk, episode=episode, **ids)


@pytest.fixture(scope="module")
def model_api() -> Iterator[ModelApi]:
    with ModelApi().running() as api:
        yield api


@pytest.fixture
def api(model_api: ModelApi, settings: Settings) -> ModelApi:
    """The model's API, which the operator shares with all tenants."""
    model_api.received.clear()
    settings.MEMORYHUB_SHARED_UPSTREAM, settings.MEMORYHUB_CONSOLIDATE = True, "batch"
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = f"{model_api.url}/v1", KEY
    settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = model_api.url, KEY
    return model_api
