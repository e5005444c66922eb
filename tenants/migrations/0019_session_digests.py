"""Session keys become their digests; who is signed in stays so."""

from django.db import migrations

from memoryhub.session_store import digest


def make_digests(apps, _schema_editor):
    for app, name in (("sessions", "Session"), ("usersessions", "UserSession")):
        rows = apps.get_model(app, name).objects
        for key in list(rows.values_list("session_key", flat=True)):
            rows.filter(session_key=key).update(session_key=digest(key))


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0018_saml_providers'),
        ('sessions', '0001_initial'),
        ('usersessions', '0001_initial'),
    ]

    operations = [migrations.RunPython(make_digests, migrations.RunPython.noop)]
