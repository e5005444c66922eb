"""The memory policy by API, for administrators and backend keys with the scope."""

from __future__ import annotations

from typing import Any

import pytest

from memories.models import MemoryPolicy
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import ALL_RIGHTS, Right
from tests.factories import make_membership
from tests.memories.api.caller import Caller, caller_of, key_of

POLICY = "tenant/policy/"
LEARNING = {
    "instructions": "Note sizes.",
    "categories": ["repairs: what was mended", "trips"],
    "never_topics": ["health: back pain"],
    "apps": {"planner": {"never_words": ["salary"]}},
}


def test_an_administrator_reads_and_changes_the_policy(admin: Caller) -> None:
    before = admin.get(POLICY).json
    assert (before["recall_items"], before["never_topics"], before["updated_at"]) == (None, [], None)
    changed = admin.patch(POLICY, LEARNING | {"recall_items": 3}).json
    assert {name: changed[name] for name in LEARNING} == LEARNING and changed["recall_items"] == 3
    assert admin.get(POLICY).json == changed
    event = AuditEvent.objects.get(action="policy.changed")
    assert event.actor_id is not None and event.payload.data["before"]["recall_items"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"recall_items": 101}, "recall_items"),
        ({"recall_items": "3"}, "recall_items"),
        ({"recall_mode": "shout"}, "recall_mode"),
        ({"never_words": "salary"}, "never_words"),
        ({"never_words": ["--"]}, "never_words"),
        ({"never_topics": ["the card 4111 1111 1111 1111"]}, "never_topics"),
        ({"handling": {"password": "allow"}}, "handling"),
        ({"apps": {"planner": {"recall_items": 3}}}, "apps.planner.recall_items"),
        ({"apps": {"planner": {"never_words": ["--"]}}}, "apps.planner.never_words"),
        ({"apps": {"x" * 65: {}}}, "apps"),
        ({"naps": 3}, "naps"),
    ],
    ids=str,
)
def test_what_cannot_be_followed_is_refused(admin: Caller, body: dict[str, Any], field: str) -> None:
    answer = admin.patch(POLICY, body)
    assert (answer.status, list(answer.faults)) == (400, [field])
    assert not MemoryPolicy.objects.exists() and "4111 1111" not in answer.text


def test_a_change_is_made_only_to_what_was_read(admin: Caller) -> None:
    tag = admin.get(POLICY).response.headers["ETag"]
    assert admin.send("PATCH", POLICY, {"recall_items": 3}, **{"If-Match": tag}).status == 200
    late = admin.send("PATCH", POLICY, {"recall_items": 4}, **{"If-Match": tag})
    assert (late.status, MemoryPolicy.objects.get().recall_items) == (412, 3)
    tag = admin.get(POLICY).response.headers["ETag"]
    assert admin.send("GET", POLICY, **{"If-None-Match": tag}).status == 304


def test_a_key_with_the_scope_changes_what_is_learned_and_not_what_protects_people(tenant: Tenant) -> None:
    key = key_of(tenant, {Right.ADMINISTER})
    assert key.patch(POLICY, LEARNING).json["apps"] == LEARNING["apps"]
    assert AuditEvent.objects.get(action="policy.changed").actor_kind == "key"
    refused: list[dict[str, Any]] = [{"second_person": "never"}, {"handling": {}}]
    for body in (*refused, {"recall_items": 3, "erasure_delay_hours": 0}):
        assert key.patch(POLICY, body).status == 403
    policy = MemoryPolicy.objects.get()
    assert (policy.second_person, policy.recall_items, policy.erasure_delay_hours) == ("", None, None)


def test_limits_of_a_whole_tenant_are_the_platforms(admin: Caller) -> None:
    assert admin.patch(POLICY, {"limits": {"member_reads": 50}}).json["limits"] == {"member_reads": 50}
    assert admin.patch(POLICY, {"limits": {"tenant_reads": 50}}).status == 403


def test_others_neither_see_nor_change_it(ada: Caller, admin: Caller, tenant: Tenant, eve: Caller) -> None:
    admin.patch(POLICY, LEARNING)
    staff = Membership.objects.get(pk=admin.principal.membership_id)
    others = [ada, *(caller_of(make_membership(tenant, role=role)) for role in ("auditor", "support"))]
    others += [caller_of(staff, ALL_RIGHTS - {Right.ADMINISTER}), key_of(tenant, set(Right) - {Right.ADMINISTER})]
    for caller in others:
        assert (caller.get(POLICY).status, caller.patch(POLICY, {"recall_items": 3}).status) == (403, 403)
    assert eve.get(POLICY).json["instructions"] == ""
    assert eve.patch(POLICY, {"recall_items": 3}).status == 200
    assert MemoryPolicy.objects.get(tenant=tenant).recall_items is None
