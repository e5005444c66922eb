"""The database itself refuses to change the audit trail."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from tenants.audit.triggers import drop_triggers, install_triggers


def install(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    install_triggers(schema_editor.connection)


def drop(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    drop_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]

    operations = [migrations.RunPython(install, drop)]
