"""Where the demo is not seeded."""

from __future__ import annotations

import pytest

from memories.demo.seeding import seed
from memories.errors import Conflict
from tenants.models import User
from tenants.services import create_user


@pytest.mark.django_db
def test_a_database_where_somebody_has_such_a_name_is_refused() -> None:
    create_user(username="ada", password="a word of their own")
    with pytest.raises(Conflict, match="There is a user 'ada' already"):
        seed(lambda _done: None)
    assert User.objects.count() == 1
