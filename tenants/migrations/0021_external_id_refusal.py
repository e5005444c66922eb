"""A sentence for an external id that another member has; the constraint itself does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0020_account_help_texts'),
    ]

    operations = [
        migrations.AlterConstraint(
            model_name='membership',
            name='membership_external_id_per_tenant',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('tenant', 'external_id'), name='membership_external_id_per_tenant', violation_error_message='Another member has this external id.'),
        ),
    ]
