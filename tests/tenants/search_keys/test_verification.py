"""What was changed at the cluster by hand is found, and mended on request."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from memoryhub.elasticsearch import Identity, service_client
from tenants.models import CredentialState, Membership, RetiredKey, SearchCredential
from tenants.principal import Principal
from tenants.search_keys import revoke
from tenants.search_keys.claims import take_key
from tenants.search_keys.verification import Drift, KeyFinding, repair, verify
from tests.factories import mint_by_hand
from tests.tenants.search_keys.probing import credential, found_with, key_of, put, seen, status_of


def findings_of(*members: Membership) -> list[KeyFinding]:
    """What verifying the first one's tenant, or these members of it, finds."""
    rows = Membership.objects.filter(id__in=[member.id for member in members])
    return list(verify(rows, tenant_id=members[0].tenant_id, with_orphans=False).findings)


def drift_of(member: Membership) -> list[Drift]:
    """What is wrong with this member's key."""
    return [drift for finding in findings_of(member) for drift in finding.drift]


def tamper(member: Membership, change: Callable[[dict[str, Any]], object] | None) -> None:
    """Change what the member's key may do, as whoever has the minter's password could; None leaves nothing."""
    key_id = credential(member).key_id
    descriptors = dict(seen(key_id)[key_id].descriptors)
    role = {name: value for name, value in descriptors["member"].items() if name in {"cluster", "indices"}}
    if change is not None:
        change(role)
    described = {} if change is None else {"member": role}
    service_client(Identity.MINTER).security.update_api_key(id=key_id, role_descriptors=described)


def test_untouched_keys_are_as_they_should_be(membership: Membership, other_member: Principal) -> None:
    seen(credential(membership).key_id, credential(other_member).key_id)
    report = verify(Membership.objects.filter(tenant_id=membership.tenant_id), tenant_id=membership.tenant_id)
    assert (report.members, report.findings) == (2, ())


def test_a_key_made_a_moment_ago_is_waited_for(membership: Membership) -> None:
    assert drift_of(membership) == []


def test_a_key_whose_query_was_removed_by_hand_is_found_and_replaced(membership: Membership) -> None:
    others = put("user", membership.tenant_id, membership.tenant_id)
    tamper(membership, lambda role: [entry.pop("query") for entry in role["indices"]])
    drifted = key_of(membership)
    assert others in found_with(drifted)
    assert drift_of(membership) == [Drift.OTHER_QUERY]
    assert repair(findings_of(membership)) == 1
    assert status_of(drifted) == 401
    assert found_with(key_of(membership)) == set()
    assert drift_of(membership) == []


@pytest.mark.parametrize(
    ("change", "drift"),
    [
        pytest.param(
            lambda role: role["indices"][0].update(query=json.dumps({"term": {"visibility": "user"}})),
            [Drift.OTHER_QUERY],
            id="another query",
        ),
        pytest.param(
            lambda role: role["indices"].append(
                {"names": role["indices"][0]["names"], "privileges": ["indices:data/read/search"]}
            ),
            [Drift.OTHER_RIGHTS, Drift.OTHER_QUERY],
            id="a second entry",
        ),
        pytest.param(None, [Drift.EMPTY], id="no descriptors"),
    ],
)
def test_every_other_change_at_the_cluster_is_found(
    membership: Membership, change: Callable[[dict[str, Any]], object] | None, drift: list[Drift]
) -> None:
    tamper(membership, change)
    assert sorted(drift_of(membership)) == sorted(drift)
    assert repair(findings_of(membership)) == 1
    assert drift_of(membership) == []


def test_a_key_that_the_cluster_ended_is_found_and_replaced(membership: Membership) -> None:
    key_id = credential(membership).key_id
    seen(key_id)
    service_client(Identity.MINTER).security.invalidate_api_key(ids=[key_id], owner=True)
    assert drift_of(membership) == [Drift.INVALIDATED]
    assert repair(findings_of(membership)) == 1
    assert status_of(key_of(membership)) == 200


