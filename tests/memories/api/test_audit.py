"""The audit log by API: a member's own chain, and the tenant's for auditors, administrators and backend keys."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from memories.services.policies import set_policy
from tenants.audit.chain import owner_chain
from tenants.audit.verification import verify_chain
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import ALL_RIGHTS, SYSTEM, Right
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Caller, caller_of, key_of

FACT = {"text": "Plays the xylophone.", "key": "instrument"}


@pytest.fixture
def auditor(tenant: Tenant) -> Caller:
    return caller_of(make_membership(tenant, role="auditor", name="Mara"))


def created(caller: Caller, text: str = FACT["text"]) -> AuditEvent:
    """The event of a new fact of the caller's."""
    memory_id = caller.post("memories/", {"text": text, "key": "instrument"}).json["memory_id"]
    return AuditEvent.objects.get(target_id=memory_id, action="fact.created")


def test_a_member_reads_what_happened_latest_first_and_without_words(ada: Caller) -> None:
    event = created(ada)
    ada.post(f"memories/{event.target_id}/retire/", {})
    first = ada.get("audit/?limit=1").json
    rest = ada.get(f"audit/?limit=50&cursor={first['next_cursor']}").json
    entries = [*first["results"], *rest["results"]]
    assert [each["sequence"] for each in entries] == sorted((each["sequence"] for each in entries), reverse=True)
    entry = next(each for each in entries if each["id"] == str(event.pk))
    assert (entry["digest"], entry["actor_kind"], entry["fault"]) == (event.digest, "token", "")
    assert "xylophone" not in ada.get("audit/").text and rest["next_cursor"] is None


def test_the_log_is_narrowed_by_action_memory_request_and_time(ada: Caller) -> None:
    first, second = created(ada), created(ada, "Plays the cello.")
    both = {first.pk, second.pk}
    wanted = {
        "action=fact.created": both,
        f"memory={second.target_id}&action=fact.*": {second.pk},
        f"request={first.request_id}&action=fact.created,playbook.created": {first.pk},
        "since=2020-01-01T00:00:00Z&action=fact.created": both,
        "until=2020-01-01T00:00:00Z": set(),
    }
    for query, ids in wanted.items():
        assert {UUID(each["id"]) for each in ada.get(f"audit/?{query}").json["results"]} == ids, query


@pytest.mark.parametrize(
    "query", ["since=yesterday", "memory=7", "cursor=a:b:c", "until=2020-01-01T00:00:00Z&since=2020-01-01T00:00:00Z"]
)
def test_a_bad_filter_is_named(ada: Caller, query: str) -> None:
    answer = ada.get(f"audit/?{query}")
    assert answer.status == 400 and set(answer.faults) <= {"since", "until", "memory", "cursor"}


def test_an_event_shows_its_member_what_was_written(ada: Caller) -> None:
    event = created(ada)
    count = AuditEvent.objects.count()
    assert ada.get(f"audit/{event.pk}/").json["after"]["text"] == FACT["text"]
    assert AuditEvent.objects.count() == count


def test_a_member_sees_that_staff_looked_and_not_who_if_the_policy_hides_it(
    ada: Caller, auditor: Caller, tenant: Tenant
) -> None:
    event = created(ada)
    assert auditor.get(f"tenant/audit/{event.pk}/").json["after"]["text"] == FACT["text"]
    read = ada.get("audit/?action=audit.read").json["results"][0]
    assert (read["actor"], read["actor_id"]) == ("Mara", str(auditor.principal.user_id))
    set_policy(SYSTEM, tenant_id=tenant.id, looks_name_staff=False)
    read = ada.get(f"audit/{read['id']}/").json
    assert (read["actor"], read["actor_id"]) == ("Staff", None) and "Mara" not in str(read)


def test_staff_state_a_reason_where_the_policy_asks(ada: Caller, auditor: Caller, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, reason_to_look=True)
    event = created(ada)
    assert "reason" in auditor.get(f"tenant/audit/{event.pk}/").faults
    assert auditor.get(f"tenant/audit/{event.pk}/?reason=Ticket%207").status == 200
    assert ada.get("looks/").json["results"][0]["reason"] == "Ticket 7"


