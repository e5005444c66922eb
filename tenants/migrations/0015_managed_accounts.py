"""Accounts that an organisation's own systems made or named."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q


def mark(apps: Any, _editor: Any) -> None:
    users = apps.get_model("tenants", "User").objects
    managed = users.filter(
        Q(username__regex=r"^member-[0-9a-f]{32}$") | Q(memberships__user_name__gt="") | Q(memberships__identities__isnull=False)
    )
    users.filter(pk__in=list(managed.values_list("pk", flat=True))).update(is_managed=True)


class Migration(migrations.Migration):
    dependencies = [("tenants", "0014_auditing")]

    operations = [
        migrations.AddField("user", "is_managed", models.BooleanField(default=False, editable=False)),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
