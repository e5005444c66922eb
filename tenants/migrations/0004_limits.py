"""The table of limits (`memoryhub/limit_store.py`). On PostgreSQL it is unlogged, because it may be lost."""

from django.db import migrations, models

# Keys are compared byte by byte. Each update leaves room for the next on the same page.
TUNE = """
ALTER TABLE memoryhub_quota SET UNLOGGED;
ALTER TABLE memoryhub_quota ALTER COLUMN key TYPE varchar(200) COLLATE "C";
ALTER TABLE memoryhub_quota SET (fillfactor = 50)
"""


def tune(_apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TUNE)


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="QuotaState",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("used_to", models.FloatField()),
                ("cost", models.FloatField()),
                ("latest", models.FloatField()),
                ("fits", models.SmallIntegerField()),
            ],
            options={"db_table": "memoryhub_quota"},
        ),
        migrations.RunPython(tune, migrations.RunPython.noop),
    ]
