"""What the tests of exports share: who may have one, and how it is read."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from memoryhub.signing.archive import TableFormat, genuine
from tenants.models import Membership, User
from tests.factories import make_membership

BOTH = (TableFormat.CSV, TableFormat.JSON_LINES)


@pytest.fixture
def auditor(membership: Membership) -> User:
    """Olga, an auditor of Ada's tenant."""
    return make_membership(membership.tenant, role="auditor", name="Olga").user


@pytest.fixture
def admin(membership: Membership) -> User:
    """Hollis, an administrator of Ada's tenant."""
    return make_membership(membership.tenant, role="admin", name="Hollis").user


def lines(archive: bytes, name: str) -> list[dict[str, Any]]:
    """The rows of one file of an archive that is as it left."""
    with genuine(io.BytesIO(archive)) as opened:
        return [json.loads(line) for line in opened.lines(name)]
