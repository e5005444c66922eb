"""Proposals to forget everything."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0019_member_choices")]

    operations = [
        migrations.AddField("forgetproposal", "counts", models.JSONField(blank=True, null=True)),
    ]
