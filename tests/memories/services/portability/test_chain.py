"""How a fact came to be leaves as its states, links, words and events, of one owner alone."""

from __future__ import annotations

import io
import uuid
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from memories.errors import NotFound
from memories.models import MEMORY_MODELS
from memories.services.admin_requests import note_reading
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.portability import ChainExport, export_chain
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Scope
from memoryhub.signing.archive import NotGenuine, genuine
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS, Actor, ActorKind, Principal
from tenants.principals import reading_principal
from tenants.selectors import has_role
from tests.factories import make_membership
from tests.memories.services.portability.conftest import BOTH, lines


@pytest.fixture
def moved(principal: Principal) -> list[uuid.UUID]:
    """Ada moved twice: Hull, York, Leeds."""
    session = start_session(principal, title="Moving").pk
    said = remember_episode(principal, session_id=session, text="We live in Hull now").memory_id
    first = remember_fact(principal, text="Lives in Hull", key="home_city", supporting_episode_ids=[said]).memory_id
    states = [first]
    for city in ("York", "Leeds"):
        outcome = supersede(principal, old_ids=[states[-1]], text=f"Lives in {city}")
        states.append(outcome.memory_id)
    return states


def open_history(staff: User, memory_id: uuid.UUID, kind: Kind = Kind.SEMANTIC) -> None:
    """`staff` opens the page of the chain, if it is a member's and they may."""
    rows = MEMORY_MODELS[kind].objects.unscoped("the test").filter(pk=memory_id, user__isnull=False)
    row = rows.first()
    member = row and Membership.objects.filter(tenant=row.tenant_id, user=row.user_id).first()
    if member and has_role(staff, member.tenant_id, AUDITS):
        reader = reading_principal(member, staff=staff)
        note_reading(reader, "history", target_kind=kind.value, target_id=memory_id)


def exported(staff: User, memory_id: uuid.UUID, kind: Kind = Kind.SEMANTIC, forms: Any = BOTH) -> bytes:
    actor = Actor(ActorKind.STAFF, staff.pk, "request-79")
    open_history(staff, memory_id, kind)
    return b"".join(export_chain(ChainExport(kind, memory_id), staff=staff, actor=actor, forms=forms))


def test_each_state_leads_to_the_whole_chain(
    principal: Principal, moved: list[uuid.UUID], auditor: User, tmp_path: Path
) -> None:
    remember_fact(principal, text="Keeps bees", key="hobby")
    archives = [exported(auditor, state) for state in moved]
    archive = archives[0]
    for each in archives:
        assert [row["text"] for row in lines(each, "states.jsonl")] == [
            "Lives in Hull", "Lives in York", "Lives in Leeds",
        ]  # fmt: skip
    assert [(row["from"], row["to"]) for row in lines(archive, "links.jsonl")] == [
        (str(moved[0]), str(moved[1])), (str(moved[1]), str(moved[2])),
    ]  # fmt: skip
    assert {row["text"] for row in lines(archive, "words.jsonl")} == {"We live in Hull now"}
    assert {event["target_id"] for event in lines(archive, "audit_events.jsonl")} == set(map(str, moved))
    (tmp_path / "chain.zip").write_bytes(archive)
    call_command("verify_export", str(tmp_path / "chain.zip"), stdout=io.StringIO())


def test_it_is_recorded_in_the_owners_trail(moved: list[uuid.UUID], auditor: User, principal: Principal) -> None:
    exported(auditor, moved[0])
    event = AuditEvent.objects.get(action="chain.exported")
    assert (event.owner_id, event.target_id, event.actor_id) == (principal.user_id, moved[0], auditor.pk)
    assert event.payload.data["after"] == {"states": 3, "formats": ["csv", "jsonl"]}


def test_what_a_tenant_shares_is_recorded_in_its_own_trail(admin_principal: Principal, auditor: User) -> None:
    own = remember_fact(admin_principal, text="The office is in Hull", key="office").memory_id
    shared = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=own, to=Scope.TENANT).memory_id
    archive = exported(auditor, shared)
    assert [row["id"] for row in lines(archive, "states.jsonl")] == [str(shared)]
    event = AuditEvent.objects.get(action="chain.exported")
    assert (event.tenant_id, event.owner_id) == (admin_principal.tenant_id, None)


def test_a_foreign_chain_is_as_an_unknown_one_and_one_of_a_kind_without_chains(
    moved: list[uuid.UUID], auditor: User
) -> None:
    foreign = make_membership(role="admin").user
    absent = [(foreign, moved[0], Kind.SEMANTIC), (foreign, uuid.uuid4(), Kind.SEMANTIC)]
    absent += [(auditor, moved[0], kind) for kind in (Kind.EPISODIC, Kind.CATALOG)]
    for staff, memory_id, kind in absent:
        with pytest.raises(NotFound) as error:
            exported(staff, memory_id, kind)
        assert str(error.value) == str(NotFound("memory"))


def test_support_and_members_export_no_chain(moved: list[uuid.UUID], membership: Membership) -> None:
    with pytest.raises(Forbidden):
        exported(make_membership(membership.tenant, role="support").user, moved[0])
    with pytest.raises(NotFound):
        exported(make_membership(membership.tenant).user, moved[0])
    assert not AuditEvent.objects.filter(action="chain.exported").exists()


def test_a_history_that_is_forgotten_meanwhile_ends_without_a_manifest(
    auditor: User, principal: Principal, moved: list[uuid.UUID]
) -> None:
    wanted, actor = ChainExport(Kind.SEMANTIC, moved[-1]), Actor(ActorKind.STAFF, auditor.pk)
    pieces, sent = export_chain(wanted, staff=auditor, actor=actor, forms=BOTH), io.BytesIO()
    sent.write(next(pieces))
    forget(principal, kind=Kind.SEMANTIC, memory_id=moved[-1])
    with pytest.raises(NotFound):
        sent.writelines(pieces)
    with pytest.raises(NotGenuine), genuine(io.BytesIO(sent.getvalue())):
        pass


def test_without_the_page_opened_it_holds_digests_alone(moved: list[uuid.UUID], auditor: User) -> None:
    actor = Actor(ActorKind.STAFF, auditor.pk)

    def export() -> bytes:
        return b"".join(export_chain(ChainExport(Kind.SEMANTIC, moved[0]), staff=auditor, actor=actor, forms=BOTH))

    closed = export()
    assert len(lines(closed, "states.jsonl")) == 3 and lines(closed, "words.jsonl") == []
    assert b"Leeds" not in unzipped(closed) and b"Hull" not in unzipped(closed)
    events = lines(closed, "audit_events.jsonl")
    assert all(event["payload"] is None and event["withheld"] for event in events if event["owner_id"])
    open_history(auditor, moved[1])
    assert b"Leeds" in unzipped(export())


def unzipped(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        return b"".join(zipped.read(name) for name in zipped.namelist())