def test_a_key_that_the_cluster_does_not_know_is_found_and_replaced(membership: Membership) -> None:
    """As after the cluster was lost, or restored from long ago."""
    SearchCredential.objects.update(key_id="of-a-cluster-long-gone", minted_at=timezone.now() - timedelta(days=1))
    assert drift_of(membership) == [Drift.UNKNOWN_TO_CLUSTER]
    assert repair(findings_of(membership)) == 1
    assert status_of(key_of(membership)) == 200


def test_a_key_of_somebody_else_is_found(membership: Membership, other_member: Principal) -> None:
    mine, theirs = credential(membership), credential(other_member)
    seen(mine.key_id, theirs.key_id)
    take_key(theirs, CredentialState.REVOKED)
    SearchCredential.objects.filter(membership_id=membership.id).update(key_id=seen_id(other_member))
    assert set(drift_of(membership)) == {Drift.OTHER_QUERY, Drift.OTHER_OWNER}


def seen_id(who: Principal) -> str:
    """The key that was taken from this member."""
    return RetiredKey.objects.get(membership_id=who.membership_id).key_id


def test_a_secret_that_nobody_can_read_is_found_and_replaced(membership: Membership) -> None:
    SearchCredential.objects.update(secret="not a secret of ours")
    assert drift_of(membership) == [Drift.UNDECIPHERABLE]
    assert repair(findings_of(membership)) == 1
    assert status_of(key_of(membership)) == 200


def test_an_orphan_is_found_and_ended(membership: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = mint_by_hand(membership)
    seen(orphan.key_id, credential(membership).key_id)
    monkeypatch.setattr("tenants.search_keys.verification.ORPHAN_AFTER", timedelta(0))
    rows = Membership.objects.filter(id=membership.id)
    report = verify(rows, tenant_id=membership.tenant_id)
    assert report.findings == (KeyFinding(None, orphan.key_id, (Drift.UNKNOWN_TO_DATABASE,)),)
    assert repair(report.findings) == 1
    assert status_of(orphan.encoded) == 401


def test_a_member_without_a_key_is_found_unless_it_was_revoked(membership: Membership, other_member: Principal) -> None:
    take_key(credential(membership), CredentialState.PENDING)
    revoke(Membership.objects.get(id=other_member.membership_id))
    assert [finding.drift for finding in findings_of(membership)] == [(Drift.NO_KEY,)]
    assert findings_of(Membership.objects.get(id=other_member.membership_id)) == []
    assert repair(findings_of(membership)) == 1
    assert status_of(key_of(membership)) == 200


def test_a_key_that_should_have_ended_long_ago_is_found_and_ended(membership: Membership) -> None:
    key_id, old = credential(membership).key_id, key_of(membership)
    seen(key_id)
    revoke(membership)
    RetiredKey.objects.update(due_at=timezone.now() - timedelta(minutes=5))
    assert findings_of(membership) == [KeyFinding(membership.id, key_id, (Drift.NOT_ENDED,))]
    assert repair(findings_of(membership)) == 1
    assert status_of(old) == 401


def test_a_key_of_a_member_who_may_not_act_is_found_and_ended(membership: Membership) -> None:
    old = key_of(membership)
    seen(credential(membership).key_id)
    Membership.objects.filter(id=membership.id).update(is_active=False)
    assert drift_of(membership) == [Drift.NOT_ENDED]
    repair(findings_of(membership))
    assert drift_of(membership) == []
    assert status_of(old) == 401


def test_other_tenants_keys_are_not_looked_at(membership: Membership, other_tenant_member: Principal) -> None:
    elsewhere = Membership.objects.get(id=other_tenant_member.membership_id)
    tamper(elsewhere, None)
    assert findings_of(membership) == []
    assert [drift for finding in findings_of(elsewhere) for drift in finding.drift] == [Drift.EMPTY]


def test_a_repair_that_cannot_be_proven_leaves_the_key(membership: Membership, settings: Settings) -> None:
    tamper(membership, lambda role: role["cluster"].append("manage_own_api_key"))
    found, before = findings_of(membership), settings.ELASTICSEARCH_PREFIX
    settings.ELASTICSEARCH_PREFIX = f"{before}-elsewhere"
    assert repair(found) == 0
    settings.ELASTICSEARCH_PREFIX = before
    assert drift_of(membership) == [Drift.OTHER_RIGHTS]
