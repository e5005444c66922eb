"""Limits of use, and the longest life of API tokens, in a tenant's policy."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="memorypolicy", name="limits", field=models.JSONField(blank=True, default=dict)
        ),
        migrations.AddField(
            model_name="memorypolicy",
            name="max_token_days",
            field=models.PositiveIntegerField(
                blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)]
            ),
        ),
    ]
