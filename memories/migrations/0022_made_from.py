"""`recallable` of episodes, and use counts of facts by the answers that were made from them."""

from importlib import import_module

from django.db import migrations, models

_TABLE = "memories_episode"
_USES = """
UPDATE memories_fact SET use_count = (
    SELECT count(*) FROM (
        SELECT DISTINCT message.session_id, message.turn
        FROM memories_mention mention JOIN memories_message message ON message.id = mention.message_id
        WHERE mention.memory_id = memories_fact.id AND mention.used
            AND mention.tenant_id = memories_fact.tenant_id AND mention.user_id = memories_fact.user_id
    ) turns
) WHERE use_count > 0
"""


def guard_again(_apps, schema_editor):
    """SQLite drops the triggers of a table with its rebuilding; the one on updates also guards the new column."""
    first = import_module("memories.migrations.0001_initial")
    sqlite = schema_editor.connection.vendor == "sqlite"
    for name in ("update", "delete", "replace" if sqlite else "truncate"):
        on_table = "" if sqlite else f" ON {_TABLE}"
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {_TABLE}_{name}_in_scope{on_table}", params=None)
    columns = f"{first.GUARDED[_TABLE]}, metadata, app, recallable"
    statements = (first.SQLITE if sqlite else first.POSTGRESQL).format(table=_TABLE, columns=columns, refused=first.REFUSED)
    for statement in statements.split("CREATE TRIGGER ")[1:]:
        schema_editor.execute("CREATE TRIGGER " + statement.rstrip("; \n"), params=None)


class Migration(migrations.Migration):
    dependencies = [("memories", "0021_feedback")]

    operations = [
        migrations.AddField("episode", "recallable", models.BooleanField(default=True)),
        migrations.RunPython(guard_again, migrations.RunPython.noop),
        migrations.RunSQL(_USES, migrations.RunSQL.noop),
    ]
