"""The switches of members over their own memory, and temporary chats."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0018_item_events"), ("tenants", "0012_user_profile")]

    operations = [
        migrations.CreateModel(
            name="MemberChoices",
            fields=[
                (
                    "membership",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="memory_choices",
                        serialize=False,
                        to="tenants.membership",
                    ),
                ),
                ("learns", models.BooleanField(default=True)),
                ("recalls", models.BooleanField(default=True)),
                ("never_topics", models.TextField(blank=True, default="")),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={"verbose_name_plural": "member choices"},
        ),
        migrations.AddField("session", "temporary", models.BooleanField(default=False)),
    ]
