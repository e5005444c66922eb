"""A finding about a chain is stored whole."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0021_external_id_refusal'),
    ]

    operations = [
        migrations.AlterField(
            model_name='chaincheck',
            name='reason',
            field=models.TextField(blank=True, default=''),
        ),
    ]
