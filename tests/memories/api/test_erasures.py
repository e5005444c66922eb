"""Erasures with their receipts, and legal holds, by API: administrators decide, auditors and keys read."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import timezone

from memories.models import ErasureRequest, Fact, LegalHold
from memories.services.erasure.stages import carry_out
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import ALL_RIGHTS, Right
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Caller, caller_of, key_of

WHY = {"reason": "Asked for by the user."}
ERASURES, HOLDS = "tenant/erasures/", "tenant/holds/"


@pytest.fixture
def second(tenant: Tenant) -> Caller:
    """Another administrator."""
    return caller_of(make_membership(tenant, role="admin"))


def carried_out(erasure_id: str) -> None:
    ErasureRequest.objects.filter(pk=erasure_id).update(begins_at=timezone.now())
    assert carry_out(ErasureRequest.objects.get(pk=erasure_id).pk)


def test_what_a_key_asks_for_leads_to_its_receipt(key: Caller, ann: Membership, admin: Caller) -> None:
    key.post("memories/", {"text": "Likes tea.", "user_id": "ann"})
    asked = key.post("members/ann/erase/", WHY).json
    path = f"{ERASURES}{asked['id']}/"
    assert (asked["state"], key.get(path).json["state"], key.get(f"{path}receipt/").status) == ("asked", "asked", 404)
    assert key.post(f"{path}approve/").status == 403
    approved = admin.post(f"{path}approve/").json
    assert (approved["state"], approved["begins_at"] is not None) == ("approved", True)
    carried_out(asked["id"])
    receipt = key.get(f"{path}receipt/").json
    assert receipt["receipt"]["erasure"] == asked["id"] and receipt["receipt"]["erased"]["facts"] == 1
    done = key.get(path).json
    assert (done["state"], done["has_receipt"], done["user_id"]) == ("done", True, None)
    assert admin.post(f"{path}verify/").json["troubles"] == []
    ErasureRequest.objects.update(signature="forged")
    assert admin.post(f"{path}verify/").json["ok"] is False


def test_a_second_person_approves_and_the_first_may_withdraw(admin: Caller, second: Caller, ann: Membership) -> None:
    asked = admin.post(ERASURES, WHY | {"user_id": "ann"})
    assert (asked.status, asked.json["state"], asked.json["user_id"]) == (202, "asked", "ann")
    assert admin.post(ERASURES, WHY | {"user_id": "ann"}).status == 409
    path = f"{ERASURES}{asked.json['id']}/"
    tag = admin.get(path).response.headers["ETag"]
    assert admin.post(f"{path}approve/").status == 403
    assert second.post(f"{path}approve/").json["state"] == "approved"
    assert admin.post(f"{path}withdraw/", WHY, **{"If-Match": tag}).status == 412
    assert admin.post(f"{path}withdraw/", WHY).json["state"] == "refused"
    assert admin.post(f"{path}withdraw/", WHY).status == 409
    assert [each["id"] for each in admin.get(ERASURES).json["results"]] == [asked.json["id"]]


@pytest.mark.parametrize("path", [ERASURES, HOLDS])
def test_a_page_follows_another(admin: Caller, ann: Membership, tenant: Tenant, path: str) -> None:
    provision_end_user(tenant.id, "bea", name="Bea")
    made = {admin.post(path, WHY | {"user_id": each}).json["id"] for each in ("ann", "bea")}
    first = admin.get(f"{path}?limit=1").json
    second = admin.get(f"{path}?limit=1&cursor={first['next_cursor']}").json
    assert {each["id"] for page in (first, second) for each in page["results"]} == made
    assert second["next_cursor"] is None


def test_members_ask_for_their_own_erasure_and_withdraw_it(ada: Caller, bob: Caller, admin: Caller) -> None:
    assert ada.get("me/erase/").status == 404
    asked = ada.post("me/erase/", WHY).json
    assert (asked["state"], ada.get("me/erase/").json) == ("asked", asked)
    assert admin.get(f"{ERASURES}{asked['id']}/").json["membership_id"] == str(ada.principal.membership_id)
    assert (bob.get("me/erase/").status, bob.delete("me/erase/").status) == (404, 404)
    assert ada.delete("me/erase/").json["state"] == "refused"
    assert ada.delete("me/erase/").status == 409
    by_admin = admin.post(ERASURES, WHY | {"user_id": str(ada.principal.user_id)}).json
    assert (by_admin["state"], ada.delete("me/erase/").status) == ("approved", 403)


def test_no_program_asks_for_a_member_as_the_member(key: Caller, ann: Membership, membership: Membership) -> None:
    assert key.post("me/erase/?user_id=ann", WHY).status == 403
    assert caller_of(membership, ALL_RIGHTS - {Right.DECIDE}).post("me/erase/", WHY).status == 403
    assert not ErasureRequest.objects.exists()


def test_a_hold_stops_what_is_forgotten_until_it_is_released(admin: Caller, ada: Caller, key: Caller) -> None:
    memory_id = ada.post("memories/", {"text": "Likes tea."}).json["memory_id"]
    placed = admin.post(HOLDS, WHY | {"user_id": str(ada.principal.user_id)})
    assert (placed.status, placed.json["owner_id"]) == (201, str(ada.principal.user_id))
    assert ada.delete(f"memories/{memory_id}/").status == 409 and Fact.objects.exists()
    assert admin.post(HOLDS, WHY | {"user_id": str(ada.principal.user_id)}).status == 409
    path = f"{HOLDS}{placed.json['id']}/"
    assert key.get(path).json == placed.json and key.get(HOLDS).json["results"] == [placed.json]
    assert admin.post(f"{path}release/").json["released_at"] is not None
    assert admin.post(f"{path}release/").status == 409
    assert ada.delete(f"memories/{memory_id}/").status == 200
    assert [each["id"] for each in admin.get(f"{HOLDS}?released=true").json["results"]] == [placed.json["id"]]
    assert (
        list(AuditEvent.objects.filter(action__startswith="hold.").values_list("actor_kind", flat=True))
        == ["token"] * 2
    )


def test_a_hold_on_the_tenant_keeps_an_erasure_waiting(admin: Caller, ann: Membership) -> None:
    assert admin.post(HOLDS, WHY | {"whole_tenant": True}).json["owner_id"] is None
    asked = admin.post(ERASURES, WHY | {"user_id": "ann"}).json
    assert asked["on_hold"] and asked["state"] == "approved"
    ErasureRequest.objects.update(begins_at=timezone.now())
    carry_out(ErasureRequest.objects.get().pk)
    assert admin.get(f"{ERASURES}{asked['id']}/").json["state"] == "stopped"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (ERASURES, {"user_id": "ann"}, "reason"),
        (ERASURES, WHY, "user_id"),
        (ERASURES, {"user_id": "ann", "reason": "Card 4111 1111 1111 1111"}, "reason"),
        (HOLDS, WHY, "user_id"),
        (HOLDS, WHY | {"user_id": "ann", "whole_tenant": True}, "whole_tenant"),
    ],
)
def test_bad_input_is_named(admin: Caller, ann: Membership, path: str, body: dict[str, object], field: str) -> None:
    answer = admin.post(path, body)
    assert (answer.status, list(answer.faults)) == (400, [field]) and "4111 1111" not in answer.text
    assert not ErasureRequest.objects.exists() and not LegalHold.objects.exists()


def test_only_administrators_decide(
    admin: Caller, ada: Caller, key: Caller, ann: Membership, tenant: Tenant, second: Caller
) -> None:
    erasure = f"{ERASURES}{admin.post(ERASURES, WHY | {'user_id': 'ann'}).json['id']}/"
    hold = f"{HOLDS}{admin.post(HOLDS, WHY | {'user_id': 'ann'}).json['id']}/"
    auditor = caller_of(make_membership(tenant, role="auditor"))
    assert [auditor.get(path).status for path in (ERASURES, erasure, HOLDS, hold)] == [200] * 4
    staff = Membership.objects.get(pk=second.principal.membership_id)
    deeds: tuple[tuple[str, dict[str, object]], ...] = (
        (f"{erasure}approve/", {}),
        (f"{erasure}withdraw/", {}),
        (f"{hold}release/", {}),
    )
    asking = ((ERASURES, WHY | {"user_id": str(ada.principal.user_id)}), (HOLDS, WHY | {"whole_tenant": True}))
    for caller in (ada, key, auditor, caller_of(staff, ALL_RIGHTS - {Right.ADMINISTER})):
        assert {caller.post(path, body).status for path, body in (*deeds, *asking)} == {403}
    assert {ada.get(path).status for path in (ERASURES, erasure, HOLDS, hold)} == {403}
    assert ErasureRequest.objects.get().state == "asked" and LegalHold.objects.get().released_at is None


def test_other_tenants_find_nothing(admin: Caller, ann: Membership, eve: Caller) -> None:
    erasure = admin.post(ERASURES, WHY | {"user_id": "ann"}).json["id"]
    hold = admin.post(HOLDS, WHY | {"user_id": "ann"}).json["id"]
    tails = [(ERASURES, erasure, verb, tail) for verb, tail in (("GET", ""), ("GET", "receipt/"), ("POST", "verify/"))]
    tails += [(ERASURES, erasure, "POST", tail) for tail in ("approve/", "withdraw/")]
    tails += [(HOLDS, hold, "GET", ""), (HOLDS, hold, "POST", "release/")]
    for caller in (eve, key_of(make_tenant(), Right)):
        for root, target, verb, tail in tails:
            foreign, unknown = (caller.send(verb, f"{root}{each}/{tail}", {}) for each in (target, uuid4()))
            assert foreign.status == 404 and foreign.problem == unknown.problem, (root, tail)
        assert caller.get(ERASURES).json["results"] == caller.get(HOLDS).json["results"] == []
    for path in (ERASURES, HOLDS):
        assert eve.post(path, WHY | {"user_id": "ann"}).status == 404
        assert eve.post(path, WHY | {"user_id": str(ann.pk)}).status == 404
