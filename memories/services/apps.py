"""Apps: the agents of a tenant that write to and read from its members' memories."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext as _

from memories.constants import MAX_APP_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.text import clean_text
from memories.selectors.policies import keeps_apps_apart
from tenants.principal import Principal


def check_app(app: str) -> None:
    """Raise InvalidInput for what is no name of an app."""
    clean_text(app, field="app", limit=MAX_APP_CHARACTERS)
    if not app.isprintable() or app != app.strip() or holds_secrets(app):
        raise InvalidInput("app", _("must be a printable name, without spaces around it and without a secret."))


def in_app(principal: Principal, app: str) -> Principal:
    """The principal as it acts in `app`, confined to it if the tenant keeps its apps apart. Raises InvalidInput."""
    check_app(app)
    return replace(principal, app=app, apart=keeps_apps_apart(principal.tenant_id))
