import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


# The columns of each memory table that hold the owner, the words, the key, the times and the state. They change, and a row
# goes, only inside a write scope: SQLite asks the function that the application registers on its connections,
# PostgreSQL the setting of the transaction.
GUARDED = {
    'memories_episode': 'tenant_id, user_id, scope, task, text, content_hash, session_id, sequence, ordinal, speaker, context, happened_at, created_at',
    'memories_fact': 'tenant_id, user_id, scope, task, text, content_hash, key, category, learned_at, valid_from, valid_to, superseded_at, evicted_at, created_at, id, status, superseded_by_id, retracted, restores, promoted_from, archived_at, evicted_from, expires_at, review_after, last_verified_at, confidence, pinned, sensitivity, version',
    'memories_playbook': 'tenant_id, user_id, scope, task, text, content_hash, title, trigger, steps, category, learned_at, superseded_at, evicted_at, created_at, id, status, superseded_by_id, retracted, restores, promoted_from, archived_at, evicted_from, success_count, failure_count, sensitivity, version',
    'memories_catalogentry': 'tenant_id, user_id, scope, task, text, content_hash, title, source_url, created_at',
}
REFUSED = 'Memory rows change inside a write scope only.'

SQLITE = """
CREATE TRIGGER {table}_update_in_scope BEFORE UPDATE OF {columns} ON {table} FOR EACH ROW
WHEN NOT memoryhub_writing() BEGIN SELECT RAISE(ABORT, '{refused}'); END;
CREATE TRIGGER {table}_delete_in_scope BEFORE DELETE ON {table} FOR EACH ROW
WHEN NOT memoryhub_writing() BEGIN SELECT RAISE(ABORT, '{refused}'); END;
CREATE TRIGGER {table}_replace_in_scope BEFORE INSERT ON {table} FOR EACH ROW
WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) AND NOT memoryhub_writing()
BEGIN SELECT RAISE(ABORT, '{refused}'); END
"""
POSTGRESQL_FUNCTION = """
CREATE FUNCTION memories_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('memoryhub.write', true), '') <> 'on' THEN
        RAISE EXCEPTION '{refused}' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$
"""
POSTGRESQL = """
CREATE TRIGGER {table}_update_in_scope BEFORE UPDATE OF {columns} ON {table} FOR EACH ROW
EXECUTE FUNCTION memories_refuse_change();
CREATE TRIGGER {table}_delete_in_scope BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION memories_refuse_change();
CREATE TRIGGER {table}_truncate_in_scope BEFORE TRUNCATE ON {table} FOR EACH STATEMENT
EXECUTE FUNCTION memories_refuse_change()
"""


def guard(_apps, schema_editor):
    sqlite = schema_editor.connection.vendor == 'sqlite'
    if not sqlite:
        schema_editor.execute(POSTGRESQL_FUNCTION.format(refused=REFUSED), params=None)
    for table, columns in GUARDED.items():
        statements = (SQLITE if sqlite else POSTGRESQL).format(table=table, columns=columns, refused=REFUSED)
        # A trigger of SQLite holds semicolons of its own, so statements are told apart by how they begin.
        for statement in statements.split('CREATE TRIGGER ')[1:]:
            schema_editor.execute('CREATE TRIGGER ' + statement.rstrip('; \n'), params=None)


