"""`metadata` and `app` of every memory, unique keys and texts by app, and the policy that keeps apps apart."""

from importlib import import_module

from django.db import migrations, models

_MODELS = ("episode", "fact", "playbook", "catalogentry")


def guard_again(_apps, schema_editor):
    """SQLite drops the triggers of a table with its rebuilding; those on updates also guard the new columns."""
    first = import_module("memories.migrations.0001_initial")
    sqlite = schema_editor.connection.vendor == "sqlite"
    for table, guarded in first.GUARDED.items():
        for name in ("update", "delete", "replace" if sqlite else "truncate"):
            on_table = "" if sqlite else f" ON {table}"
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {table}_{name}_in_scope{on_table}", params=None)
        columns = f"{guarded}, metadata, app" + (", proposed" if table == "memories_playbook" else "")
        form = first.SQLITE if sqlite else first.POSTGRESQL
        statements = form.format(table=table, columns=columns, refused=first.REFUSED)
        for statement in statements.split("CREATE TRIGGER ")[1:]:
            schema_editor.execute("CREATE TRIGGER " + statement.rstrip("; \n"), params=None)


def _unique(model, table, column, scope, owner):
    """Replace a unique index of one scope by the same with the app."""
    name = f"{table}_{column}_per_{scope}"
    condition = models.Q(("scope", scope), ("status__in", ["active", "stale"]), models.Q((column, ""), _negated=True))
    constraint = models.UniqueConstraint(fields=(*owner, "app", column), condition=condition, name=name)
    return [migrations.RemoveConstraint(model, name), migrations.AddConstraint(model, constraint)]


_OWNERS = {
    "global": (),
    "tenant": ("tenant",),
    "user": ("tenant", "user"),
    "task": ("tenant", "user", "task"),
}
_UNIQUE = [
    ("fact", "fact", "key", tuple(_OWNERS)),
    ("fact", "fact", "content_hash", tuple(_OWNERS)),
    ("playbook", "playbook", "content_hash", tuple(_OWNERS)),
    ("catalogentry", "catalog", "content_hash", ("tenant", "global")),
]


class Migration(migrations.Migration):
    dependencies = [("memories", "0011_idempotency")]

    operations = [
        *(migrations.AddField(model, "metadata", models.JSONField(blank=True, default=dict)) for model in _MODELS),
        *(migrations.AddField(model, "app", models.CharField(blank=True, default="", max_length=64)) for model in _MODELS),
        migrations.RunPython(guard_again, migrations.RunPython.noop),
        *(
            operation
            for model, table, column, scopes in _UNIQUE
            for scope in scopes
            for operation in _unique(model, table, column, scope, _OWNERS[scope])
        ),
        migrations.AddField("memorypolicy", "apps_apart", models.BooleanField(default=False)),
    ]
