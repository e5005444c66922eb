"""`manage.py migrate`: Django's command, as the owner of the tables; at its end it installs row-level security.

Then, as the role that serves, it sends `migrated`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryhub.db import migrated, row_security
from memoryhub.db.scope import acting_as


class Command(migrate.Command):
    """Connects with MEMORYHUB_MIGRATION_DATABASE_URL if that is set."""

    def handle(self, *args: Any, **options: Any) -> None:
        self._migrate(*args, **options)
        if not (options["plan"] or options["check_unapplied"] or options["app_label"]):
            try:
                migrated.send(sender=type(self))
            except ImproperlyConfigured as error:
                raise CommandError(f"The database is migrated. {error}") from error

    def _migrate(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        if database.vendor != "postgresql" or options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with acting_as(None), _as_owner(database):
            super().handle(*args, **options)
            if not row_security.install(database):
                self.stderr.write(
                    "Row-level security was not installed: its roles are made by deploy/postgres/role.sh."
                )


@contextmanager
def _as_owner(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Connect as the owner of the tables, who sees the rows of tables with forced security while this is open."""
    settings_dict, owner = database.settings_dict, dict[str, Any](settings.MEMORYHUB_MIGRATION_DATABASE)
    serving = dict(settings_dict)
    database.close()
    settings_dict.update({name: owner[name] for name in ("USER", "PASSWORD", "HOST", "PORT") if name in owner})
    migrating = {"options": "-c memoryhub.migrating=on"}
    settings_dict["OPTIONS"] = {**serving["OPTIONS"], **owner.get("OPTIONS", {}), **migrating}
    try:
        yield
    finally:
        database.close()
        settings_dict.update(serving)
