"""A backend key administers the members of its tenant."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.utils import timezone

from memories.models import ErasureRequest, ExportRequest, Fact, LegalHold, RequestState, Session
from memories.services.approvals import approve
from memories.services.erasure.stages import carry_out
from memories.services.policies import set_policy
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import SYSTEM, Actor, ActorKind, Right
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Caller, caller_of, key_of

WHY = {"reason": "Asked for by the user."}


@pytest.fixture
def staff(tenant: Tenant) -> Membership:
    return make_membership(tenant, role="admin")


@pytest.fixture
def elsewhere(db: None) -> Membership:
    """A member of another tenant with the same id."""
    return provision_end_user(make_tenant().id, "ann")[0]


def test_making_a_member_again_changes_nothing(key: Caller, tenant: Tenant) -> None:
    answers = [key.post("members/", {"user_id": "ann", "name": name}) for name in ("Ann", "Else")]
    assert [(answer.status, answer.json["name"]) for answer in answers] == [(201, "Ann"), (200, "Ann")]
    assert tenant.memberships.count() == 1


def test_bad_input_says_that_nothing_was_stored(key: Caller) -> None:
    assert key.post("members/", {"user_id": ""}).json["detail"].startswith("Nothing was stored: user_id ")


def test_members_are_listed_by_pages(key: Caller, tenant: Tenant, elsewhere: Membership) -> None:
    for name in ("a", "b", "c"):
        provision_end_user(tenant.id, name)
    first = key.get("members/?limit=2").json
    last = key.get(f"members/?limit=2&cursor={first['next_cursor']}").json
    assert [each["user_id"] for each in (*first["results"], *last["results"])] == ["a", "b", "c"]
    assert last["next_cursor"] is None


def test_staff_and_people_without_an_id_are_unknown_to_a_key(key: Caller, tenant: Tenant, staff: Membership) -> None:
    make_membership(tenant)
    Membership.objects.filter(pk=staff.pk).update(external_id="boss")
    assert key.get("members/").json["results"] == []
    assert key.get("members/boss/").problem == key.get("members/nobody/").problem
    assert key.post("members/", {"user_id": "boss"}).status == 403


def test_a_member_is_renamed_deactivated_and_reactivated(key: Caller, ann: Membership) -> None:
    assert key.patch("members/ann/", {"name": "Anna"}).json["name"] == "Anna"
    assert key.patch("members/ann/", {"active": False}).json["active"] is False
    assert key.get("memories/?user_id=ann").status == 404
    assert [each["user_id"] for each in key.get("members/?active=false").json["results"]] == ["ann"]
    assert key.patch("members/ann/", {"active": True}).json["active"] is True
    assert key.get("memories/?user_id=ann").status == 200


def test_the_name_of_somebody_who_signs_in_is_not_a_keys(key: Caller, membership: Membership) -> None:
    Membership.objects.filter(pk=membership.pk).update(external_id="ada")
    assert key.patch("members/ada/", {"name": "Else"}).status == 403
    assert key.get("members/ada/").json["name"] == "Ada"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("DELETE", "members/ann/memories/?user_id=bob", {}),
        ("DELETE", "members/ann/memories/", {"X-Memoryhub-User": "bob"}),
        ("GET", "members/ann/", {"X-Memoryhub-User": "bob"}),
    ],
)
def test_two_names_that_differ_are_refused(
    key: Caller, ann: Membership, method: str, path: str, headers: dict[str, str]
) -> None:
    assert key.send(method, path, **headers).status == 400


def test_everything_of_a_member_is_forgotten_and_nothing_of_others(
    key: Caller, ann: Membership, elsewhere: Membership, bob: Caller
) -> None:
    other = caller_of(elsewhere)
    for caller, who in ((key, {"user_id": "ann"}), (other, {}), (bob, {})):
        assert caller.post("turns/", {"message": "I live in Leeds."} | who).status == 200
        assert caller.post("memories/", {"text": "Likes tea."} | who).status == 201
    left = Fact.objects.exclude(user=ann.user).count(), Session.objects.exclude(user=ann.user).count()
    answer = key.delete("members/ann/memories/").json
    assert answer["complete"] and answer["sessions"] == 1 and answer["memories"] >= 2
    assert (Fact.objects.count(), Session.objects.count()) == left
    assert key.delete("members/ann/memories/").json == {"memories": 0, "sessions": 0, "complete": True}
    assert key.post("memories/", {"text": "Likes coffee.", "user_id": "ann"}).status == 201


def test_a_legal_hold_keeps_everything(key: Caller, ann: Membership) -> None:
    key.post("memories/", {"text": "Likes tea.", "user_id": "ann"})
    LegalHold.objects.create(tenant=ann.tenant, user=ann.user, reason="court")
    assert key.delete("members/ann/memories/").status == 409
    assert Fact.objects.count() == 1


@pytest.mark.parametrize("with_admin", [False, True])
def test_an_administrator_approves_what_a_key_asks_for_where_there_is_one(
    key: Caller, ann: Membership, tenant: Tenant, with_admin: bool
) -> None:
    if with_admin:
        make_membership(tenant, role="admin")
    answer = key.post("members/ann/erase/", WHY)
    assert (answer.status, answer.json["state"]) == (202, "asked" if with_admin else "approved")
    assert (answer.json["begins_at"] is None) is with_admin
    assert key.get("members/ann/erase/").json == answer.json
    assert key.post("members/ann/erase/", WHY).status == 409
    assert AuditEvent.objects.get(action="erasure.asked").actor_kind == "key"


def test_an_erased_member_is_gone_and_their_id_is_free(key: Caller, ann: Membership) -> None:
    key.post("memories/", {"text": "Likes tea.", "user_id": "ann"})
    key.post("members/ann/erase/", WHY)
    ErasureRequest.objects.update(begins_at=timezone.now())
    assert carry_out(ErasureRequest.objects.get().pk)
    assert key.get("members/ann/").status == 404 and not Fact.objects.exists()
    assert key.post("members/", {"user_id": "ann"}).status == 201


def test_an_export_is_downloaded_once_by_the_key_that_asked(key: Caller, ann: Membership, tenant: Tenant) -> None:
    key.post("memories/", {"text": "Likes tea.", "user_id": "ann"})
    assert key.get("members/ann/export/").status == 409
    assert key.post("members/ann/export/", WHY).json["state"] == "approved"
    assert key_of(tenant, Right).get("members/ann/export/").status == 409
    archive = key.send("GET", "members/ann/export/", Accept="application/zip").response
    with zipfile.ZipFile(io.BytesIO(b"".join(archive))) as files:
        assert b"Likes tea." in files.read("memory.jsonl")
    assert key.get("members/ann/export/").status == 409
    look = caller_of(ann).get("looks/").json["results"][0]
    assert (look["role"], look["what"]) == ("your organisation's program", "took your whole memory along")


def test_an_export_waits_for_an_administrator(key: Caller, ann: Membership, staff: Membership) -> None:
    assert key.post("members/ann/export/", WHY).json["state"] == "asked"
    assert key.get("members/ann/export/").status == 409
    approve(Actor(ActorKind.STAFF, staff.user_id), ExportRequest, ExportRequest.objects.get().pk)
    assert ExportRequest.objects.get().state == RequestState.APPROVED
    assert key.get("members/ann/export/").status == 200


def test_a_key_asks_for_no_more_exports_a_day_than_a_person(key: Caller, ann: Membership, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, exports_daily=1)
    provision_end_user(tenant.id, "bob")
    assert [key.post(f"members/{who}/export/", WHY).status for who in ("ann", "bob")] == [202, 409]


def test_administering_isolates_other_tenants(key: Caller, elsewhere: Membership) -> None:
    unknown = key.get("members/ann/").problem
    probes: tuple[tuple[str, str, object], ...] = (
        ("PATCH", "members/ann/", {"active": False}),
        ("DELETE", "members/ann/memories/", None),
        ("POST", "members/ann/erase/", WHY),
        ("POST", "members/ann/export/", WHY),
        ("GET", f"members/{elsewhere.pk}/", None),
    )
    for method, path, body in probes:
        assert key.send(method, path, body).problem == unknown, path
    elsewhere.refresh_from_db()
    assert elsewhere.is_active and not ErasureRequest.objects.exists() and not ExportRequest.objects.exists()


def test_no_member_administers_members(eve: Caller, ada: Caller) -> None:
    for caller in (eve, ada):
        assert caller.get("members/").status == 403
