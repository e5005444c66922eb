"""Fixtures of the pages: signed-in clients, and a member with a bit of everything to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.chat.lives import Life, live
from tests.stored import Lived, Stored, stored_life

SignIn = Callable[[Membership], Client]


@pytest.fixture
def sign_in() -> SignIn:
    """`sign_in(membership)` is a browser without scripts, signed in as that member."""

    def signed_in(membership: Membership) -> Client:
        client = Client()
        client.force_login(membership.user)
        return client

    return signed_in


@pytest.fixture
def ada(sign_in: SignIn, membership: Membership) -> Client:
    """Ada's browser."""
    return sign_in(membership)


@pytest.fixture(scope="session")
def lived(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Stored[Lived[Life]] | None:
    """Ada with her life, made once for each worker."""
    return stored_life(live, django_db_blocker)


@pytest.fixture
def life(principal: Principal, lived: Stored[Lived[Life]] | None, relived: Lived[Life] | None) -> Life:
    """What Ada said, and what was learned from it."""
    return relived.life if relived else live(principal)
