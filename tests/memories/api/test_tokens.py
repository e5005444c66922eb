"""Who the caller is, and the tokens that callers make: none reaches further than the one that made it."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tenants.models import ApiToken, Membership, Tenant
from tenants.principal import ALL_RIGHTS, Right
from tenants.services import issue_key, revoke_token
from tests.factories import PASSWORD, make_membership, make_tenant
from tests.memories.api.caller import ROOT, Caller, caller_of, key_of

READS = {"name": "reader", "scopes": ["memory:read"]}


def called(token: str) -> Caller:
    return Caller(token, None)  # type: ignore[arg-type]  # nobody asks for its principal


def test_a_key_is_told_who_it_is_and_for_whom_it_acts(key: Caller, ann: Membership) -> None:
    me = key.get("me/").json
    assert (me["tenant"]["slug"], me["member"], me["token"]["backend_key"]) == (ann.tenant.slug, None, True)
    assert me["scopes"] == sorted(Right) and me["limits"]["token_reads"]
    assert key.get("me/?user_id=ann").json["member"] == {"user_id": "ann", "name": "Ann", "role": "member"}


def test_a_member_is_told_who_they_are(ada: Caller, membership: Membership) -> None:
    me = ada.get("me/").json
    assert me["member"] == {"user_id": None, "name": "Ada", "role": "member"}
    browser = Client()
    browser.login(username=membership.user.username, password=PASSWORD)
    session = browser.get(f"{ROOT}me/").json()
    assert (session["token"], session["member"]["name"]) == (None, "Ada")


def test_a_member_makes_lists_rotates_and_revokes_tokens(ada: Caller) -> None:
    made = ada.post("tokens/", READS).json
    assert called(made["token"]).get("memories/").status == 200
    assert made["prefix"] in [each["prefix"] for each in ada.get("tokens/").json["results"]]
    new = ada.post(f"tokens/{made['id']}/rotate/", {"grace_hours": 0}).json["token"]
    assert [called(each).get("memories/").status for each in (made["token"], new)] == [401, 200]
    assert ada.delete(f"tokens/{made['id']}/").json["state"] == "revoked"
    assert called(new).get("memories/").status == 401
    assert "token" not in ada.get(f"tokens/{made['id']}/").json


def test_a_session_makes_a_token_within_ten_minutes_of_the_sign_in(membership: Membership) -> None:
    browser = Client()
    browser.login(username=membership.user.username, password=PASSWORD)

    def makes() -> int:
        return browser.post(f"{ROOT}tokens/", READS, content_type="application/json").status_code

    assert makes() == 201
    session = browser.session
    session["password_given_at"] = time.time() - 601
    session.save()
    assert makes() == 403


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        pytest.param({"scopes": ["memory:decide"]}, 403, id="scope"),
        pytest.param({"expires_at": (timezone.now() + timedelta(days=80)).isoformat()}, 400, id="life"),
        pytest.param({"networks": ["127.0.0.0/7"]}, 400, id="wider network"),
        pytest.param({"networks": []}, 400, id="every network"),
        pytest.param({"networks": ["127.0.0.0/8", "10.0.0.0/8"]}, 400, id="other network"),
        pytest.param({"networks": ["home"]}, 400, id="no network"),
        pytest.param({"scopes": []}, 400, id="no scope"),
    ],
)
def test_no_token_outdoes_its_maker(ann: Membership, wanted: dict[str, Any], status: int) -> None:
    key, secret = issue_key(
        ann.tenant,
        name="narrow",
        scopes=[Right.READ, Right.TOKENS],
        networks=["127.0.0.0/8"],
        expires_at=timezone.now() + timedelta(days=30),
    )
    for whose in ({}, {"user_id": "ann"}):
        assert called(secret).post("tokens/", READS | wanted | whose).status == status
    narrower = called(secret).post("tokens/", READS | {"networks": ["127.0.0.1"]}).json
    assert narrower["networks"] == ["127.0.0.1/32"]
    made = called(secret).post("tokens/", READS).json
    assert made["networks"] == ["127.0.0.0/8"]
    assert key.expires_at is not None and made["expires_at"][:16] == key.expires_at.isoformat()[:16]
    revoke_token(key)
    assert called(made["token"]).get("me/").status == 401


def test_a_key_makes_tokens_for_members_who_cannot_sign_in(
    key: Caller, ann: Membership, membership: Membership
) -> None:
    made = key.post("tokens/", READS | {"user_id": "ann"}).json
    assert called(made["token"]).get("me/").json["member"]["user_id"] == "ann"
    Membership.objects.filter(pk=membership.pk).update(external_id="ada")
    assert key.post("tokens/", READS | {"user_id": "ada"}).status == 403
    assert key.post("tokens/", {"name": "x", "scopes": ["members"], "user_id": "ann"}).status == 400


def test_a_token_finds_itself_and_those_that_it_made(key: Caller, tenant: Tenant, ann: Membership) -> None:
    other, _ = issue_key(tenant, name="other", scopes=Right)
    made = key.post("tokens/", READS).json["id"]
    assert {each["name"] for each in key.get("tokens/").json["results"]} == {"test", "reader"}
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "rotate/")):
        assert key.send(method, f"tokens/{other.id}/{path}", {}).status == 404
    assert key.get(f"tokens/{made}/").status == 200
    for_ann = caller_of(ann, ALL_RIGHTS)
    strong = ApiToken.objects.get(membership=ann)
    assert key.post(f"tokens/{strong.id}/rotate/?user_id=ann", {}).status == 404
    assert key.delete(f"tokens/{strong.id}/?user_id=ann").status == 200
    assert for_ann.get("me/").status == 401


def test_tokens_isolate_other_members_and_tenants(ada: Caller, key: Caller, tenant: Tenant) -> None:
    theirs = [issue_key(make_tenant(), name="x")[0], issue_key(tenant, name="x")[0]]
    for member in (make_membership(tenant), make_membership()):
        caller_of(member)
        theirs.append(ApiToken.objects.get(membership=member))
    for caller in (ada, key):
        for token in theirs:
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "rotate/")):
                assert caller.send(method, f"tokens/{token.id}/{path}", {}).status == 404
        assert not {str(token.id) for token in theirs} & {each["id"] for each in caller.get("tokens/").json["results"]}
    assert not ApiToken.objects.exclude(revoked_at=None).exists()


def test_making_tokens_needs_the_right(membership: Membership, tenant: Tenant) -> None:
    for caller in (caller_of(membership, {Right.READ}), key_of(tenant, {Right.READ, Right.MEMBERS})):
        assert caller.post("tokens/", READS).status == 403
