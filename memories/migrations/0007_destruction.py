"""Exports of a whole memory as requests, the delay of an erasure, and the tenant's rules for both and for looks."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def keep_second_persons(apps, _schema_editor):
    """Who wanted a second person keeps one; where nobody decided, the new default holds."""
    policies = apps.get_model("memories", "MemoryPolicy").objects
    policies.filter(erasure_needs_second=True).update(second_person="always")


def restore_flag(apps, _schema_editor):
    policies = apps.get_model("memories", "MemoryPolicy").objects
    policies.filter(second_person="always").update(erasure_needs_second=True)


STATES = [
    ("asked", "asked"),
    ("approved", "approved"),
    ("running", "running"),
    ("stopped", "stopped"),
    ("done", "done"),
    ("refused", "refused"),
]


def by_user():
    return models.ForeignKey(
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


def of(model):
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=model)


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0006_proposals"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("erasurerequest", "begins_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "memorypolicy",
            "second_person",
            models.CharField(
                choices=[
                    ("automatic", "where there is another administrator"),
                    ("always", "always"),
                    ("never", "never: one administrator erases and exports alone"),
                ],
                blank=True,
                default="",
                max_length=9,
            ),
        ),
        migrations.AddField(
            "memorypolicy", "erasure_delay_hours", models.PositiveIntegerField(blank=True, null=True)
        ),
        migrations.AddField("memorypolicy", "exports_daily", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("memorypolicy", "reason_to_look", models.BooleanField(default=False)),
        migrations.AddField("memorypolicy", "looks_name_staff", models.BooleanField(default=True)),
        migrations.RunPython(keep_second_persons, restore_flag),
        migrations.RemoveField("memorypolicy", "erasure_needs_second"),
        migrations.CreateModel(
            name="ExportRequest",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("state", models.CharField(choices=STATES, default="asked", max_length=8)),
                ("reason", models.CharField(max_length=300)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("taken_at", models.DateTimeField(blank=True, null=True)),
                ("asked_by", by_user()),
                ("decided_by", by_user()),
                ("membership", of("tenants.membership")),
                ("tenant", of("tenants.tenant")),
            ],
            options={
                "ordering": ["-asked_at", "id"],
                "indexes": [models.Index(fields=["asked_by", "-asked_at"], name="export_of_asker")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "asked")),
                        fields=("membership", "asked_by"),
                        name="export_asked_once",
                    ),
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="export_says_why"),
                ],
            },
        ),
    ]
