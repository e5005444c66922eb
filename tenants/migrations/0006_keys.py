"""Backend keys: a token names its tenant, and its membership only if it belongs to a member."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery

KINDS = [
    ("member", "member"),
    ("agent", "agent"),
    ("token", "token"),
    ("key", "key"),
    ("staff", "staff"),
    ("system", "system"),
]


def name_tenants(apps, schema_editor):
    ApiToken = apps.get_model("tenants", "ApiToken")
    Membership = apps.get_model("tenants", "Membership")
    own = Membership.objects.filter(pk=OuterRef("membership_id")).order_by().values("tenant_id")[:1]
    ApiToken.objects.update(tenant_id=Subquery(own))
    if schema_editor.connection.vendor == "postgresql":  # which alters no table while checks of foreign keys wait
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def refuse_keys(apps, _schema_editor):
    if apps.get_model("tenants", "ApiToken").objects.filter(membership=None).exists():
        raise RuntimeError("There are backend keys, which the earlier release does not know. Delete them first.")


def to_tenant(**options):
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT, related_name="api_tokens", to="tenants.tenant", **options
    )


class Migration(migrations.Migration):
    dependencies = [("tenants", "0004_limits")]

    operations = [
        migrations.AlterField("auditevent", "actor_kind", models.CharField(choices=KINDS, max_length=8)),
        migrations.AddField("apitoken", "tenant", to_tenant(null=True)),
        migrations.RunPython(name_tenants, refuse_keys),
        migrations.AlterField("apitoken", "tenant", to_tenant()),
        migrations.AlterField(
            "apitoken",
            "membership",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="api_tokens",
                to="tenants.membership",
            ),
        ),
        migrations.AddField(
            "apitoken", "previous_digest", models.CharField(editable=False, max_length=64, null=True, unique=True)
        ),
        migrations.AddField("apitoken", "previous_until", models.DateTimeField(editable=False, null=True)),
        migrations.AddField("apitoken", "networks", models.JSONField(blank=True, default=list)),
        migrations.AddField(
            "apitoken",
            "maker",
            models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="made",
                to="tenants.apitoken",
            ),
        ),
    ]
