"""Items: their table, guarded like those of memories, and the kind of their entries in the outbox."""

import uuid
from importlib import import_module

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

_KINDS = [(kind, kind) for kind in ("episodic", "semantic", "procedural", "catalog", "item")]
_TABLE = "memories_item"
_GUARDED = (
    "id, tenant_id, user_id, scope, task, namespace, key, value, text, content_hash, status, metadata, app, sensitivity,"
    " version, ttl_minutes, expires_at, created_at, updated_at"
)


def guard(_apps, schema_editor):
    """Rows change inside a write scope only."""
    first = import_module("memories.migrations.0001_initial")
    form = first.SQLITE if schema_editor.connection.vendor == "sqlite" else first.POSTGRESQL
    statements = form.format(table=_TABLE, columns=_GUARDED, refused=first.REFUSED)
    # A trigger of SQLite holds semicolons of its own, so statements are told apart by how they begin.
    for statement in statements.split("CREATE TRIGGER ")[1:]:
        schema_editor.execute("CREATE TRIGGER " + statement.rstrip("; \n"), params=None)


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0012_shape"),
        ("tenants", "0006_keys"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        *(
            migrations.AlterField(model, "kind", models.CharField(choices=_KINDS, max_length=10))
            for model in ("mention", "outboxentry", "sealedoriginal")
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        choices=[("global", "global"), ("tenant", "tenant"), ("user", "user"), ("task", "task")],
                        default="user",
                        max_length=8,
                    ),
                ),
                ("task", models.CharField(blank=True, max_length=64, null=True)),
                ("text", models.TextField()),
                ("content_hash", models.CharField(max_length=64)),
                ("embedding", models.BinaryField(null=True)),
                ("embedding_model", models.CharField(blank=True, default="", max_length=80)),
                ("token_ids", models.BinaryField(null=True)),
                ("version", models.PositiveBigIntegerField(default=1)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "active"),
                            ("stale", "stale"),
                            ("superseded", "superseded"),
                            ("evicted", "evicted"),
                        ],
                        default="active",
                        max_length=12,
                    ),
                ),
                ("sensitivity", models.JSONField(blank=True, default=dict)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("app", models.CharField(blank=True, default="", max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("namespace", models.CharField(max_length=2064)),
                ("key", models.CharField(max_length=512)),
                ("value", models.TextField()),
                ("ttl_minutes", models.FloatField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-updated_at", "id"],
                "abstract": False,
                "indexes": [
                    models.Index(fields=["tenant", "user", "-updated_at"], name="item_recent"),
                    models.Index(
                        condition=models.Q(("expires_at__isnull", False)), fields=["expires_at"], name="item_to_expire"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("scope", "global"),
                                models.Q(("tenant__isnull", False), _negated=True),
                                models.Q(("user__isnull", False), _negated=True),
                                models.Q(("task__isnull", False), _negated=True),
                            ),
                            models.Q(
                                ("scope", "tenant"),
                                ("tenant__isnull", False),
                                models.Q(("user__isnull", False), _negated=True),
                                models.Q(("task__isnull", False), _negated=True),
                            ),
                            models.Q(
                                ("scope", "user"),
                                ("tenant__isnull", False),
                                ("user__isnull", False),
                                models.Q(("task__isnull", False), _negated=True),
                            ),
                            models.Q(
                                ("scope", "task"),
                                ("tenant__isnull", False),
                                ("user__isnull", False),
                                ("task__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="item_scope_matches_owner",
                    ),
                    models.CheckConstraint(condition=models.Q(("scope", "user")), name="item_belongs_to_a_user"),
                    models.UniqueConstraint(
                        fields=("tenant", "user", "app", "content_hash"), name="item_of_namespace_and_key"
                    ),
                ],
            },
        ),
        # The triggers go with the table.
        migrations.RunPython(guard, migrations.RunPython.noop),
    ]
