"""Count the episodes of each owner, in the order in which they were stored; none of them is consolidated yet."""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.db import migrations

BATCH = 500


def count(apps: Any, schema_editor: Any) -> None:
    """Give every episode its ordinal and every owner who has any a ledger."""
    episodes = apps.get_model("memories", "Episode").objects.using(schema_editor.connection.alias)
    ledgers = apps.get_model("memories", "EpisodeLedger").objects.using(schema_editor.connection.alias)
    for tenant_id, user_id in list(episodes.values_list("tenant_id", "user_id").order_by().distinct()):
        rows = episodes.filter(tenant_id=tenant_id, user_id=user_id)
        ids = iter(rows.order_by("created_at", "session_id", "sequence").values_list("pk", flat=True))
        first = rows.order_by("created_at").first()
        stored = 0
        while some := list(islice(ids, BATCH)):
            numbered = [episodes.model(pk=pk, ordinal=stored + place) for place, pk in enumerate(some, start=1)]
            episodes.bulk_update(numbered, ["ordinal"])
            stored += len(some)
        ledgers.create(tenant_id=tenant_id, user_id=user_id, stored=stored, waiting_since=first.created_at)


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_lifecycle")]

    operations = [migrations.RunPython(count, migrations.RunPython.noop)]
