"""Corrections that support proposes and the member decides."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0023_support_cases"),
        ("tenants", "0007_oauth"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="reviewitem",
            name="review_names_what_it_is_about",
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="case",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="corrections",
                to="memories.supportcase",
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="proposed",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="reviewitem",
            name="decision",
            field=models.CharField(
                choices=[
                    ("open", "open"),
                    ("keep_one", "keep one"),
                    ("keep_both", "keep both"),
                    ("merge", "merge"),
                    ("edit", "edit"),
                    ("evict", "evict"),
                    ("keep", "keep"),
                    ("accept", "accept"),
                    ("withdrawn", "withdrawn"),
                ],
                default="open",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="reviewitem",
            name="kind",
            field=models.CharField(
                choices=[("contradiction", "contradiction"), ("eviction", "eviction"), ("correction", "correction")],
                default="contradiction",
                max_length=13,
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.UniqueConstraint(
                condition=models.Q(("decision", "open"), ("kind", "correction")),
                fields=("first",),
                name="review_one_open_correction_per_fact",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("first__isnull", False),
                        ("kind", "contradiction"),
                        ("playbook__isnull", True),
                        ("second__isnull", False),
                        models.Q(("first", models.F("second")), _negated=True),
                    ),
                    models.Q(
                        ("first__isnull", False),
                        ("kind", "eviction"),
                        ("playbook__isnull", True),
                        ("second__isnull", True),
                    ),
                    models.Q(
                        ("first__isnull", True),
                        ("kind", "eviction"),
                        ("playbook__isnull", False),
                        ("second__isnull", True),
                    ),
                    models.Q(
                        ("first__isnull", False),
                        ("kind", "correction"),
                        ("playbook__isnull", True),
                        ("second__isnull", True),
                    ),
                    models.Q(
                        ("first__isnull", False),
                        ("kind", "correction"),
                        ("playbook__isnull", True),
                        ("second__isnull", False),
                        models.Q(("proposed", ""), _negated=True),
                        models.Q(("first", models.F("second")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="review_names_what_it_is_about",
            ),
        ),
    ]
