"""A member's whole memory leaves for administrators, is recorded, comes back by an import, and is theirs alone."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.models import ErasureRequest, ExportRequest, RequestState
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.services.facts.remember import remember_fact
from memories.services.portability import export_member
from memoryhub.signing.archive import NotGenuine, TableFormat, genuine
from tenants.audit.chain import owner_chain
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditHead, Membership, User
from tenants.principal import SYSTEM, Principal
from tests.factories import make_membership
from tests.memories.services.portability.conftest import BOTH, lines
from tests.memories.services.test_exporting import live_a_little


def approved(membership: Membership, staff: User) -> ExportRequest:
    """What `staff` asked for and may take now."""
    return ExportRequest.objects.create(
        tenant=membership.tenant, membership=membership, state=RequestState.APPROVED, reason="a claim",
        asked_by=staff, decided_at=timezone.now(),
    )  # fmt: skip


def exported(membership: Membership, staff: User, *forms: TableFormat) -> bytes:
    return b"".join(export_member(approved(membership, staff), by=staff, forms=forms))


def test_it_has_everything_in_both_forms(principal: Principal, membership: Membership, admin: User) -> None:
    live_a_little(principal)
    with genuine(io.BytesIO(exported(membership, admin, *BOTH))) as opened:
        rows = {entry.name: entry.rows for entry in opened.files}
        assert opened.manifest["whose"]["owner_id"] == str(principal.user_id)
    assert rows["facts.csv"] and rows["how_tos.csv"] and rows["episodes.csv"]
    assert rows["memory.jsonl"] == rows["facts.csv"] + rows["how_tos.csv"] + rows["episodes.csv"]
    assert rows["sessions.jsonl"] == rows["sessions.csv"] > 0
    events = AuditHead.objects.get(chain=owner_chain(principal.tenant_id, principal.user_id)).length
    assert rows["audit_events.jsonl"] == rows["audit_events.csv"] == events
    others = {"transcript", "reviews", "runs", "recalls", "uses", "session_notes", "feedback"}
    assert {name.split(".")[0] for name in rows} >= others


def test_export_isolates_others(principal: Principal, membership: Membership, stranger: Principal, admin: User) -> None:
    remember_fact(principal, text="Plays the viola")
    remember_fact(stranger, text="Plays the kazoo")
    with zipfile.ZipFile(io.BytesIO(exported(membership, admin, *BOTH))) as zipped:
        everything = b"".join(zipped.read(name) for name in zipped.namelist())
    assert b"viola" in everything and b"kazoo" not in everything
    assert str(stranger.user_id).encode() not in everything


def test_other_roles_and_an_administrator_of_another_tenant_get_nothing(membership: Membership) -> None:
    for tenant, role in (
        (membership.tenant, "member"),
        (membership.tenant, "support"),
        (membership.tenant, "auditor"),
        (None, "admin"),
    ):
        with pytest.raises(Forbidden):
            exported(membership, make_membership(tenant, role=role).user)
    assert not AuditEvent.objects.filter(action="memory.exported").exists()


def test_it_is_recorded_before_the_first_byte(membership: Membership, admin: User) -> None:
    pieces = export_member(approved(membership, admin), by=admin, forms=BOTH, request_id="request-78")
    event = AuditEvent.objects.get(action="memory.exported")
    assert (event.owner_id, event.actor_kind, event.actor_id) == (membership.user_id, "staff", admin.pk)
    assert event.request_id == "request-78" and next(pieces)


def test_a_member_who_left_can_still_be_exported(principal: Principal, membership: Membership, admin: User) -> None:
    remember_fact(principal, text="Plays the viola")
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    assert lines(exported(membership, admin), "memory.jsonl")[0]["text"] == "Plays the viola"


def test_no_cell_is_a_formula(principal: Principal, membership: Membership, admin: User) -> None:
    remember_fact(principal, text="=2+5 is what Ada says")
    archive = exported(membership, admin, *BOTH)
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        (row,) = csv.DictReader(io.StringIO(zipped.read("facts.csv").decode("utf-8-sig"), newline=""))
    assert row["text"] == "'=2+5 is what Ada says"
    assert lines(archive, "memory.jsonl")[0]["text"] == "=2+5 is what Ada says"


def test_more_memories_take_no_more_queries(principal: Principal, membership: Membership, admin: User) -> None:
    counts = []
    for number in range(3):
        remember_fact(principal, text=f"Grew rose number {number}", key=f"rose_{number}")
        with CaptureQueriesContext(connection) as queries:
            exported(membership, admin, *BOTH)
        counts.append(len(queries))
    assert counts[1] == counts[2]


def broken_off(membership: Membership, staff: User, happens: Callable[[], object]) -> None:
    """Begin an export in the middle of which something happens that ends it: what was sent has no manifest."""
    pieces, sent = export_member(approved(membership, staff), by=staff, forms=BOTH), io.BytesIO()
    sent.write(next(pieces))
    happens()
    with pytest.raises(Forbidden):
        sent.writelines(pieces)
    with pytest.raises(NotGenuine), genuine(io.BytesIO(sent.getvalue())):
        pass


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user: user.memberships.update(role="support"), id="another role"),
        pytest.param(lambda user: user.memberships.update(is_active=False), id="no member any more"),
        pytest.param(lambda user: User.objects.filter(pk=user.pk).update(is_active=False), id="switched off"),
        pytest.param(lambda user: User.objects.filter(pk=user.pk).update(is_staff=False), id="no staff any more"),
    ],
)
def test_who_may_not_any_more_gets_no_manifest(
    principal: Principal, membership: Membership, admin: User, change: Callable[[User], object]
) -> None:
    live_a_little(principal)
    User.objects.filter(pk=admin.pk).update(is_staff=True)
    admin.refresh_from_db()
    broken_off(membership, admin, lambda: change(admin))


def test_an_export_of_a_member_who_is_erased_meanwhile_ends_without_a_manifest(
    principal: Principal, membership: Membership, admin: User
) -> None:
    live_a_little(principal)
    erasure = ask_erasure(SYSTEM, membership_id=membership.pk, reason="asked by letter")
    broken_off(membership, admin, lambda: carry_out(erasure.pk))


def test_nothing_is_exported_of_a_member_who_is_being_erased(membership: Membership, admin: User) -> None:
    erasure = ask_erasure(SYSTEM, membership_id=membership.pk, reason="asked by letter")
    ErasureRequest.objects.filter(pk=erasure.pk).update(state="running", started_at=timezone.now())
    with pytest.raises(Forbidden, match="being erased"):
        exported(membership, admin)
    assert not AuditEvent.objects.filter(action="memory.exported").exists()
