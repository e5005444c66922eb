"""The words of fields and of their values on the page of an event, in the language of the page.

The audit log stores the names; a field or value without words of its own is shown as it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from tenants.principal import Role

_FIELDS: Final[Mapping[str, StrOrPromise]] = {
    "apps": pgettext_lazy("field", "apps"),
    "apps_apart": pgettext_lazy("field", "memories of each app apart"),
    "begins": pgettext_lazy("field", "begins"),
    "caller_keys": pgettext_lazy("field", "keys of callers"),
    "categories": pgettext_lazy("field", "categories"),
    "category": pgettext_lazy("field", "category"),
    "certificates": pgettext_lazy("field", "certificates"),
    "characters": pgettext_lazy("field", "characters"),
    "checked": pgettext_lazy("field", "checked"),
    "client_id": pgettext_lazy("field", "client id"),
    "confidence": pgettext_lazy("field", "confidence"),
    "consolidate_every": pgettext_lazy("field", "messages until a consolidation"),
    "consolidate_hours": pgettext_lazy("field", "hours until a consolidation"),
    "contradiction": pgettext_lazy("field", "contradiction"),
    "copy": pgettext_lazy("field", "copy"),
    "daily": pgettext_lazy("field", "at most a day"),
    "display_name": pgettext_lazy("field", "display name"),
    "domains": pgettext_lazy("field", "domains"),
    "drift": pgettext_lazy("field", "differences"),
    "email": pgettext_lazy("field", "e-mail"),
    "episodes": pgettext_lazy("field", "events"),
    "erasure_delay_hours": pgettext_lazy("field", "hours until an erasure"),
    "expires_at": pgettext_lazy("field", "expires"),
    "exports_daily": pgettext_lazy("field", "exports a day"),
    "external_id": pgettext_lazy("field", "external id"),
    "external_index": pgettext_lazy("field", "external index"),
    "extractor": pgettext_lazy("field", "extractor"),
    "first": pgettext_lazy("field", "first"),
    "formats": pgettext_lazy("field", "formats"),
    "found": pgettext_lazy("field", "found"),
    "handling": pgettext_lazy("field", "handling of sensitive values"),
    "hard_days": pgettext_lazy("field", "days until it ends"),
    "instructions": pgettext_lazy("field", "instructions"),
    "is_active": pgettext_lazy("field", "active"),
    "is_staff": pgettext_lazy("field", "staff"),
    "is_superuser": pgettext_lazy("field", "superuser"),
    "issuer": pgettext_lazy("field", "issuer"),
    "item": pgettext_lazy("field", "item"),
    "keep_originals": pgettext_lazy("field", "keep original texts"),
    "keep_superseded": pgettext_lazy("field", "keep what was replaced"),
    "key": pgettext_lazy("field", "key"),
    "key_id": pgettext_lazy("field", "key id"),
    "judge": pgettext_lazy("field", "judge"),
    "kind": pgettext_lazy("field", "kind"),
    "kinds": pgettext_lazy("field", "kinds"),
    "learned_at": pgettext_lazy("field", "learned"),
    "limits": pgettext_lazy("field", "limits"),
    "looks_name_staff": pgettext_lazy("field", "looks name the staff"),
    "makes_members": pgettext_lazy("field", "makes members"),
    "max_token_days": pgettext_lazy("field", "days that a token lives at most"),
    "membership": pgettext_lazy("field", "member"),
    "metadata": pgettext_lazy("field", "metadata"),
    "name": pgettext_lazy("field", "name"),
    "networks": pgettext_lazy("field", "networks"),
    "never_topics": pgettext_lazy("field", "topics that are never kept"),
    "never_words": pgettext_lazy("field", "words that are never kept"),
    "ok": pgettext_lazy("field", "as it should be"),
    "origin": pgettext_lazy("field", "origin"),
    "page": pgettext_lazy("field", "page"),
    "passwords_off": pgettext_lazy("field", "passwords off"),
    "penalty": pgettext_lazy("field", "lowered by"),
    "pinned_refresh_turns": pgettext_lazy("field", "turns until pinned memories are read again"),
    "provision_members": pgettext_lazy("field", "programs add members"),
    "reason_to_look": pgettext_lazy("field", "a reason to look is needed"),
    "recall_items": pgettext_lazy("field", "memories of a recall"),
    "recall_mode": pgettext_lazy("field", "mode of recall"),
    "recall_threshold": pgettext_lazy("field", "recall threshold"),
    "recall_tokens": pgettext_lazy("field", "tokens of a recall"),
    "restores": pgettext_lazy("field", "restores"),
    "review_days": pgettext_lazy("field", "days until a review"),
    "role": pgettext_lazy("field", "role"),
    "role_claim": pgettext_lazy("field", "claim of roles"),
    "roles": pgettext_lazy("field", "roles"),
    "scope": pgettext_lazy("field", "scope"),
    "scopes": pgettext_lazy("field", "scopes"),
    "second": pgettext_lazy("field", "second"),
    "second_person": pgettext_lazy("field", "second person"),
    "secret_changed": pgettext_lazy("field", "secret changed"),
    "session_hours": pgettext_lazy("field", "hours of a conversation"),
    "session_id": pgettext_lazy("field", "conversation"),
    "sign_in_url": pgettext_lazy("field", "sign-in address"),
    "since": pgettext_lazy("field", "since"),
    "slug": pgettext_lazy("field", "short name"),
    "soft_days": pgettext_lazy("field", "days until it is to be confirmed"),
    "source": pgettext_lazy("field", "source"),
    "spots": pgettext_lazy("field", "places"),
    "staleness": pgettext_lazy("field", "staleness"),
    "state": pgettext_lazy("field", "state"),
    "states": pgettext_lazy("field", "states"),
    "status": pgettext_lazy("field", "status"),
    "steps": pgettext_lazy("field", "steps"),
    "superseded_by": pgettext_lazy("field", "superseded by"),
    "text": pgettext_lazy("field", "text"),
    "title": pgettext_lazy("field", "title"),
    "told_in": pgettext_lazy("field", "told in"),
    "trigger": pgettext_lazy("field", "trigger"),
    "trouble": pgettext_lazy("field", "trouble"),
    "trusts_names": pgettext_lazy("field", "trusts names"),
    "turn": pgettext_lazy("field", "turn"),
    "type": pgettext_lazy("field", "type"),
    "until": pgettext_lazy("field", "until"),
    "upstreams": pgettext_lazy("field", "language models"),
    "user": pgettext_lazy("field", "user"),
    "user_name": pgettext_lazy("field", "user name"),
    "username": pgettext_lazy("field", "username"),
    "valid_from": pgettext_lazy("field", "valid from"),
    "valid_to": pgettext_lazy("field", "valid to"),
    "verdict": pgettext_lazy("field", "verdict"),
    "wanted": pgettext_lazy("field", "filters"),
}
_VALUES: Final[Mapping[str, Mapping[str, StrOrPromise]]] = {
    "contradiction": {"harsh": gettext_lazy("corrected"), "natural": gettext_lazy("changed")},
    "role": dict(Role.choices),
    "source": {
        "user_stated": gettext_lazy("user stated"),
        "imported": gettext_lazy("imported"),
        "config_change": gettext_lazy("config change"),
        "task_outcome": gettext_lazy("task outcome"),
        "agent_inferred": gettext_lazy("agent inferred"),
        "pattern": gettext_lazy("pattern"),
    },
    "status": {
        "active": gettext_lazy("active"),
        "stale": gettext_lazy("stale"),
        "superseded": gettext_lazy("superseded"),
        "evicted": gettext_lazy("evicted"),
    },
}


def field_words(name: str) -> str:
    """The name of a field for the reader."""
    return str(_FIELDS.get(name) or name.replace("_", " "))


def value_words(name: str, value: str) -> str:
    """A text in the field `name`: in words if it is one of a few that the program itself gives."""
    return str(_VALUES.get(name, {}).get(value, value))
