from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_limits")]

    operations = [
        migrations.AddField("outboxentry", "set_aside_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            "outboxentry",
            models.Index(fields=["memory_id"], name="outbox_set_aside", condition=Q(set_aside_at__isnull=False)),
        ),
    ]
