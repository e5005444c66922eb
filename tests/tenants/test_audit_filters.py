"""What is asked of the trail is understood, or refused in words; it is of one tenant."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from tenants.audit.listing import AuditFilter, read_filter
from tenants.errors import InvalidValue
from tenants.models import AuditEvent, Membership, User
from tenants.principal import Principal
from tests.tenants.audit_events import append


def test_a_member_is_found_by_every_name_of_theirs(membership: Membership) -> None:
    Membership.objects.filter(pk=membership.pk).update(external_id="crm-12")
    user = membership.user
    for name in (user.username, "ada", "crm-12", str(membership.pk), str(user.pk)):
        assert read_filter(membership.tenant_id, {"member": name}).member == user.pk


@pytest.mark.parametrize("field", ["member", "actor"])
def test_names_of_other_tenants_are_unknown(field: str, membership: Membership, other_tenant_member: Principal) -> None:
    foreign = User.objects.get(pk=other_tenant_member.user_id)
    said = set()
    for name in (foreign.username, "nobody-at-all"):
        with pytest.raises(InvalidValue) as error:
            read_filter(membership.tenant_id, {field: name})
        said.add(str(error.value))
    assert len(said) == 1


def test_a_name_of_two_members_is_refused(membership: Membership, other_member: Principal) -> None:
    User.objects.filter(pk=other_member.user_id).update(display_name="ADA")
    with pytest.raises(InvalidValue, match="Several"):
        read_filter(membership.tenant_id, {"member": "Ada"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("since", "yesterday", id="no day"),
        pytest.param("until", "9999-12-31", id="the last day of all"),
        pytest.param("since", "0001-01-01T00:00+14:00", id="before all time"),
        pytest.param("until", "9999-12-31T23:59-14:00", id="after all time"),
        pytest.param("target", "home_city", id="no id"),
        pytest.param("actor_kind", "robot", id="no kind of actor"),
        pytest.param("action", "x\0", id="no text"),
        pytest.param("request", "r" * 151, id="longer than any"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(field: str, value: str) -> None:
    with pytest.raises(InvalidValue) as error:
        read_filter(uuid.uuid4(), {field: value})
    assert error.value.field == field and value not in str(error.value)


def test_a_range_runs_forward() -> None:
    with pytest.raises(InvalidValue, match="end must come after"):
        read_filter(uuid.uuid4(), {"since": "2026-03-02", "until": "2026-03-01"})


def test_the_last_day_is_all_of_it() -> None:
    wanted = read_filter(uuid.uuid4(), {"since": "2026-03-01", "until": "2026-03-01"})
    assert (wanted.since, wanted.until) == (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))


def test_each_filter_narrows(principal: Principal, other_member: Principal, other_tenant_member: Principal) -> None:
    target = uuid.uuid4()
    (mine,) = append(principal, "fact.created", target_id=target)
    (other,) = append(other_member, "playbook.created")
    append(other_tenant_member, "fact.created", target_id=target)

    def found(**asked: str) -> set[AuditEvent]:
        return set(read_filter(principal.tenant_id, asked).events())

    assert found() == {mine, other}
    assert found(member=str(principal.user_id)) == found(actor="Ada") == found(target=str(target)) == {mine}
    assert found(action="playbook.created") == found(action="playbook.*") == {other}
    assert found(actor="member") == {mine, other} and found(actor_kind="agent") == set()
    assert found(since="2090-01-01") == found(until="1990-01-01") == found(request="unknown-request") == set()
    assert found(member=str(other_tenant_member.user_id)) == set()


def test_an_address_gives_the_same_filter_back(principal: Principal) -> None:
    wanted = AuditFilter(
        tenant=principal.tenant_id, member=principal.user_id, actor=principal.user_id, actor_kind="agent",
        action="fact.*", request="request-1234", target=uuid.uuid4(), since=datetime(2026, 3, 1, 8, 30, tzinfo=UTC),
        until=datetime(2026, 3, 2, tzinfo=UTC),
    )  # fmt: skip
    told = wanted.as_dict()
    assert read_filter(uuid.UUID(told.pop("tenant")), told) == wanted
