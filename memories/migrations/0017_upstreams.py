"""The model endpoints of a tenant, and whether callers may bring keys of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_instructions")]

    operations = [
        migrations.AddField("memorypolicy", "upstreams", models.JSONField(blank=True, default=dict)),
        migrations.AddField("memorypolicy", "caller_keys", models.BooleanField(default=False)),
    ]
