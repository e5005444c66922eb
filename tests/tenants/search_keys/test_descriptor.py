"""A member's key is limited before it is asked for, and what an unlimited one could do is shown on the cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from memoryhub.elasticsearch import Identity, service_client
from tenants.models import Membership
from tenants.search_keys.cluster import UnlimitedKey, member_descriptors, require_limited
from tests.factories import mint_by_hand
from tests.tenants.search_keys.probing import found_with, key_of, put

ALIASES = ("m-episodic", "m-semantic")


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, dict[str, Any]]:
    """A good descriptor with one thing changed."""
    descriptors = copy.deepcopy(member_descriptors(ALIASES, tenant_id=uuid4(), user_id=uuid4()))
    change(descriptors["member"])
    return descriptors


def test_what_members_get_is_limited() -> None:
    require_limited(changed(lambda role: None), ALIASES)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda role: role["indices"][0].pop("query"), id="no query"),
        pytest.param(lambda role: role["indices"][0].update(query=""), id="empty query"),
        pytest.param(lambda role: role["indices"][0].update(query="{}"), id="query without a clause"),
        pytest.param(lambda role: role["indices"][0].update(query='{"match_all": {}}'), id="query for everything"),
        pytest.param(lambda role: role["indices"][0].update(query="{"), id="broken query"),
        pytest.param(lambda role: role["indices"][0].update(names=["m-*"]), id="wildcard"),
        pytest.param(lambda role: role["indices"][0].update(names=[*ALIASES]), id="two names in an entry"),
        pytest.param(lambda role: role["indices"].append(role["indices"][0]), id="second entry for an alias"),
        pytest.param(lambda role: role["indices"].pop(), id="an alias is missing"),
        pytest.param(lambda role: role["indices"].clear(), id="no entries"),
        pytest.param(lambda role: role["indices"][0]["privileges"].append("read"), id="extra privilege"),
        pytest.param(lambda role: role["cluster"].append("monitor"), id="cluster privilege"),
        pytest.param(lambda role: role.update(run_as=["admin"]), id="another right"),
    ],
)
def test_anything_wider_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(UnlimitedKey):
        require_limited(changed(change), ALIASES)


def test_a_key_without_descriptors_has_its_makers_rights_and_is_never_asked_for(
    membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason for the rule, on the cluster itself."""
    others = put("user", uuid4(), uuid4())
    minter = service_client(Identity.MINTER)
    unlimited = minter.security.create_api_key(name="unlimited", role_descriptors={}, expiration="1m")["encoded"]
    assert others in found_with(unlimited)
    assert others not in found_with(key_of(membership))
    monkeypatch.setattr("tenants.search_keys.cluster.member_descriptors", lambda *_, **__: {})
    with pytest.raises(UnlimitedKey):
        mint_by_hand(membership)
