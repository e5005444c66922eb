"""Row-level security of PostgreSQL: by SQL as the role that serves, and at the edges without the queries' filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction
from django.db.models import Q

from memories.models import Fact
from memories.models.base import MemoryQuerySet
from memories.models.guard import OwnedQuerySet
from memories.recall.pipeline import recall
from memories.services.facts.remember import remember_fact
from memories.services.write import write
from memoryhub.db import compiled_query, row_security
from memoryhub.db.scope import DatabaseScope, OwnerScope, WideRole, acting_as, confined_to, current_scope
from memoryhub.worker import wanted_jobs
from tenants.auditors import TenantCheck
from tenants.errors import Forbidden
from tenants.models import Membership, User
from tenants.oidc.providers import refuses_password
from tenants.principal import Principal
from tenants.provider_models import IdentityProvider
from tests.factories import make_membership, own_principal
from tests.memories.api.caller import caller_of
from tests.serving_role import as_owner

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no row-level security"),
]
UNPROTECTED = {
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_session",
    "memoryhub_cache",
    "memoryhub_quota",
    "tenants_oauthclient",
}
TABLES = sorted(row_security.protected())
# What a sign-in reads beside the tables of tenants.
OF_SIGNING_IN = {"account_emailaddress", "mfa_authenticator", "usersessions_usersession"}


@pytest.fixture
def eve() -> Membership:
    """Eve, a member of another tenant."""
    return make_membership(name="Eve")


@pytest.fixture
def lives(membership: Membership, eve: Membership) -> tuple[OwnerScope, OwnerScope]:
    """The scopes of Ada and Eve after a conversation each, through the edge."""
    for member in (membership, eve):
        sent = caller_of(member).post("turns/", {"message": f"My cat is called {member.user.display_name}cat."})
        assert sent.status == 200, sent.text
    return scope_of(own_principal(membership)), scope_of(own_principal(eve))


def scope_of(principal: Principal) -> OwnerScope:
    return OwnerScope(principal.tenant_id, principal.user_id)


def execute(statement: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement in a savepoint; its rows, or nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]


def changed(statement: str, values: list[Any]) -> int:
    """The number of changed rows; 0 without the right to change the table."""
    try:
        ((count,),) = execute(statement, values)
    except ProgrammingError as error:
        if not str(error).startswith("permission denied"):
            raise
        return 0
    return int(count)


def rows(table: str, scope: DatabaseScope) -> dict[str, str]:
    """The visible rows as JSON by their place in the table; none without the right to read it."""
    with acting_as(scope):
        try:
            found = execute(f"SELECT ctid::text, to_jsonb(t)::text FROM {table} t")  # noqa: S608 - a table name
        except ProgrammingError:
            return {}
    return dict(found)


def test_every_table_has_a_forced_policy_or_is_named_here() -> None:
    assert row_security.weaknesses() == []
    assert {model._meta.db_table for model in row_security.models()} - row_security.protected().keys() == UNPROTECTED


def test_a_table_without_a_policy_is_reported() -> None:
    with as_owner():
        execute("DROP POLICY memoryhub_owner ON memories_mention")
    assert row_security.weaknesses() == ["Tables without a forced policy: memories_mention."]
    assert [warning.id for warning in row_security.row_security_holds(None)] == ["memoryhub.W003"]
    assert row_security.holds() == "unenforced"


def test_serving_as_the_owner_is_reported() -> None:
    with as_owner():
        assert len(row_security.weaknesses()) == 3


def test_no_scope_shows_nothing_and_an_owners_scope_its_own(lives: tuple[OwnerScope, OwnerScope]) -> None:
    ada, eve = lives
    filled = set()
    for table in TABLES:
        assert rows(table, None) == {}, table
        of_ada, of_eve = rows(table, ada), rows(table, eve)
        assert not of_ada.keys() & of_eve.keys(), table
        assert of_ada.keys() | of_eve.keys() <= rows(table, WideRole.JOBS).keys(), table
        filled |= {table} if of_ada and of_eve else set()
    assert {"memories_fact", "memories_fact_supporting_episodes", "memories_message"} <= filled
    assert {"tenants_auditevent", "tenants_auditpayload", "tenants_audithead", "tenants_user"} <= filled
    assert len(filled) >= 14


@pytest.mark.parametrize(
    "change", ["DELETE FROM {table} WHERE ctid = %s", "UPDATE {table} SET {column} = {column} WHERE ctid = %s"]
)
def test_no_row_of_another_is_changed(lives: tuple[OwnerScope, OwnerScope], change: str) -> None:
    ada, eve = lives
    for table in TABLES:
        for place, row in rows(table, eve).items():
            statement = change.format(table=table, column=f'"{next(iter(json.loads(row)))}"')
            with acting_as(ada):
                assert changed(statement, [place]) == 0, table


def test_no_row_of_another_is_inserted(lives: tuple[OwnerScope, OwnerScope]) -> None:
    ada, eve = lives
    for table in TABLES:
        for row in rows(table, eve).values():
            insert = f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s::jsonb)"  # noqa: S608
            with acting_as(ada), pytest.raises(ProgrammingError, match=r"row-level security|permission denied"):
                execute(insert, [row])


REFUSED = [
    "UPDATE tenants_auditevent SET action = action",
    "DELETE FROM tenants_auditevent",
    "UPDATE tenants_auditpayload SET document = document",
    "DELETE FROM tenants_audithead",
    "TRUNCATE tenants_auditevent CASCADE",
    "TRUNCATE memories_fact CASCADE",
    "ALTER TABLE tenants_auditevent DISABLE TRIGGER ALL",
    "DROP TRIGGER audit_event_is_not_updated ON tenants_auditevent",
    "ALTER TABLE memories_fact DISABLE ROW LEVEL SECURITY",
    "DROP POLICY memoryhub_owner ON memories_fact",
    "CREATE POLICY more ON memories_fact USING (true)",
    "CREATE OR REPLACE FUNCTION memoryhub_tenant() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
    "CREATE TABLE public.more (id int)",
    "UPDATE django_migrations SET app = app",
    "SET ROLE {owner}",
]


@pytest.mark.parametrize("scope", [None, *WideRole], ids=str)
@pytest.mark.parametrize("statement", REFUSED)
def test_what_serves_changes_neither_tables_nor_the_audit_log(statement: str, scope: DatabaseScope) -> None:
    owner = connection.ops.quote_name(connection.settings_dict["USER"])
    with acting_as(scope), pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
        execute(statement.format(owner=owner))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tenants_membership SET role = 'admin'",
        "UPDATE tenants_user SET is_superuser = true",
        "UPDATE tenants_tenant SET is_active = false",
        "INSERT INTO tenants_apitoken (id) VALUES (gen_random_uuid())",
    ],
)
def test_a_members_scope_changes_nothing_of_who_may_act(principal: Principal, statement: str) -> None:
    with acting_as(scope_of(principal)), pytest.raises(ProgrammingError, match="permission denied"):
        execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tenants_tenantcheck SET results = '[]'",
        "DELETE FROM tenants_tenantcheck",
        "INSERT INTO tenants_tenantcheck (id) VALUES (gen_random_uuid())",
    ],
)
def test_a_members_scope_reads_verifications_and_only_jobs_and_staff_write_them(
    principal: Principal, statement: str
) -> None:
    with acting_as(WideRole.STAFF):
        check = TenantCheck.objects.create(tenant_id=principal.tenant_id)
    with acting_as(WideRole.JOBS):
        check.save(force_update=True)
    with acting_as(scope_of(principal)):
        assert TenantCheck.objects.get() == check
        with pytest.raises(ProgrammingError, match="permission denied"):
            execute(statement)


def test_finding_out_who_asks_reads_no_memory(principal: Principal) -> None:
    for table in TABLES:
        if not table.startswith("tenants_") and table not in OF_SIGNING_IN:
            with acting_as(WideRole.SIGN_IN), pytest.raises(ProgrammingError, match="permission denied"):
                execute(f"SELECT 1 FROM {table}")  # noqa: S608 - a table name


def test_a_rolled_back_savepoint_does_not_leave_another_scope(principal: Principal, eve: Membership) -> None:
    with acting_as(scope_of(principal)):
        (before,) = execute("SELECT memoryhub_member()")
        with transaction.atomic(), acting_as(scope_of(own_principal(eve))):
            assert execute("SELECT memoryhub_member()") == [(eve.user_id,)]
            transaction.set_rollback(True)
        assert execute("SELECT memoryhub_member()") == [before] == [(principal.user_id,)]
    with acting_as(None):
        assert execute("SELECT memoryhub_member(), current_user = session_user") == [(None, True)]


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_the_scope_ends_with_the_statement(principal: Principal) -> None:
    with connection.cursor() as cursor:
        with confined_to(principal.tenant_id, principal.user_id):
            cursor.execute("SELECT id, %s FROM tenants_user", ["100%"])
            assert cursor.fetchall() == [(principal.user_id, "100%")]
        with acting_as(None):
            cursor.execute("SELECT memoryhub_member(), current_user")
            assert cursor.fetchone() == (None, row_security.SERVING_ROLE)


def test_a_members_scope_reads_no_secret_of_a_provider(principal: Principal) -> None:
    IdentityProvider.objects.create(
        tenant_id=principal.tenant_id,
        issuer="https://login.example",
        client_id="us",
        secret="sealed",
        passwords_off=True,
    )
    with acting_as(scope_of(principal)):
        assert refuses_password(User.objects.get(pk=principal.user_id))
        for column in ("secret", "*"):
            with pytest.raises(ProgrammingError, match="permission denied"):
                execute(f"SELECT {column} FROM tenants_identityprovider")  # noqa: S608 - two names


def test_a_members_request_writes_for_nobody_else(principal: Principal, other_member: Principal) -> None:
    with acting_as(scope_of(principal)):
        with pytest.raises(Forbidden), write(other_member):
            pass
        with write(principal):
            remember_fact(principal, text="Her own.")


def test_a_job_is_confined_to_the_owner_that_it_writes_for(principal: Principal, other_member: Principal) -> None:
    with write(principal):
        assert current_scope() == scope_of(principal)
        with write(other_member):
            assert current_scope() == scope_of(other_member)
    assert current_scope() is WideRole.JOBS


def test_a_stream_keeps_the_scope_of_its_request(membership: Membership) -> None:
    ada = caller_of(membership)
    answer = ada.send("POST", "turns/", {"message": "My cat is called Adacat."}, Accept="text/event-stream")
    text = answer.text
    assert "Adacat" in text and "event: turn_finished" in text
    assert current_scope() is WideRole.JOBS  # the test's own again


def test_a_job_sets_its_own_scope(membership: Membership) -> None:
    with acting_as(None):
        for job in wanted_jobs():
            job.run()


@pytest.fixture
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Queries that name an owner and show the rows of all."""
    everything = Q(pk__isnull=False)

    def of_owner(rows: Any, tenant_id: Any, user_id: Any) -> Any:
        return rows._scoped().filter(Q(tenant_id=tenant_id, user_id=user_id) | everything)

    def visible_to(rows: Any, principal: Principal, task: str = "") -> Any:
        return rows._scoped().filter(
            Q(tenant_id=principal.tenant_id, user_id=principal.user_id, task=task) | everything
        )

    monkeypatch.setattr(OwnedQuerySet, "of_owner", of_owner)
    monkeypatch.setattr(MemoryQuerySet, "visible_to", visible_to)
    compiled_query._prepared.cache_clear()
    yield
    compiled_query._prepared.cache_clear()


PATHS = ["memories/", "memories/?status=superseded", "sessions/", "reviews/", "consolidation/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.usefixtures("lives", "unfiltered")
def test_without_the_querys_filter_a_member_lists_their_own(membership: Membership, path: str) -> None:
    assert any("Evecat" in fact.text for fact in Fact.objects.of(own_principal(membership)))  # as jobs
    answer = caller_of(membership).get(path)
    assert answer.status == 200
    assert "Evecat" not in answer.text


@pytest.mark.usefixtures("lives", "unfiltered")
def test_without_the_querys_filter_a_member_recalls_their_own(membership: Membership, principal: Principal) -> None:
    answer = caller_of(membership).post("recall/", {"query": "What is the cat called?"}).text
    assert "Adacat" in answer and "Evecat" not in answer
    assert "Evecat" not in str(recall(principal, "What is the cat called?"))
