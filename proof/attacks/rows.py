"""Attacks on row-level security: SQL as the role that serves, in a member's scope and without any filter."""

from __future__ import annotations

from django.db import ProgrammingError, connection, transaction

from memoryhub.db.row_security import protected
from memoryhub.db.scope import OwnerScope, WideRole, acting_as
from proof.attack import NOBODY, Attempt, Target, attack
from proof.marks import Exposure

POSTGRESQL = "postgresql"


@attack("row security: rows of others by SQL", weight=8, tests=Target.ROW_GUARD, only_on=POSTGRESQL)
def rows_of_others(attempt: Attempt) -> None:
    """Read a whole table, or the ids of one with columns that members may not read."""
    aim, table = attempt.aim(), attempt.chance.choice(sorted(protected()))
    with acting_as(OwnerScope(aim.who.tenant_id, aim.who.user_id)), connection.cursor() as cursor:
        try:
            cursor.execute(f"SELECT to_jsonb(t)::text FROM {table} t")  # noqa: S608 - a table name
        except ProgrammingError:  # insufficient privilege
            cursor.execute(f"SELECT id::text FROM {table}")  # noqa: S608 - as above
        attempt.scan(aim.attacker, cursor.fetchall())


@attack("row security: changes of others' rows by SQL", weight=4, tests=Target.ROW_GUARD, only_on=POSTGRESQL)
def changes_by_sql(attempt: Attempt) -> None:
    """Change and delete a victim's memories; nothing may be left to roll back."""
    aim = attempt.aim()
    table = attempt.chance.choice(["memories_fact", "memories_episode", "memories_playbook", "memories_session"])
    change = attempt.chance.choice([f"UPDATE {table} SET id = id", f"DELETE FROM {table}"])  # noqa: S608 - as above
    victim = aim.victim.principal
    with (
        acting_as(OwnerScope(aim.who.tenant_id, aim.who.user_id)),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT set_config('memoryhub.write', 'on', true)")
        cursor.execute(f"{change} WHERE tenant_id = %s AND user_id = %s", [victim.tenant_id, victim.user_id])
        if cursor.rowcount:
            attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)
        transaction.set_rollback(True)


# What only the owner of the tables may do; the role that serves is refused each.
_TAMPERING = (
    "UPDATE tenants_auditevent SET action = action",
    "DELETE FROM tenants_auditevent",
    "TRUNCATE tenants_auditevent CASCADE",
    "UPDATE tenants_auditpayload SET document = document",
    "DELETE FROM tenants_audithead",
    "DELETE FROM tenants_auditerasure",
    "UPDATE tenants_auditerasure SET by = by",
    "ALTER TABLE tenants_auditevent DISABLE TRIGGER ALL",
    "DROP TRIGGER audit_event_is_not_deleted ON tenants_auditevent",
    "ALTER TABLE memories_fact DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE memories_fact NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY memoryhub_owner ON memories_fact",
    "CREATE POLICY everything ON memories_fact USING (true)",
    "SET session_replication_role = replica",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
)


@attack("row security: the audit log and the policies by SQL", weight=3, tests=Target.ROW_GUARD, only_on=POSTGRESQL)
def tampering(attempt: Attempt) -> None:
    """Change, empty or disable what only the owner of the tables may, in a member's scope and in a wider role."""
    aim, statement = attempt.aim(), attempt.chance.choice(_TAMPERING)
    own = OwnerScope(aim.who.tenant_id, aim.who.user_id)
    with acting_as(attempt.chance.choice([own, *WideRole])):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)
                transaction.set_rollback(True)
        except ProgrammingError:
            return  # insufficient privilege
        attempt.found(aim.attacker, NOBODY, Exposure.DONE)
