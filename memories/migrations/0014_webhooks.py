"""The feed of events and webhooks."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0013_items'),
        ('tenants', '0006_keys'),
    ]

    operations = [
        migrations.CreateModel(
            name='FeedEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('type', models.CharField(choices=[('memory.created', 'memory.created'), ('memory.updated', 'memory.updated'), ('memory.superseded', 'memory.superseded'), ('memory.retired', 'memory.retired'), ('memory.restored', 'memory.restored'), ('memory.erased', 'memory.erased'), ('learning.finished', 'learning.finished'), ('learning.failed', 'learning.failed'), ('review.opened', 'review.opened'), ('review.closed', 'review.closed'), ('member.created', 'member.created'), ('member.activated', 'member.activated'), ('member.deactivated', 'member.deactivated'), ('member.erased', 'member.erased'), ('webhook.disabled', 'webhook.disabled')], max_length=30)),
                ('app', models.CharField(max_length=64, null=True)),
                ('event', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.auditevent')),
                ('membership', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.membership')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'verbose_name_plural': 'feed entries',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='FeedMark',
            fields=[
                ('chain', models.CharField(max_length=90, primary_key=True, serialize=False)),
                ('length', models.PositiveBigIntegerField(default=0)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2000)),
                ('description', models.CharField(blank=True, default='', max_length=200)),
                ('types', models.JSONField(default=list)),
                ('enabled', models.BooleanField(default=True)),
                ('secret', models.TextField()),
                ('previous_secret', models.TextField(blank=True, default='')),
                ('previous_until', models.DateTimeField(null=True)),
                ('place', models.BigIntegerField(default=0)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('available_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('leased_until', models.DateTimeField(null=True)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('trouble', models.CharField(blank=True, default='', max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('delivered', 'delivered'), ('failed', 'failed')], default='waiting', max_length=9)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('error', models.CharField(blank=True, default='', max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('available_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('first_tried_at', models.DateTimeField(null=True)),
                ('tried_at', models.DateTimeField(null=True)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.feedentry')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='memories.webhookendpoint')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
            },
        ),
        migrations.AddIndex(
            model_name='feedentry',
            index=models.Index(fields=['tenant', 'id'], name='feed_of_tenant'),
        ),
        migrations.AddIndex(
            model_name='feedentry',
            index=models.Index(fields=['membership', 'id'], name='feed_of_member'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['endpoint', 'state', 'available_at'], name='webhook_delivery_due'),
        ),
        migrations.AddConstraint(
            model_name='webhookdelivery',
            constraint=models.UniqueConstraint(fields=('endpoint', 'entry'), name='webhook_delivery_once'),
        ),
    ]
