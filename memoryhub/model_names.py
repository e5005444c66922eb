"""The names of models and their columns on pages of the admin, in the language of the page.

They are set once the admin has its pages, so that no migration holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.db.models import Model
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

# By the name that Django makes of the class or the column; what is not here stays as it is.
_NAMES: Final[Mapping[str, StrOrPromise]] = {
    "api token": gettext_lazy("API token"),
    "api tokens": gettext_lazy("API tokens"),
    "applied at": gettext_lazy("applied at"),
    "apps apart": gettext_lazy("separate apps"),
    "asked at": gettext_lazy("asked at"),
    "asked by": gettext_lazy("asked by"),
    "attempts": gettext_lazy("attempts"),
    "audit event": gettext_lazy("event of the audit log"),
    "audit events": gettext_lazy("events of the audit log"),
    "caller keys": gettext_lazy("model keys of callers"),
    "categories": gettext_lazy("categories"),
    "category": gettext_lazy("category"),
    "consolidate every": gettext_lazy("consolidate after (events)"),
    "consolidate hours": gettext_lazy("consolidate after (hours)"),
    "consolidation run": gettext_lazy("consolidation run"),
    "consolidation runs": gettext_lazy("consolidation runs"),
    "cost": gettext_lazy("cost"),
    "created at": gettext_lazy("created"),
    "date joined": gettext_lazy("created"),
    "decided by": gettext_lazy("decided by"),
    "decision": gettext_lazy("decision"),
    "dismissed at": gettext_lazy("dismissed at"),
    "display name": gettext_lazy("display name"),
    "email": gettext_lazy("email"),
    "erasure delay hours": gettext_lazy("erasure delay hours"),
    "erasure request": gettext_lazy("erasure"),
    "erasure requests": gettext_lazy("erasures"),
    "expires at": gettext_lazy("expires at"),
    "expiry rule": gettext_lazy("expiry rule"),
    "expiry rules": gettext_lazy("expiry rules"),
    "exports daily": gettext_lazy("exports daily"),
    "external id": gettext_lazy("external id"),
    "extractor": gettext_lazy("extractor"),
    "finished at": gettext_lazy("finished at"),
    "hard days": gettext_lazy("hard days"),
    "identity provider": gettext_lazy("identity provider"),
    "identity providers": gettext_lazy("identity providers"),
    "instructions": gettext_lazy("instructions"),
    "invitation": gettext_lazy("invitation"),
    "invitations": gettext_lazy("invitations"),
    "invited by": gettext_lazy("invited by"),
    "is active": gettext_lazy("active"),
    "issuer": gettext_lazy("issuer"),
    "keep originals": gettext_lazy("keep originals"),
    "keep superseded": gettext_lazy("keep superseded"),
    "kind": gettext_lazy("kind"),
    "last error": gettext_lazy("last error"),
    "last used at": gettext_lazy("last used at"),
    "legal hold": gettext_lazy("legal hold"),
    "legal holds": gettext_lazy("legal holds"),
    "looks name staff": gettext_lazy("name staff who looked"),
    "makes members": gettext_lazy("adds people"),
    "max token days": gettext_lazy("max token days"),
    "member's memory": gettext_lazy("member's memory"),
    "members' memory": gettext_lazy("members' memory"),
    "membership": gettext_lazy("member"),
    "memberships": gettext_lazy("members"),
    "memory policies": gettext_lazy("memory policies"),
    "memory policy": gettext_lazy("memory policy"),
    "name": gettext_lazy("name"),
    "networks": gettext_lazy("networks"),
    "operation": gettext_lazy("operation"),
    "outbox entries": gettext_lazy("pending changes"),
    "outbox entry": gettext_lazy("pending change"),
    "passwords off": gettext_lazy("no passwords"),
    "pinned refresh turns": gettext_lazy("refresh pinned facts (turns)"),
    "placed at": gettext_lazy("placed at"),
    "placed by": gettext_lazy("placed by"),
    "prefix": gettext_lazy("prefix"),
    "previous": gettext_lazy("previous"),
    "provision members": gettext_lazy("provision members"),
    "reason": gettext_lazy("reason"),
    "reason to look": gettext_lazy("reason to look"),
    "recall items": gettext_lazy("recall items"),
    "recall mode": gettext_lazy("recall mode"),
    "recall threshold": gettext_lazy("recall threshold"),
    "recall tokens": gettext_lazy("recall tokens"),
    "released at": gettext_lazy("released at"),
    "released by": gettext_lazy("released by"),
    "review days": gettext_lazy("review days"),
    "review item": gettext_lazy("review"),
    "review items": gettext_lazy("reviews"),
    "rights": gettext_lazy("rights"),
    "role": gettext_lazy("role"),
    "scopes": gettext_lazy("scopes"),
    "second person": gettext_lazy("second person"),
    "session hours": gettext_lazy("session hours"),
    "set aside at": gettext_lazy("set aside at"),
    "slug": gettext_lazy("slug"),
    "soft days": gettext_lazy("soft days"),
    "staff second factor": gettext_lazy("second factor of staff"),
    "staff status": gettext_lazy("staff"),
    "started at": gettext_lazy("started at"),
    "state": gettext_lazy("state"),
    "superuser status": gettext_lazy("platform staff"),
    "tenant": gettext_lazy("tenant"),
    "tenants": gettext_lazy("tenants"),
    "threshold proposal": gettext_lazy("recall threshold"),
    "threshold proposals": gettext_lazy("recall thresholds"),
    "trigger": gettext_lazy("trigger"),
    "updated at": gettext_lazy("updated at"),
    "user": gettext_lazy("user"),
    "username": gettext_lazy("username"),
    "users": gettext_lazy("users"),
    "value": gettext_lazy("value"),
    "version": gettext_lazy("version"),
}

# In place of Django's own sentences about an account, by the name that Django has for the column.
_HELP: Final[Mapping[str, StrOrPromise]] = {
    "active": gettext_lazy("Whether they can sign in. Actions of the list deactivate accounts and activate them."),
    "staff status": gettext_lazy("Whether they can open the admin."),
    "superuser status": gettext_lazy("Whether they administer every tenant."),
    "username": gettext_lazy("At most 150 letters, digits and @ . + - _"),
}


def translate_names(model: type[Model]) -> None:
    """Let pages name the model and its columns in their own language."""
    meta = model._meta
    meta.verbose_name = _NAMES.get(str(meta.verbose_name), meta.verbose_name)
    meta.verbose_name_plural = _NAMES.get(str(meta.verbose_name_plural), meta.verbose_name_plural)
    for field in meta.concrete_fields:
        if field.help_text:
            field.help_text = _HELP.get(str(field.verbose_name), field.help_text)
        field.verbose_name = _NAMES.get(str(field.verbose_name), field.verbose_name)
