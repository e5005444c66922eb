"""What a backend key may begin: members made on first use, and requests that a key asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0007_destruction")]

    operations = [
        migrations.AddField("memorypolicy", "provision_members", models.BooleanField(default=False)),
        migrations.AddField("erasurerequest", "asked_by_key", models.UUIDField(blank=True, null=True)),
        migrations.AddField("exportrequest", "asked_by_key", models.UUIDField(blank=True, null=True)),
    ]
