"""Attacks on row-level security: SQL as the role that serves, in a member's scope and without any filter."""

from __future__ import annotations

from django.db import connection, transaction

from memoryhub.db.row_security import protected
from memoryhub.db.scope import OwnerScope, acting_as
from proof.attack import Attempt, Target, attack
from proof.marks import Exposure

POSTGRESQL = "postgresql"


@attack("row security: rows of others by SQL", weight=8, tests=Target.ROW_GUARD, only_on=POSTGRESQL)
def rows_of_others(attempt: Attempt) -> None:
    """Read a whole table."""
    aim, table = attempt.aim(), attempt.chance.choice(sorted(protected()))
    with acting_as(OwnerScope(aim.who.tenant_id, aim.who.user_id)), connection.cursor() as cursor:
        cursor.execute(f"SELECT to_jsonb(t)::text FROM {table} t")  # noqa: S608 - a table name
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
