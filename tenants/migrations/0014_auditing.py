
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0012_user_profile'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('page', models.CharField(choices=[('audit', 'audit log'), ('history', 'histories')], max_length=8)),
                ('name', models.CharField(max_length=60)),
                ('query', models.CharField(max_length=1000)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'user', 'page', 'name'), name='saved_view_name')],
            },
        ),
        migrations.CreateModel(
            name='TenantCheck',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('total', models.PositiveIntegerField(default=0)),
                ('results', models.JSONField(default=list)),
                ('guards', models.JSONField(default=list)),
                ('certified_as', models.UUIDField(null=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['-asked_at', '-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('tenant',), name='tenant_check_one_open_per_tenant')],
            },
        ),
    ]
