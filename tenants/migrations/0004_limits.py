"""The table of limits (`memoryhub/limit_store.py`): on PostgreSQL only, and unlogged, because it may be lost."""

from django.db import migrations

CREATE = """
CREATE UNLOGGED TABLE memoryhub_quota (
    key text COLLATE "C" PRIMARY KEY,
    used_to double precision NOT NULL,
    cost double precision NOT NULL,
    latest double precision NOT NULL,
    fits smallint NOT NULL
) WITH (fillfactor = 50)
"""


def create(_apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(CREATE)


def drop(_apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TABLE memoryhub_quota")


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
