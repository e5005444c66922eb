"""The `index` of an item's last put."""

from importlib import import_module

from django.db import migrations, models

_TABLE = "memories_item"


def guard_again(_apps, schema_editor):
    """The trigger on updates also guards the new column."""
    first, items = (import_module(f"memories.migrations.{name}") for name in ("0001_initial", "0013_items"))
    sqlite = schema_editor.connection.vendor == "sqlite"
    on_table = "" if sqlite else f" ON {_TABLE}"
    schema_editor.execute(f"DROP TRIGGER {_TABLE}_update_in_scope{on_table}", params=None)
    form = first.SQLITE if sqlite else first.POSTGRESQL
    statements = form.format(table=_TABLE, columns=f"{items._GUARDED}, searched", refused=first.REFUSED)
    update = statements.split("CREATE TRIGGER ")[1]
    schema_editor.execute("CREATE TRIGGER " + update.rstrip("; \n"), params=None)


class Migration(migrations.Migration):
    dependencies = [("memories", "0025_external_index")]

    operations = [
        migrations.AddField("item", "searched", models.JSONField(blank=True, null=True)),
        migrations.RunPython(guard_again, migrations.RunPython.noop),
    ]
