import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


# The triggers of the audit log, as they were when this migration was written; `tenants/audit/verification.py` has today's.
CREATE = {
    'sqlite': [
        "CREATE TRIGGER IF NOT EXISTS audit_event_is_not_updated BEFORE UPDATE ON tenants_auditevent FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_event_is_not_deleted BEFORE DELETE ON tenants_auditevent FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_payload_is_not_updated BEFORE UPDATE ON tenants_auditpayload FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_head_is_not_deleted BEFORE DELETE ON tenants_audithead FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_head_only_grows BEFORE UPDATE ON tenants_audithead FOR EACH ROW WHEN NEW.chain <> OLD.chain OR NEW.length <= OLD.length BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_event_is_not_replaced BEFORE INSERT ON tenants_auditevent FOR EACH ROW WHEN EXISTS (SELECT 1 FROM tenants_auditevent WHERE id = NEW.id OR (chain = NEW.chain AND sequence = NEW.sequence)) BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_payload_is_not_replaced BEFORE INSERT ON tenants_auditpayload FOR EACH ROW WHEN EXISTS (SELECT 1 FROM tenants_auditpayload WHERE event_id = NEW.event_id) BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
        "CREATE TRIGGER IF NOT EXISTS audit_head_is_not_replaced BEFORE INSERT ON tenants_audithead FOR EACH ROW WHEN EXISTS (SELECT 1 FROM tenants_audithead WHERE chain = NEW.chain) BEGIN SELECT RAISE(ABORT, 'The audit trail is append-only.'); END",
    ],
    'postgresql': [
        """
CREATE OR REPLACE FUNCTION tenants_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit trail is append-only.' USING ERRCODE = 'integrity_constraint_violation';
END $$
""",
        'CREATE OR REPLACE TRIGGER audit_event_is_not_updated BEFORE UPDATE ON tenants_auditevent FOR EACH ROW EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_event_is_not_deleted BEFORE DELETE ON tenants_auditevent FOR EACH ROW EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_payload_is_not_updated BEFORE UPDATE ON tenants_auditpayload FOR EACH ROW EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_head_is_not_deleted BEFORE DELETE ON tenants_audithead FOR EACH ROW EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_head_only_grows BEFORE UPDATE ON tenants_audithead FOR EACH ROW WHEN (NEW.chain <> OLD.chain OR NEW.length <= OLD.length) EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_event_is_not_truncated BEFORE TRUNCATE ON tenants_auditevent FOR EACH STATEMENT EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_payload_is_not_truncated BEFORE TRUNCATE ON tenants_auditpayload FOR EACH STATEMENT EXECUTE FUNCTION tenants_refuse_audit_change()',
        'CREATE OR REPLACE TRIGGER audit_head_is_not_truncated BEFORE TRUNCATE ON tenants_audithead FOR EACH STATEMENT EXECUTE FUNCTION tenants_refuse_audit_change()',
],
}
DROP = {
    'sqlite': [
        'DROP TRIGGER IF EXISTS audit_event_is_not_deleted',
        'DROP TRIGGER IF EXISTS audit_event_is_not_replaced',
        'DROP TRIGGER IF EXISTS audit_event_is_not_updated',
        'DROP TRIGGER IF EXISTS audit_head_is_not_deleted',
        'DROP TRIGGER IF EXISTS audit_head_is_not_replaced',
        'DROP TRIGGER IF EXISTS audit_head_only_grows',
        'DROP TRIGGER IF EXISTS audit_payload_is_not_replaced',
        'DROP TRIGGER IF EXISTS audit_payload_is_not_updated',
    ],
    'postgresql': [
        'DROP TRIGGER IF EXISTS audit_event_is_not_updated ON tenants_auditevent',
        'DROP TRIGGER IF EXISTS audit_event_is_not_deleted ON tenants_auditevent',
        'DROP TRIGGER IF EXISTS audit_payload_is_not_updated ON tenants_auditpayload',
        'DROP TRIGGER IF EXISTS audit_head_is_not_deleted ON tenants_audithead',
        'DROP TRIGGER IF EXISTS audit_head_only_grows ON tenants_audithead',
        'DROP TRIGGER IF EXISTS audit_event_is_not_truncated ON tenants_auditevent',
        'DROP TRIGGER IF EXISTS audit_payload_is_not_truncated ON tenants_auditpayload',
        'DROP TRIGGER IF EXISTS audit_head_is_not_truncated ON tenants_audithead',
        'DROP FUNCTION IF EXISTS tenants_refuse_audit_change()',
    ],
}