def unguard(_apps, schema_editor):
    sqlite = schema_editor.connection.vendor == 'sqlite'
    for table in GUARDED:
        for name in ('update', 'delete', 'replace' if sqlite else 'truncate'):
            on_table = '' if sqlite else f' ON {table}'
            schema_editor.execute(f'DROP TRIGGER IF EXISTS {table}_{name}_in_scope{on_table}', params=None)
    if not sqlite:
        schema_editor.execute('DROP FUNCTION IF EXISTS memories_refuse_change()', params=None)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='CatalogEntry',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('global', 'global'), ('tenant', 'tenant'), ('user', 'user'), ('task', 'task')], default='user', max_length=8)),
                ('task', models.CharField(blank=True, max_length=64, null=True)),
                ('text', models.TextField()),
                ('content_hash', models.CharField(max_length=64)),
                ('embedding', models.BinaryField(null=True)),
                ('embedding_model', models.CharField(blank=True, default='', max_length=80)),
                ('token_ids', models.BinaryField(null=True)),
                ('version', models.PositiveBigIntegerField(default=1)),
                ('status', models.CharField(choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='active', max_length=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('title', models.CharField(max_length=200)),
                ('source_url', models.URLField(blank=True, default='', max_length=500)),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sensitivity', models.JSONField(blank=True, default=dict)),
            ],
            options={
                'verbose_name_plural': 'catalog entries',
                'ordering': ['title', 'id'],
                'abstract': False,
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('scope', 'global'), models.Q(('tenant__isnull', False), _negated=True), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'tenant'), ('tenant__isnull', False), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'user'), ('tenant__isnull', False), ('user__isnull', False), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'task'), ('tenant__isnull', False), ('user__isnull', False), ('task__isnull', False)), _connector='OR'), name='catalog_scope_matches_owner'), models.CheckConstraint(condition=models.Q(('scope__in', ['tenant', 'global'])), name='catalog_is_shared'), models.UniqueConstraint(condition=models.Q(('scope', 'tenant'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'content_hash'), name='catalog_content_hash_per_tenant'), models.UniqueConstraint(condition=models.Q(('scope', 'global'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('content_hash',), name='catalog_content_hash_per_global')],
                'indexes': [],
            },
        ),
        migrations.CreateModel(
            name='ConsolidationRun',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='running', max_length=8)),
                ('extractor', models.CharField(max_length=80)),
                ('input', models.JSONField(default=dict)),
                ('decisions', models.JSONField(default=list)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('input_tokens', models.PositiveIntegerField(default=0)),
                ('output_tokens', models.PositiveIntegerField(default=0)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cost', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('first_ordinal', models.PositiveBigIntegerField(default=0)),
                ('given_up', models.BooleanField(default=False)),
                ('last_ordinal', models.PositiveBigIntegerField(default=0)),
                ('output', models.JSONField(blank=True, default=dict)),
                ('rerun_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reruns', to='memories.consolidationrun')),
                ('trigger', models.CharField(choices=[('turn', 'turn'), ('count', 'count'), ('age', 'age'), ('demand', 'demand'), ('retry', 'retry'), ('rerun', 'rerun')], default='demand', max_length=8)),
            ],
            options={
                'ordering': ['-started_at'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='run_ends_when_it_stops'), models.CheckConstraint(condition=models.Q(('given_up', False), ('state', 'failed'), _connector='OR'), name='run_gave_up_by_failing'), models.CheckConstraint(condition=models.Q(('last_ordinal__gte', models.F('first_ordinal'))), name='run_reads_forward')],
                'indexes': [models.Index(fields=['tenant', 'user', '-started_at'], name='run_owner_recent'), models.Index(fields=['started_at'], name='run_recent'), models.Index(fields=['tenant', '-started_at'], name='run_tenant_recent')],
            },
        ),
        migrations.CreateModel(
            name='EpisodeLedger',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stored', models.PositiveBigIntegerField(default=0)),
                ('consolidated', models.PositiveBigIntegerField(default=0)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('waiting_since', models.DateTimeField(blank=True, null=True)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('waiting_since__isnull', False)), fields=['waiting_since'], name='ledger_waiting')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'user'), name='ledger_of_owner'), models.CheckConstraint(condition=models.Q(('consolidated__lte', models.F('stored'))), name='ledger_watermark_is_stored')],
            },
        ),
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('asked', 'asked'), ('approved', 'approved'), ('running', 'running'), ('stopped', 'stopped'), ('done', 'done'), ('refused', 'refused')], default='asked', max_length=8)),
                ('reason', models.CharField(max_length=300)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('stage', models.CharField(blank=True, default='', max_length=30)),
                ('progress', models.JSONField(blank=True, default=dict)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('trouble', models.CharField(blank=True, default='', max_length=200)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('receipt', models.JSONField(blank=True, default=dict)),
                ('receipt_digest', models.CharField(blank=True, default='', max_length=64)),
                ('signature', models.CharField(blank=True, default='', max_length=200)),
                ('asked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('membership', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.membership')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['-asked_at', 'id'],
                'indexes': [models.Index(fields=['state', 'leased_until'], name='erasure_to_run')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'approved', 'running', 'stopped'])), fields=('membership',), name='erasure_one_open_per_member'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state', 'done'), models.Q(('receipt_digest', ''), _negated=True)), models.Q(models.Q(('state', 'done'), _negated=True), ('receipt_digest', '')), _connector='OR'), name='erasure_done_has_receipt')],
            },
        ),
        migrations.CreateModel(
            name='ExpiryRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('category', models.CharField(max_length=100)),
                ('soft_days', models.PositiveIntegerField(blank=True, null=True)),
                ('hard_days', models.PositiveIntegerField(blank=True, null=True)),
                ('review_days', models.PositiveIntegerField(blank=True, null=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='expiry_rules', to='tenants.tenant')),
            ],
            options={
                'ordering': ['tenant', 'category'],
                'indexes': [],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'category'), name='expiry_rule_of_category'), models.CheckConstraint(condition=models.Q(('category', ''), _negated=True), name='expiry_rule_names_a_category')],
            },
        ),
        migrations.CreateModel(
            name='HygieneRun',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('trigger', models.CharField(default='demand', max_length=10)),
                ('state', models.CharField(choices=[('running', 'running'), ('interrupted', 'interrupted'), ('done', 'done'), ('failed', 'failed')], default='running', max_length=11)),
                ('cursor', models.JSONField(blank=True, default=dict)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['-started_at'],
                'indexes': [models.Index(fields=['tenant', '-started_at'], name='hygiene_tenant_recent')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='LegalHold',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(max_length=300)),
                ('placed_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('released_at', models.DateTimeField(blank=True, null=True)),
                ('placed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('released_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-placed_at', 'id'],
                'indexes': [],
                'constraints': [models.UniqueConstraint(condition=models.Q(('released_at__isnull', True)), fields=('tenant', 'user'), name='hold_once_per_member'), models.UniqueConstraint(condition=models.Q(('released_at__isnull', True), ('user__isnull', True)), fields=('tenant',), name='hold_once_per_tenant'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='hold_says_why')],
            },
        ),
        migrations.CreateModel(
            name='MemberMemory',
            fields=[
            ],
            options={
                'verbose_name': "member's memory",
                'verbose_name_plural': "members' memory",
                'proxy': True,
                'indexes': [],
                'constraints': [],
            },
            bases=('tenants.membership',),
        ),
        migrations.CreateModel(
            name='MemoryPolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_hours', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('consolidate_every', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('consolidate_hours', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('recall_mode', models.CharField(blank=True, choices=[('push', 'push'), ('pull', 'pull'), ('hybrid', 'hybrid')], default='', max_length=6)),
                ('recall_items', models.PositiveIntegerField(blank=True, null=True)),
                ('recall_tokens', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('recall_threshold', models.FloatField(blank=True, null=True)),
                ('pinned_refresh_turns', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('keep_superseded', models.BooleanField(default=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='memory_policy', to='tenants.tenant')),
                ('handling', models.JSONField(blank=True, default=dict)),
                ('keep_originals', models.BooleanField(default=False)),
                ('erasure_needs_second', models.BooleanField(default=False)),
            ],
            options={
                'verbose_name_plural': 'memory policies',
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='MetricSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('label', models.CharField(blank=True, default='', max_length=60)),
                ('at', models.DateTimeField()),
                ('value', models.FloatField()),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['name', 'label', 'at'],
                'indexes': [models.Index(fields=['at'], name='sample_by_age')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'name', 'label', 'at'), name='sample_once_for_a_tenant'), models.UniqueConstraint(condition=models.Q(('tenant__isnull', True)), fields=('name', 'label', 'at'), name='sample_once_for_all')],
                'verbose_name_plural': 'metrics',
            },
        ),
        migrations.CreateModel(
            name='OutboxEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(null=True)),
                ('user_id', models.UUIDField(null=True)),
                ('kind', models.CharField(choices=[('episodic', 'episodic'), ('semantic', 'semantic'), ('procedural', 'procedural'), ('catalog', 'catalog')], max_length=10)),
                ('memory_id', models.UUIDField()),
                ('version', models.PositiveBigIntegerField()),
                ('operation', models.CharField(choices=[('upsert', 'upsert'), ('delete', 'delete')], max_length=6)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('available_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'outbox entries',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['tenant_id', 'user_id', 'id'], name='outbox_owner_tail'), models.Index(fields=['available_at', 'id'], name='outbox_due')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='SealedOriginal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('episodic', 'episodic'), ('semantic', 'semantic'), ('procedural', 'procedural'), ('catalog', 'catalog')], max_length=10)),
                ('memory_id', models.UUIDField(unique=True)),
                ('sealed', models.TextField(editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('title', models.CharField(blank=True, default='', max_length=200)),
                ('working_memory', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_turn_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('expired_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-last_turn_at', 'id'],
                'indexes': [models.Index(fields=['tenant', 'user', '-last_turn_at'], name='session_owner_recent'), models.Index(condition=models.Q(('expired_at__isnull', True)), fields=['expires_at'], name='session_to_expire')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='ThresholdProposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.FloatField(blank=True, null=True)),
                ('previous', models.FloatField(blank=True, null=True)),
                ('reason', models.CharField(max_length=300)),
                ('evidence', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('applied_by', models.UUIDField(blank=True, null=True)),
                ('dismissed_at', models.DateTimeField(blank=True, null=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.tenant')),
            ],
            options={
                'ordering': ['-created_at'],
                'indexes': [],
                'constraints': [models.CheckConstraint(condition=models.Q(('applied_at__isnull', True), ('dismissed_at__isnull', True), _connector='OR'), name='proposal_is_decided_once')],
            },
        ),
        migrations.CreateModel(
            name='RecallTrace',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('query', models.TextField(blank=True)),
                ('parameters', models.JSONField(default=dict)),
                ('stages', models.JSONField(default=dict)),
                ('candidates', models.JSONField(default=list)),
                ('degraded', models.BooleanField(default=False)),
                ('took_ms', models.FloatField(default=0.0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='recalls', to='memories.session')),
                ('returned', models.PositiveIntegerField(default=0)),
            ],
            options={
                'ordering': ['-created_at'],
                'indexes': [models.Index(fields=['tenant', 'user', '-created_at'], name='trace_owner_recent'), models.Index(fields=['created_at'], name='trace_recent')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='SessionEntry',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('turn', models.PositiveIntegerField(default=0)),
                ('place', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('goal', 'goal'), ('plan', 'plan'), ('progress', 'progress'), ('observation', 'observation'), ('constraint', 'constraint'), ('note', 'note'), ('decision', 'decision')], max_length=12)),
                ('importance', models.CharField(choices=[('normal', 'normal'), ('important', 'important'), ('critical', 'critical')], default='normal', max_length=9)),
                ('text', models.TextField()),
                ('memory_id', models.UUIDField(blank=True, null=True)),
                ('proposed_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='memories.session')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'session entries',
                'ordering': ['session', 'place'],
                'indexes': [],
                'constraints': [models.UniqueConstraint(fields=('session', 'place'), name='entry_place_in_session')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('turn', models.PositiveIntegerField()),
                ('step', models.PositiveIntegerField(default=0)),
                ('role', models.CharField(choices=[('user', 'user'), ('assistant', 'assistant'), ('tool', 'tool')], max_length=10)),
                ('state', models.CharField(choices=[('complete', 'complete'), ('cut_off', 'cut off'), ('failed', 'failed'), ('redacted', 'redacted')], default='complete', max_length=10)),
                ('speaker', models.CharField(blank=True, default='', max_length=100)),
                ('text', models.TextField(blank=True, default='')),
                ('tool_calls', models.JSONField(blank=True, default=list)),
                ('tool_call_id', models.CharField(blank=True, default='', max_length=100)),
                ('degraded', models.BooleanField(default=False)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('took_ms', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('recall', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='messages', to='memories.recalltrace')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='memories.session')),
                ('memory_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('sensitivity', models.JSONField(blank=True, default=dict)),
            ],
            options={
                'ordering': ['turn', 'step'],
                'indexes': [models.Index(condition=models.Q(('memory_tokens__isnull', False)), fields=['created_at'], name='answer_recent')],
                'constraints': [models.UniqueConstraint(fields=('session', 'turn', 'step'), name='message_place_in_session')],
            },
        ),
        migrations.CreateModel(
            name='Episode',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('global', 'global'), ('tenant', 'tenant'), ('user', 'user'), ('task', 'task')], default='user', max_length=8)),
                ('task', models.CharField(blank=True, max_length=64, null=True)),
                ('text', models.TextField()),
                ('content_hash', models.CharField(max_length=64)),
                ('embedding', models.BinaryField(null=True)),
                ('embedding_model', models.CharField(blank=True, default='', max_length=80)),
                ('token_ids', models.BinaryField(null=True)),
                ('version', models.PositiveBigIntegerField(default=1)),
                ('status', models.CharField(choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='active', max_length=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('sequence', models.PositiveIntegerField()),
                ('speaker', models.CharField(blank=True, default='', max_length=100)),
                ('context', models.TextField(blank=True, default='')),
                ('happened_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('message', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='episode', to='memories.message')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='episodes', to='memories.session')),
                ('ordinal', models.PositiveBigIntegerField()),
                ('sensitivity', models.JSONField(blank=True, default=dict)),
            ],
            options={
                'ordering': ['session', 'sequence'],
                'indexes': [models.Index(fields=['tenant', 'user', 'speaker'], name='episode_speakers'), models.Index(fields=['tenant', 'user', '-happened_at'], name='episode_recent')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('scope', 'global'), models.Q(('tenant__isnull', False), _negated=True), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'tenant'), ('tenant__isnull', False), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'user'), ('tenant__isnull', False), ('user__isnull', False), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'task'), ('tenant__isnull', False), ('user__isnull', False), ('task__isnull', False)), _connector='OR'), name='episode_scope_matches_owner'), models.CheckConstraint(condition=models.Q(('scope__in', ['user', 'task'])), name='episode_belongs_to_a_user'), models.UniqueConstraint(fields=('session', 'sequence'), name='episode_place_in_session'), models.UniqueConstraint(fields=('tenant', 'user', 'ordinal'), name='episode_ordinal_of_owner')],
            },
        ),
        migrations.CreateModel(
            name='Mention',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('relation', models.CharField(choices=[('recalled', 'recalled'), ('wrote', 'wrote'), ('confirmed', 'confirmed'), ('replaced', 'replaced'), ('forgot', 'forgot')], max_length=9)),
                ('kind', models.CharField(choices=[('episodic', 'episodic'), ('semantic', 'semantic'), ('procedural', 'procedural'), ('catalog', 'catalog')], max_length=10)),
                ('memory_id', models.UUIDField()),
                ('position', models.PositiveIntegerField(default=0)),
                ('reasons', models.JSONField(blank=True, default=list)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='memories.message')),
                ('used', models.BooleanField(blank=True, null=True)),
            ],
            options={
                'ordering': ['message', 'position'],
                'indexes': [models.Index(fields=['memory_id', 'relation'], name='mention_of_memory')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('global', 'global'), ('tenant', 'tenant'), ('user', 'user'), ('task', 'task')], default='user', max_length=8)),
                ('task', models.CharField(blank=True, max_length=64, null=True)),
                ('text', models.TextField()),
                ('content_hash', models.CharField(max_length=64)),
                ('embedding', models.BinaryField(null=True)),
                ('embedding_model', models.CharField(blank=True, default='', max_length=80)),
                ('token_ids', models.BinaryField(null=True)),
                ('version', models.PositiveBigIntegerField(default=1)),
                ('status', models.CharField(choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='active', max_length=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('learned_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('superseded_at', models.DateTimeField(blank=True, null=True)),
                ('contradiction', models.CharField(blank=True, choices=[('natural', 'natural'), ('harsh', 'harsh')], default='', max_length=8)),
                ('retracted', models.BooleanField(default=False)),
                ('key', models.CharField(blank=True, default='', max_length=100)),
                ('category', models.CharField(blank=True, default='', max_length=100)),
                ('confidence', models.FloatField(default=1.0, validators=[django.core.validators.MinValueValidator(0.0), django.core.validators.MaxValueValidator(1.0)])),
                ('source', models.CharField(choices=[('user_stated', 'user stated'), ('imported', 'imported'), ('config_change', 'config change'), ('task_outcome', 'task outcome'), ('agent_inferred', 'agent inferred'), ('pattern', 'pattern')], default='user_stated', max_length=16)),
                ('pinned', models.BooleanField(default=False)),
                ('valid_from', models.DateTimeField(blank=True, null=True)),
                ('valid_to', models.DateTimeField(blank=True, null=True)),
                ('use_count', models.PositiveIntegerField(default=0)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('last_verified_at', models.DateTimeField(blank=True, null=True)),
                ('review_after', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='memories.fact')),
                ('supporting_episodes', models.ManyToManyField(blank=True, related_name='supports', to='memories.episode')),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('evicted_at', models.DateTimeField(blank=True, null=True)),
                ('evicted_from', models.CharField(blank=True, choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='', max_length=12)),
                ('promoted_from', models.UUIDField(blank=True, null=True)),
                ('restores', models.UUIDField(blank=True, null=True)),
                ('likeness', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('sensitivity', models.JSONField(blank=True, default=dict)),
                ('staleness', models.FloatField(blank=True, editable=False, null=True)),
            ],
            options={
                'ordering': ['-learned_at', 'id'],
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'user', 'status', '-learned_at'], name='fact_owner_status'), models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='fact_to_expire'), models.Index(condition=models.Q(('review_after__isnull', False)), fields=['review_after'], name='fact_to_review'), models.Index(fields=['tenant', 'user', 'likeness', 'status'], name='fact_likeness'), models.Index(condition=models.Q(('task__isnull', False)), fields=['tenant', 'user', 'task', 'status'], name='fact_open_tasks'), models.Index(fields=['tenant', 'staleness', 'status'], name='fact_staleness'), models.Index(condition=models.Q(('superseded_at__isnull', False)), fields=['tenant', '-superseded_at'], name='fact_superseded'), models.Index(condition=models.Q(('restores__isnull', False)), fields=['restores'], name='fact_restores'), models.Index(condition=models.Q(('promoted_from__isnull', False)), fields=['promoted_from'], name='fact_promoted')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('scope', 'global'), models.Q(('tenant__isnull', False), _negated=True), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'tenant'), ('tenant__isnull', False), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'user'), ('tenant__isnull', False), ('user__isnull', False), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'task'), ('tenant__isnull', False), ('user__isnull', False), ('task__isnull', False)), _connector='OR'), name='fact_scope_matches_owner'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'superseded'), ('superseded_at__isnull', False)), models.Q(models.Q(('status', 'superseded'), _negated=True), ('superseded_at__isnull', True)), ('status', 'evicted'), _connector='OR'), name='fact_superseded_has_time'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('status__in', ['superseded', 'evicted']), _connector='OR'), name='fact_link_means_superseded'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), models.Q(('superseded_by', models.F('id')), _negated=True), _connector='OR'), name='fact_not_its_own_successor'), models.UniqueConstraint(condition=models.Q(('scope', 'global'), ('status__in', ['active', 'stale']), models.Q(('key', ''), _negated=True)), fields=('key',), name='fact_key_per_global'), models.UniqueConstraint(condition=models.Q(('scope', 'tenant'), ('status__in', ['active', 'stale']), models.Q(('key', ''), _negated=True)), fields=('tenant', 'key'), name='fact_key_per_tenant'), models.UniqueConstraint(condition=models.Q(('scope', 'user'), ('status__in', ['active', 'stale']), models.Q(('key', ''), _negated=True)), fields=('tenant', 'user', 'key'), name='fact_key_per_user'), models.UniqueConstraint(condition=models.Q(('scope', 'task'), ('status__in', ['active', 'stale']), models.Q(('key', ''), _negated=True)), fields=('tenant', 'user', 'task', 'key'), name='fact_key_per_task'), models.UniqueConstraint(condition=models.Q(('scope', 'global'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('content_hash',), name='fact_content_hash_per_global'), models.UniqueConstraint(condition=models.Q(('scope', 'tenant'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'content_hash'), name='fact_content_hash_per_tenant'), models.UniqueConstraint(condition=models.Q(('scope', 'user'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'user', 'content_hash'), name='fact_content_hash_per_user'), models.UniqueConstraint(condition=models.Q(('scope', 'task'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'user', 'task', 'content_hash'), name='fact_content_hash_per_task'), models.CheckConstraint(condition=models.Q(('confidence__gte', 0.0), ('confidence__lte', 1.0)), name='fact_confidence_is_a_share'), models.CheckConstraint(condition=models.Q(('valid_from__isnull', True), ('valid_to__isnull', True), ('valid_to__gte', models.F('valid_from')), _connector='OR'), name='fact_validity_runs_forward'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'evicted'), ('evicted_at__isnull', False), models.Q(('evicted_from', ''), _negated=True)), models.Q(models.Q(('status', 'evicted'), _negated=True), ('evicted_at__isnull', True), ('evicted_from', '')), _connector='OR'), name='fact_evicted_can_return'), models.CheckConstraint(condition=models.Q(('archived_at__isnull', True), ('superseded_at__isnull', False), _connector='OR'), name='fact_archived_is_superseded')],
            },
        ),
        migrations.CreateModel(
            name='Playbook',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(choices=[('global', 'global'), ('tenant', 'tenant'), ('user', 'user'), ('task', 'task')], default='user', max_length=8)),
                ('task', models.CharField(blank=True, max_length=64, null=True)),
                ('text', models.TextField()),
                ('content_hash', models.CharField(max_length=64)),
                ('embedding', models.BinaryField(null=True)),
                ('embedding_model', models.CharField(blank=True, default='', max_length=80)),
                ('token_ids', models.BinaryField(null=True)),
                ('version', models.PositiveBigIntegerField(default=1)),
                ('status', models.CharField(choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='active', max_length=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('learned_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('superseded_at', models.DateTimeField(blank=True, null=True)),
                ('contradiction', models.CharField(blank=True, choices=[('natural', 'natural'), ('harsh', 'harsh')], default='', max_length=8)),
                ('retracted', models.BooleanField(default=False)),
                ('title', models.CharField(max_length=200)),
                ('trigger', models.TextField(blank=True, default='')),
                ('steps', models.JSONField(blank=True, default=list)),
                ('category', models.CharField(blank=True, default='', max_length=100)),
                ('success_count', models.PositiveIntegerField(default=0)),
                ('failure_count', models.PositiveIntegerField(default=0)),
                ('last_success_at', models.DateTimeField(blank=True, null=True)),
                ('last_failure_at', models.DateTimeField(blank=True, null=True)),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='memories.playbook')),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('evicted_at', models.DateTimeField(blank=True, null=True)),
                ('evicted_from', models.CharField(blank=True, choices=[('active', 'active'), ('stale', 'stale'), ('superseded', 'superseded'), ('evicted', 'evicted')], default='', max_length=12)),
                ('promoted_from', models.UUIDField(blank=True, null=True)),
                ('restores', models.UUIDField(blank=True, null=True)),
                ('supporting_episodes', models.ManyToManyField(blank=True, related_name='supports_playbooks', to='memories.episode')),
                ('likeness', models.CharField(blank=True, default='', editable=False, max_length=64)),
                ('sensitivity', models.JSONField(blank=True, default=dict)),
                ('staleness', models.FloatField(blank=True, editable=False, null=True)),
            ],
            options={
                'ordering': ['title', 'id'],
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'user', 'status'], name='playbook_owner_status'), models.Index(fields=['tenant', 'user', 'likeness', 'status'], name='playbook_likeness'), models.Index(condition=models.Q(('task__isnull', False)), fields=['tenant', 'user', 'task', 'status'], name='playbook_open_tasks'), models.Index(condition=models.Q(('superseded_at__isnull', False)), fields=['tenant', '-superseded_at'], name='playbook_superseded'), models.Index(condition=models.Q(('restores__isnull', False)), fields=['restores'], name='playbook_restores'), models.Index(condition=models.Q(('promoted_from__isnull', False)), fields=['promoted_from'], name='playbook_promoted')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('scope', 'global'), models.Q(('tenant__isnull', False), _negated=True), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'tenant'), ('tenant__isnull', False), models.Q(('user__isnull', False), _negated=True), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'user'), ('tenant__isnull', False), ('user__isnull', False), models.Q(('task__isnull', False), _negated=True)), models.Q(('scope', 'task'), ('tenant__isnull', False), ('user__isnull', False), ('task__isnull', False)), _connector='OR'), name='playbook_scope_matches_owner'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'superseded'), ('superseded_at__isnull', False)), models.Q(models.Q(('status', 'superseded'), _negated=True), ('superseded_at__isnull', True)), ('status', 'evicted'), _connector='OR'), name='playbook_superseded_has_time'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('status__in', ['superseded', 'evicted']), _connector='OR'), name='playbook_link_means_superseded'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), models.Q(('superseded_by', models.F('id')), _negated=True), _connector='OR'), name='playbook_not_its_own_successor'), models.UniqueConstraint(condition=models.Q(('scope', 'global'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('content_hash',), name='playbook_content_hash_per_global'), models.UniqueConstraint(condition=models.Q(('scope', 'tenant'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'content_hash'), name='playbook_content_hash_per_tenant'), models.UniqueConstraint(condition=models.Q(('scope', 'user'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'user', 'content_hash'), name='playbook_content_hash_per_user'), models.UniqueConstraint(condition=models.Q(('scope', 'task'), ('status__in', ['active', 'stale']), models.Q(('content_hash', ''), _negated=True)), fields=('tenant', 'user', 'task', 'content_hash'), name='playbook_content_hash_per_task'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'evicted'), ('evicted_at__isnull', False), models.Q(('evicted_from', ''), _negated=True)), models.Q(models.Q(('status', 'evicted'), _negated=True), ('evicted_at__isnull', True), ('evicted_from', '')), _connector='OR'), name='playbook_evicted_can_return'), models.CheckConstraint(condition=models.Q(('archived_at__isnull', True), ('superseded_at__isnull', False), _connector='OR'), name='playbook_archived_is_superseded')],
            },
        ),
        migrations.CreateModel(
            name='ReviewItem',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(max_length=300)),
                ('decision', models.CharField(choices=[('open', 'open'), ('keep_one', 'keep one'), ('keep_both', 'keep both'), ('merge', 'merge'), ('edit', 'edit'), ('evict', 'evict'), ('keep', 'keep'), ('withdrawn', 'withdrawn')], default='open', max_length=10)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('first', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.fact')),
                ('second', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.fact')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tenants.tenant')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('evidence', models.JSONField(blank=True, default=dict)),
                ('kind', models.CharField(choices=[('contradiction', 'contradiction'), ('eviction', 'eviction')], default='contradiction', max_length=13)),
                ('outcome', models.JSONField(blank=True, default=dict)),
                ('playbook', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.playbook')),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'indexes': [models.Index(fields=['tenant', 'decision', '-created_at'], name='review_tenant_open'), models.Index(fields=['tenant', 'user', 'decision'], name='review_owner_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('decision', 'open'), ('kind', 'contradiction')), fields=('first', 'second'), name='review_one_open_item_per_pair'), models.UniqueConstraint(condition=models.Q(('decision', 'open'), ('first__isnull', False), ('kind', 'eviction')), fields=('first',), name='review_one_open_eviction_per_fact'), models.UniqueConstraint(condition=models.Q(('decision', 'open'), ('playbook__isnull', False)), fields=('playbook',), name='review_one_open_item_per_playbook'), models.CheckConstraint(condition=models.Q(models.Q(('first__isnull', False), ('kind', 'contradiction'), ('playbook__isnull', True), ('second__isnull', False), models.Q(('first', models.F('second')), _negated=True)), models.Q(('first__isnull', False), ('kind', 'eviction'), ('playbook__isnull', True), ('second__isnull', True)), models.Q(('first__isnull', True), ('kind', 'eviction'), ('playbook__isnull', False), ('second__isnull', True)), _connector='OR'), name='review_names_what_it_is_about')],
            },
        ),
        migrations.RunPython(guard, unguard),
    ]
