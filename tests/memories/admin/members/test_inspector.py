"""The inspector: everything of a member side by side, narrowed, in pages, and of nobody else."""

from __future__ import annotations

import pytest
from django.test import Client

from memories.services.facts import remember_fact
from tenants.principal import Principal
from tests.memories.admin.members.conftest import At
from tests.memories.admin.members.looking import inside

pytestmark = pytest.mark.django_db


def test_what_is_known_stands_beside_what_it_replaced(support: Client, at: At, principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Porto", key="home_city")
    new = remember_fact(principal, text="Lives in Braga", key="home_city")
    page = inside(support.get(at("change")))
    assert page.index("Lives in Braga</a>") < page.index("Lives in Porto</a>")
    assert f'is-superseded" href="{at("record", old.memory_id)}"' in page
    assert f'<a href="{at("record", new.memory_id)}"><bdi>Lives in Braga' in page
