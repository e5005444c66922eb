"""A tenant's own Elasticsearch index, searched beside its catalog."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0024_corrections")]

    operations = [migrations.AddField("memorypolicy", "external_index", models.JSONField(blank=True, default=dict))]