def test_a_key_reads_the_log_of_its_tenant_and_its_reading_is_recorded(tenant: Tenant, ada: Caller) -> None:
    ann = provision_end_user(tenant.id, "ann")[0]
    key = key_of(tenant, Right)
    memory_id = key.post("memories/", FACT | {"user_id": "ann"}).json["memory_id"]
    event = AuditEvent.objects.get(target_id=memory_id, action="fact.created")
    created(ada)
    owners = {each["owner_id"] for each in key.get("tenant/audit/?user_id=ann").json["results"]}
    assert owners == {str(ann.user_id)}
    assert len({each["owner_id"] for each in key.get("tenant/audit/").json["results"]}) == 3
    for path in (f"tenant/audit/{event.pk}/", f"audit/{event.pk}/?user_id=ann"):
        assert key.get(path).json["after"]["text"] == FACT["text"]
    looks = caller_of(ann).get("looks/").json["results"]
    assert [each["role"] for each in looks] == ["your organisation's program"] * 2
    assert key_of(tenant, {Right.AUDIT}).get(f"tenant/audit/{event.pk}/").status == 403


def test_a_key_reads_nothing_that_was_written_of_staff(tenant: Tenant) -> None:
    event = created(caller_of(make_membership(tenant, role="admin")))
    key = key_of(tenant, Right)
    assert key.get(f"tenant/audit/{event.pk}/").problem == key.get(f"tenant/audit/{uuid4()}/").problem
    assert str(event.pk) in key.get("tenant/audit/").text and "instrument" not in key.get("tenant/audit/").text


def test_members_read_their_own_log_alone(ada: Caller, bob: Caller, eve: Caller, tenant: Tenant) -> None:
    event = created(ada)
    stranger = key_of(make_tenant(), Right)
    paths = {f"audit/{event.pk}/": (bob, eve), f"tenant/audit/{event.pk}/": (eve, stranger)}
    for path, callers in paths.items():
        for caller in callers:
            unknown = caller.get(path.replace(str(event.pk), str(uuid4())))
            assert caller.get(path).problem == unknown.problem and unknown.status == 404
    for path in ("tenant/audit/", f"tenant/audit/{event.pk}/"):
        assert bob.get(path).status == 403
        assert caller_of(make_membership(tenant, role="support")).get(path).status == 403
    for who in (ada.principal.user_id, ada.principal.membership_id):
        assert eve.get(f"tenant/audit/?user_id={who}").status == 404
    assert str(event.pk) not in eve.get("tenant/audit/").text + stranger.get("tenant/audit/").text


def test_the_scope_is_needed(membership: Membership, tenant: Tenant) -> None:
    Membership.objects.filter(pk=membership.pk).update(role="admin")
    membership.refresh_from_db()
    for caller in (caller_of(membership, ALL_RIGHTS - {Right.AUDIT}), key_of(tenant, set(Right) - {Right.AUDIT})):
        assert caller.get("tenant/audit/").status == 403


def test_a_chain_is_verified_now_up_to_its_last_event(ada: Caller, auditor: Caller, tenant: Tenant) -> None:
    created(ada)
    chain = owner_chain(tenant.id, ada.principal.user_id)
    proven = ada.post("audit/verify/").json
    assert proven["ok"] and proven["verified_up_to"] == verify_chain(chain).events > 0
    named = auditor.post("tenant/audit/verify/", {"user_id": str(ada.principal.user_id)}).json
    assert (named["digest"], named["verified_up_to"]) == (proven["digest"], proven["verified_up_to"])
    assert auditor.post("tenant/audit/verify/").json["digest"] != proven["digest"]


def test_a_call_of_an_app_that_is_kept_apart_has_no_log(ada: Caller, tenant: Tenant) -> None:
    set_policy(SYSTEM, tenant_id=tenant.id, apps_apart=True)
    assert ada.send("GET", "audit/", **{"X-Memoryhub-App": "planner"}).status == 403
    assert ada.get("audit/").status == 200
