"""The time zone and the language that a person chose for their pages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0011_identity_providers")]

    operations = [
        migrations.AddField("user", "time_zone", models.CharField(blank=True, default="", max_length=64)),
        migrations.AddField("user", "language", models.CharField(blank=True, default="", max_length=10)),
    ]
