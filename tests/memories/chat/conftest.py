"""Fixtures of the pages: signed-in clients, and a member with a bit of everything to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.chat.lives import Life, live

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


@pytest.fixture
def life(principal: Principal) -> Life:
    """What Ada said, and what was learned from it."""
    return live(principal)
