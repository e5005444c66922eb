from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from memoryhub.signing.keyed import keyed_digest
from tenants.audit import triggers
from tenants.audit.digests import canonical_json

AT_ONCE = 500


def unguard(_apps, schema_editor):
    triggers.drop(schema_editor.connection.vendor, execute(schema_editor))


def guard(_apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute('SET CONSTRAINTS ALL IMMEDIATE')  # a table with pending events takes no trigger
    triggers.install(schema_editor.connection.vendor, execute(schema_editor))


def execute(schema_editor):
    return lambda statement: schema_editor.execute(statement, params=None)


def seal(apps, _schema_editor):
    """Seal the heads as they are: their events have digests without a key. Account for payloads that are gone."""
    head_model, erasure_model = apps.get_model('tenants', 'AuditHead'), apps.get_model('tenants', 'AuditErasure')
    for head in head_model.objects.all().iterator():
        head.unkeyed = head.length
        head.seal = keyed_digest('head', canonical_json([head.chain, head.length, head.digest, head.unkeyed]))
        head.save(update_fields=['unkeyed', 'seal'])
    event_model = apps.get_model('tenants', 'AuditEvent')
    erased = event_model.objects.filter(payload=None, erasure=None).order_by().values_list('pk', 'payload_digest')
    while some := list(erased[:AT_ONCE]):
        erasure_model.objects.bulk_create(
            erasure_model(event_id=pk, seal=keyed_digest('erasure', canonical_json([pk, digest, None])))
            for pk, digest in some
        )


def nothing(_apps, _schema_editor):
    pass


class Migration(migrations.Migration):

    dependencies = [('tenants', '0001_initial')]

    operations = [
        migrations.RunPython(unguard, import_module('tenants.migrations.0001_initial').install),
        migrations.CreateModel(
            name='AuditErasure',
            fields=[
                ('event', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='erasure', serialize=False, to='tenants.auditevent')),
                ('by', models.UUIDField(null=True)),
                ('seal', models.CharField(max_length=64)),
            ],
        ),
        migrations.AddField('audithead', 'unkeyed', models.PositiveBigIntegerField(default=0)),
        migrations.AddField('audithead', 'seal', models.CharField(default='', max_length=64)),
        migrations.RunPython(seal, nothing),
        migrations.RunPython(guard, unguard),
    ]
