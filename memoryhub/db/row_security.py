"""Row-level security of PostgreSQL: policies and grants for every table, made from the models; and whether they hold.

`manage.py migrate` installs them as the role that owns the tables. A table with a tenant or an owner shows its rows in
their owner's scope (`memoryhub/db/scope.py`) and to the wider roles; a row without a tenant is shared by all and
changed by wider roles only. The roles themselves are made by deploy/postgres/role.sh. Reasons: docs/adr/0022.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, Model

from memoryhub.db.scope import WideRole, acting_as
from memoryhub.health import PartState

# The role that serves. It must not own a table, nor inherit the wider roles that it may take.
SERVING_ROLE = "memoryhub_app"
ROLES = (SERVING_ROLE, *WideRole)
_TENANT, _MEMBER = "(SELECT memoryhub_tenant())", "(SELECT memoryhub_member())"
_OWN_CHAIN = (
    f"CASE WHEN {_MEMBER} IS NULL THEN 'tenant:' || {_TENANT} ELSE 'owner:' || {_TENANT} || ':' || {_MEMBER} END"
)
_ALL = "SELECT, INSERT, UPDATE, DELETE"
# What every serving role may do with tables that are not simply read and written.
_LIMITED = {
    "tenants.AuditEvent": "SELECT, INSERT",
    "tenants.AuditPayload": "SELECT, INSERT, DELETE",
    "tenants.AuditHead": "SELECT, INSERT, UPDATE",
    "tenants.AuditErasure": "SELECT, INSERT",
}
# What a member's scope may do with the tables that decide who may act. The update of one column lets it lock the row.
_IDENTITY = {
    "tenants.Tenant": "SELECT, UPDATE (created_at)",
    "tenants.Membership": "SELECT, UPDATE (created_at)",
    "tenants.User": "SELECT, UPDATE (password, last_login, time_zone, language)",
    "tenants.ApiToken": "SELECT",
    "tenants.OAuthClient": "SELECT",
    "tenants.OAuthGrant": "SELECT",
    "tenants.Invitation": "SELECT",
    "tenants.IdentityProvider": "SELECT (id, tenant_id, passwords_off, is_active)",  # not the client's secret
    "tenants.ProvidedIdentity": "SELECT",
    "auth.Group": "SELECT",
    "auth.Permission": "SELECT",
    "auth.Group_permissions": "SELECT",
    "tenants.User_groups": "SELECT",
    "tenants.User_user_permissions": "SELECT",
    "contenttypes.ContentType": "SELECT",
}
# What a member's scope may do with any other table that only staff and jobs write.
_READ = {"tenants.TenantCheck": "SELECT"}
_SIGN_IN = _IDENTITY | {
    "tenants.IdentityProvider": "SELECT",
    "tenants.ApiToken": "SELECT, UPDATE (last_used_at)",
    "sessions.Session": _ALL,
    "usersessions.UserSession": _ALL,
    "mfa.Authenticator": _ALL,  # of operators, whose own pages have no owner
    "account.EmailAddress": _ALL,
    "tenants.CacheEntry": _ALL,
    "tenants.QuotaState": _ALL,
}
# The version of PostgreSQL with the right to vacuum a table of another role.
MAINTAIN_SINCE = (17,)


def models() -> list[type[Model]]:
    """All models with a table, link tables included."""
    return [each for each in apps.get_models(include_auto_created=True) if not each._meta.proxy and each._meta.managed]


def condition_of(model: type[Model]) -> str:
    """The SQL condition that a row is in the owner's scope; empty for a table without a tenant or an owner."""
    columns = {field.column: field for field in model._meta.concrete_fields}
    if model._meta.label == "tenants.Tenant":
        return f"id = {_TENANT}"
    if model._meta.label == settings.AUTH_USER_MODEL:
        return f"id = {_MEMBER}"
    if "owner_id" in columns:  # a tenant's own chain of events is in the tenant's scope, not in its members'
        return f"tenant_id = {_TENANT} AND owner_id IS NOT DISTINCT FROM {_MEMBER}"
    if "chain" in columns:
        return f"chain = {_OWN_CHAIN}"
    if "tenant_id" in columns:
        parts = [f"tenant_id = {_TENANT}"]
        if "user_id" in columns:
            shared = " OR user_id IS NULL" if columns["user_id"].null else ""
            parts.append(f"(user_id = {_MEMBER}{shared})")
        if "membership_id" in columns:
            parts.append(_parent(columns["membership_id"]))
        return " AND ".join(parts)
    if "membership_id" in columns:
        return _parent(columns["membership_id"])
    parents = [field for field in columns.values() if isinstance(field, ForeignKey) and not field.null]
    return " AND ".join(_parent(field) for field in parents if condition_of(cast("type[Model]", field.related_model)))


def _parent(field: Any) -> str:
    """The condition that the referenced row is visible."""
    parent, table = field.related_model._meta, field.model._meta.db_table
    key = field.target_field.column
    return f"EXISTS (SELECT 1 FROM {parent.db_table} parent WHERE parent.{key} = {table}.{field.column})"  # noqa: S608 - our own names


def protected() -> dict[str, str]:
    """The condition of each table with a tenant or an owner."""
    return {model._meta.db_table: condition for model in models() if (condition := condition_of(model))}


