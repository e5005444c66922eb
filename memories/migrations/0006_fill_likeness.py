"""Give what is believed now its likeness; what has ended is not compared any more."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from memories.hygiene.dedup import likeness

BATCH = 500
CURRENT = ("active", "stale")


def fill(apps: Any, schema_editor: Any) -> None:
    """Digest the wordings of all current facts and playbooks, so many at a time."""
    for name in ("Fact", "Playbook"):
        model = apps.get_model("memories", name)
        rows = model.objects.using(schema_editor.connection.alias).filter(likeness="", status__in=CURRENT)
        while some := list(rows.order_by("pk")[:BATCH]):
            for row in some:
                parts = (row.text,) if name == "Fact" else (row.title, row.trigger, row.text, *row.steps)
                row.likeness = likeness(*parts)
            model.objects.using(schema_editor.connection.alias).bulk_update(some, ["likeness"])


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_likeness")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
