"""Whether a provider's addresses and names are believed without `email_verified`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0015_managed_accounts")]

    operations = [
        migrations.AddField("identityprovider", "trusts_names", models.BooleanField(default=False)),
    ]