def statements(tables: set[str], *, version: tuple[int, ...]) -> Iterator[str]:
    """The SQL that makes policies and grants for those of the models' tables that exist."""
    yield f"""
CREATE OR REPLACE FUNCTION memoryhub_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('memoryhub.tenant', true), '')::uuid $$;
CREATE OR REPLACE FUNCTION memoryhub_member() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('memoryhub.member', true), '')::uuid $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO {", ".join(ROLES)};
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {", ".join(ROLES)};
GRANT SELECT ON django_migrations TO {", ".join(ROLES)}"""  # noqa: S608 - our own words
    for model in models():
        table, label = model._meta.db_table, model._meta.label
        if table not in tables:
            continue
        limited = _LIMITED.get(label, _ALL)
        yield f"GRANT {limited} ON {table} TO {WideRole.STAFF}, {WideRole.JOBS}"
        yield f"GRANT {(_IDENTITY | _READ).get(label, limited)} ON {table} TO {SERVING_ROLE}"
        if label in _SIGN_IN:
            yield f"GRANT {_SIGN_IN[label]} ON {table} TO {WideRole.SIGN_IN}"
        if version >= MAINTAIN_SINCE:
            yield f"GRANT MAINTAIN ON {table} TO {SERVING_ROLE}"
        if condition := condition_of(model):
            yield from _policies(model, condition)


def _policies(model: type[Model], condition: str) -> Iterator[str]:
    table = model._meta.db_table
    wide = [WideRole.STAFF, WideRole.JOBS, *([WideRole.SIGN_IN] if model._meta.label in _SIGN_IN else [])]
    policies = {
        "memoryhub_owner": f"TO PUBLIC USING ({condition})",
        "memoryhub_wide": f"TO {', '.join(wide)} USING (true)",
        # `manage.py migrate` sets this; the owner of a table with forced security would see none of its rows.
        "memoryhub_migration": "TO CURRENT_USER USING (current_setting('memoryhub.migrating', true) = 'on')",
    }
    columns = {field.column: field for field in model._meta.concrete_fields}
    if "user_id" in columns and "tenant_id" in columns and columns["tenant_id"].null:  # what all tenants share
        policies["memoryhub_global"] = f"FOR SELECT TO PUBLIC USING (tenant_id IS NULL AND {_TENANT} IS NOT NULL)"
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    for name, policy in policies.items():
        yield f"DROP POLICY IF EXISTS {name} ON {table}"
        yield f"CREATE POLICY {name} ON {table} {policy}"


def install(database: BaseDatabaseWrapper) -> bool:
    """Make policies and grants as the owner of the tables, if they changed; False if the roles do not exist."""
    with database.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s)", [list(ROLES)])
        if cursor.fetchone()[0] < len(ROLES):
            return False
        tables = set(database.introspection.table_names(cursor))
        wanted = ";\n".join(statements(tables, version=database.get_database_version()))
        digest = hashlib.sha256(wanted.encode()).hexdigest()
        cursor.execute("SELECT obj_description(to_regprocedure('memoryhub_tenant()'), 'pg_proc')")
        if cursor.fetchone()[0] != digest:
            # One message is one transaction.
            cursor.execute(f"{wanted};\nCOMMENT ON FUNCTION memoryhub_tenant() IS '{digest}'")
    return True


_WEAK_ROLE = """
SELECT rolsuper OR rolbypassrls,
    EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND pg_has_role(session_user, relowner, 'MEMBER')),
    EXISTS (SELECT 1 FROM pg_roles wide WHERE wide.rolname = ANY(%s) AND pg_has_role(session_user, wide.oid, 'USAGE'))
FROM pg_roles WHERE rolname = session_user"""
_FORCED = """
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relrowsecurity AND relforcerowsecurity
    AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid AND polname = 'memoryhub_owner')"""


def weaknesses() -> list[str]:
    """Why row-level security does not hold for the role that serves; empty if it does, and on SQLite."""
    if connection.vendor != "postgresql":
        return []
    with acting_as(None), connection.cursor() as cursor:
        cursor.execute(_WEAK_ROLE, [[*WideRole]])
        bypasses, owns, inherits = cursor.fetchone()
        cursor.execute(_FORCED)
        open_tables = sorted(protected().keys() - {name for (name,) in cursor.fetchall()})
    reasons = {
        "The role that serves is a superuser or has BYPASSRLS, so no policy applies to it.": bypasses,
        "The role that serves owns tables, so it can change their policies and triggers.": owns,
        "The role that serves inherits a wider role: make it NOINHERIT and grant the wider roles anew.": inherits,
        f"Tables without a forced policy: {', '.join(open_tables)}.": open_tables,
    }
    return [reason for reason, holds in reasons.items() if holds]


def holds() -> PartState:
    """Health probe: whether the database itself keeps owners apart."""
    try:
        return PartState.UNENFORCED if weaknesses() else PartState.OK
    except DatabaseError:
        return PartState.UNAVAILABLE


@checks.register(checks.Tags.security, deploy=True)
def row_security_holds(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:  # noqa: ARG001 - Django's signature
    """System check of `check --deploy`: a warning for each weakness."""
    try:
        found = weaknesses()
    except DatabaseError as error:
        found = [f"Row-level security could not be checked ({type(error).__name__})."]
    hint = "Let MEMORYHUB_MIGRATION_DATABASE_URL own the tables and DATABASE_URL serve: docs/deploy.md, PostgreSQL."
    return [checks.Warning(reason, hint=hint, id="memoryhub.W003") for reason in found]
