"""`manage.py migrate` on PostgreSQL: as the owner of the tables, with policies for the role that serves."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from memoryhub.db.row_security import ROLES, SERVING_ROLE
from tests.memoryhub.test_start import run
from tests.real_parts import PostgreSQL
from tests.real_parts.postgresql import ROLE
from tests.serving_role import MAKE_ROLES

OWNER = "owner_of_tables"
FACTS = "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'memories_fact'"


@pytest.fixture
def database(postgresql: PostgreSQL) -> str:
    """The address of an empty database of the owner, for the superuser."""
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        connection.execute(MAKE_ROLES.encode())
        connection.execute("DROP DATABASE IF EXISTS migrated")
        connection.execute(f"DROP ROLE IF EXISTS {OWNER}; CREATE ROLE {OWNER} LOGIN")
        connection.execute(f"CREATE DATABASE migrated OWNER {OWNER}")
    return postgresql.url.removesuffix("/postgres") + "/migrated"


@pytest.mark.long
def test_the_owner_migrates_and_the_role_that_serves_is_within_policies(database: str, tmp_path: Path) -> None:
    serving = {"DATABASE_URL": database.replace(f"{ROLE}@", f"{SERVING_ROLE}@"), "MEMORYHUB_DATA_DIR": str(tmp_path)}
    owner = {"MEMORYHUB_MIGRATION_DATABASE_URL": database.replace(f"{ROLE}@", f"{OWNER}@")}
    for _ in range(2):  # the second finds nothing to do
        done = run("manage.py", "migrate", environ=serving | owner)
        assert done.returncode == 0 and not done.stderr, done.stderr
    with psycopg.connect(database) as connection:
        assert connection.execute(FACTS).fetchone() == (True,)
    assert "memoryhub.W003" not in run("manage.py", "check", "--deploy", environ=serving).stderr
    assert (
        "memoryhub.W003" in run("manage.py", "check", "--deploy", environ={**serving, "DATABASE_URL": database}).stderr
    )


@pytest.mark.long
def test_without_the_roles_migrate_says_so_and_makes_the_tables(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"DROP ROLE {', '.join(ROLES)}")
    environ = {"DATABASE_URL": database, "MEMORYHUB_DATA_DIR": str(tmp_path)}
    done = run("manage.py", "migrate", environ=environ)
    assert done.returncode == 0 and "role.sh" in done.stderr
    assert run("manage.py", "verify_chains", environ=environ).returncode == 0
    with psycopg.connect(database) as connection:
        assert connection.execute(FACTS).fetchone() == (False,)