def run(schema_editor, statements):
    for statement in statements[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def install(_apps, schema_editor):
    run(schema_editor, CREATE)


def drop(_apps, schema_editor):
    run(schema_editor, DROP)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('chain', models.CharField(max_length=90)),
                ('sequence', models.PositiveBigIntegerField()),
                ('previous_digest', models.CharField(max_length=64)),
                ('digest', models.CharField(max_length=64)),
                ('payload_digest', models.CharField(max_length=64)),
                ('tenant_id', models.UUIDField(blank=True, null=True)),
                ('owner_id', models.UUIDField(blank=True, null=True)),
                ('actor_kind', models.CharField(choices=[('member', 'member'), ('agent', 'agent'), ('token', 'token'), ('staff', 'staff'), ('system', 'system')], max_length=8)),
                ('actor_id', models.UUIDField(blank=True, null=True)),
                ('action', models.CharField(max_length=50)),
                ('target_kind', models.CharField(blank=True, default='', max_length=30)),
                ('target_id', models.UUIDField(blank=True, null=True)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['chain', 'sequence'],
                'indexes': [models.Index(fields=['target_id', 'sequence'], name='audit_event_of_target'), models.Index(fields=['tenant_id', '-created_at'], name='audit_event_tenant_recent'), models.Index(fields=['tenant_id', 'action', '-created_at'], name='audit_event_of_action'), models.Index(fields=['actor_id', '-created_at'], name='audit_event_of_actor'), models.Index(fields=['request_id'], name='audit_event_of_request')],
                'constraints': [models.UniqueConstraint(fields=('chain', 'sequence'), name='audit_event_place_in_chain')],
            },
        ),
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('chain', models.CharField(max_length=90, primary_key=True, serialize=False)),
                ('length', models.PositiveBigIntegerField()),
                ('digest', models.CharField(max_length=64)),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('slug', models.SlugField(unique=True)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['name', 'id'],
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('display_name', models.CharField(blank=True, default='', max_length=100)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'ordering': ['username'],
                'indexes': [],
                'constraints': [],
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='AuditPayload',
            fields=[
                ('event', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='payload', serialize=False, to='tenants.auditevent')),
                ('salt', models.CharField(max_length=32)),
                ('document', models.TextField()),
            ],
            options={
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='ChainCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=90)),
                ('what', models.CharField(choices=[('audit', 'audit'), ('supersession', 'supersession')], max_length=12)),
                ('ok', models.BooleanField()),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('erased', models.PositiveBigIntegerField(default=0)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('first_bad', models.PositiveBigIntegerField(blank=True, null=True)),
                ('event_id', models.UUIDField(blank=True, null=True)),
                ('reason', models.CharField(blank=True, default='', max_length=200)),
                ('took_ms', models.FloatField(default=0.0)),
                ('checked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('checked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-checked_at', '-id'],
                'indexes': [models.Index(fields=['chain', 'what', '-checked_at'], name='chain_check_latest')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('member', 'member'), ('support', 'support'), ('auditor', 'auditor'), ('admin', 'admin')], default='member', max_length=8)),
                ('external_id', models.CharField(blank=True, default='', max_length=200)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='tenants.tenant')),
            ],
            options={
                'ordering': ['tenant__name', 'user__username', 'id'],
                'indexes': [],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'user'), name='membership_once_per_tenant'), models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('tenant', 'external_id'), name='membership_external_id_per_tenant'), models.CheckConstraint(condition=models.Q(('role__in', ['member', 'support', 'auditor', 'admin'])), name='membership_role_is_known')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=12)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('membership', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='api_tokens', to='tenants.membership')),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'indexes': [],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='RetiredKey',
            fields=[
                ('key_id', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('minted_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('trouble', models.CharField(blank=True, default='', max_length=20)),
                ('membership', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='retired_keys', to='tenants.membership')),
            ],
            options={
                'indexes': [models.Index(fields=['due_at'], name='retired_key_due')],
                'constraints': [],
            },
        ),
        migrations.CreateModel(
            name='SearchCredential',
            fields=[
                ('membership', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='search_credential', serialize=False, to='tenants.membership')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('active', 'active'), ('suspended', 'suspended'), ('revoked', 'revoked')], default='pending', max_length=9)),
                ('key_id', models.CharField(blank=True, default='', max_length=64)),
                ('secret', models.TextField(blank=True, default='', editable=False)),
                ('number', models.PositiveIntegerField(default=0)),
                ('minted_at', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('rotate_at', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('retry_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('trouble', models.CharField(blank=True, default='', max_length=20)),
                ('claim', models.UUIDField(blank=True, editable=False, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('refused_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['state', 'retry_at'], name='credential_to_mint'), models.Index(fields=['state', 'rotate_at'], name='credential_to_rotate')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('expires_at__isnull', False), ('minted_at__isnull', False), ('rotate_at__isnull', False), ('state', 'active'), models.Q(('key_id', ''), _negated=True), models.Q(('secret', ''), _negated=True)), models.Q(models.Q(('state', 'active'), _negated=True), ('key_id', ''), ('secret', '')), _connector='OR'), name='credential_active_has_a_key'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'active', 'suspended', 'revoked'])), name='credential_state_is_known'), models.UniqueConstraint(condition=models.Q(('key_id', ''), _negated=True), fields=('key_id',), name='credential_key_of_one_member')],
            },
        ),
        migrations.RunPython(install, drop),
    ]
