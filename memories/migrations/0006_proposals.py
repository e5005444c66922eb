import django.db.models.deletion
import django.utils.timezone
import uuid
from importlib import import_module
from django.conf import settings
from django.db import migrations, models


def guard_again(_apps, schema_editor):
    """SQLite drops the triggers of a table with its rebuilding; those of how-tos also guard the new column."""
    first = import_module('memories.migrations.0001_initial')
    sqlite = schema_editor.connection.vendor == 'sqlite'
    table = 'memories_playbook'
    for name in ('update', 'delete', 'replace' if sqlite else 'truncate'):
        on_table = '' if sqlite else f' ON {table}'
        schema_editor.execute(f'DROP TRIGGER IF EXISTS {table}_{name}_in_scope{on_table}', params=None)
    columns = f'{first.GUARDED[table]}, proposed'
    statements = (first.SQLITE if sqlite else first.POSTGRESQL).format(table=table, columns=columns, refused=first.REFUSED)
    for statement in statements.split('CREATE TRIGGER ')[1:]:
        schema_editor.execute('CREATE TRIGGER ' + statement.rstrip('; \n'), params=None)


def mark_others(apps, _schema_editor):
    """Messages that were imported before name their speaker; nobody but the owner is the owner."""
    message, user = apps.get_model('memories', 'Message'), apps.get_model('tenants', 'User')
    for owner in user.objects.filter(pk__in=message.objects.values('user')).iterator():
        names = ('', owner.display_name, f'{owner.first_name} {owner.last_name}'.strip(), owner.username)
        said = message.objects.filter(user=owner, role='user')
        said.exclude(speaker__in=names).update(own=False)


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0005_given_up'),
        ('tenants', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='own',
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name='playbook',
            name='proposed',
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(guard_again, migrations.RunPython.noop),
        migrations.RunPython(mark_others, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='mention',
            name='relation',
            field=models.CharField(choices=[('recalled', 'recalled'), ('shown', 'shown'), ('wrote', 'wrote'), ('confirmed', 'confirmed'), ('replaced', 'replaced'), ('forgot', 'forgot')], max_length=9),
        ),
        migrations.CreateModel(
            name='ForgetProposal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('turn', models.PositiveIntegerField(default=0)),
                ('goes', models.JSONField(default=list)),
                ('hidden', models.JSONField(blank=True, default=list)),
                ('targets', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('proposed', 'proposed'), ('confirmed', 'confirmed'), ('kept', 'kept'), ('expired', 'expired'), ('erased', 'erased')], default='proposed', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('erase_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='forget_proposals', to='memories.session')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'indexes': [models.Index(condition=models.Q(('state', 'confirmed')), fields=['erase_at'], name='forget_to_erase'), models.Index(fields=['tenant', 'user', 'state'], name='forget_owner_state'), models.Index(fields=['session', 'turn'], name='forget_of_turn')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', 'confirmed'), _negated=True), models.Q(('decided_at__isnull', False), ('erase_at__isnull', False)), _connector='OR'), name='forget_confirmed_has_time')],
            },
        ),
    ]
