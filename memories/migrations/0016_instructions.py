"""What a tenant's single apps add to its instructions, categories and what it keeps out of memory."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0014_webhooks")]

    operations = [
        migrations.AddField("memorypolicy", "apps", models.JSONField(blank=True, default=dict)),
    ]
