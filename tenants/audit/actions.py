"""Names the actions of the audit log in words, and counts those of one tenant for the filter of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby

from django.db.models import Count
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from tenants.audit.listing import AuditFilter

_SUBJECTS: Mapping[str, str | Promise] = {
    "playbook": gettext_lazy("how-to"), "episode": gettext_lazy("event"), "catalog": gettext_lazy("shared entry"),
    "session": gettext_lazy("conversation"), "hold": gettext_lazy("legal hold"), "token": gettext_lazy("API token"),
    "chain": gettext_lazy("history"), "audit": gettext_lazy("audit log"), "tenant": gettext_lazy("organisation"),
    "search": gettext_lazy("search"), "forgetting": gettext_lazy("proposal to delete"),
    "case": gettext_lazy("case"),
    "audit_event": gettext_lazy("event of the audit log"),
    "check": gettext_lazy("verification"),
    "consolidation": gettext_lazy("consolidation"),
    "expiry_rule": gettext_lazy("expiry rule"),
    "erasure": gettext_lazy("erasure"),
    "export": gettext_lazy("export"),
    "fact": gettext_lazy("fact"),
    "feedback": gettext_lazy("feedback"),
    "identity_provider": gettext_lazy("identity provider"),
    "invitation": gettext_lazy("invitation"),
    "item": gettext_lazy("item"),
    "learning": gettext_lazy("learning"),
    "member": gettext_lazy("member"),
    "memory": gettext_lazy("memory"),
    "original": gettext_lazy("original text"),
    "policy": gettext_lazy("memory policy"),
    "review": gettext_lazy("review"),
    "search_key": gettext_lazy("search key"),
    "threshold": gettext_lazy("recall threshold"),
    "user": gettext_lazy("account"),
    "webhook": gettext_lazy("webhook"),
}  # fmt: skip
_VERBS: Mapping[str, str | Promise] = {
    "merged": gettext_lazy("learned again"), "described": gettext_lazy("metadata changed"),
    "stale": gettext_lazy("marked as stale"), "forgotten": gettext_lazy("deleted"),
    "retracted": gettext_lazy("marked as never true"), "asked": gettext_lazy("requested"),
    "begun": gettext_lazy("started"), "done": gettext_lazy("finished"), "minted": gettext_lazy("made"),
    "limited": gettext_lazy("refused by the daily limit"), "succeeded": gettext_lazy("worked"),
    "read": gettext_lazy("looked at"),
    "accepted": pgettext_lazy("action", "accepted"),
    "activated": pgettext_lazy("action", "activated"),
    "added": pgettext_lazy("action", "added"),
    "anchored": pgettext_lazy("action", "anchored"),
    "answered_again": pgettext_lazy("action", "answered again"),
    "applied": pgettext_lazy("action", "applied"),
    "archived": pgettext_lazy("action", "archived"),
    "approved": pgettext_lazy("action", "approved"),
    "blocked": pgettext_lazy("action", "blocked"),
    "cancelled": pgettext_lazy("action", "cancelled"),
    "changed": pgettext_lazy("action", "changed"),
    "closed": pgettext_lazy("action", "closed"),
    "confirmed": pgettext_lazy("action", "confirmed"),
    "created": pgettext_lazy("action", "created"),
    "deactivated": pgettext_lazy("action", "deactivated"),
    "decided": pgettext_lazy("action", "decided"),
    "declined": pgettext_lazy("action", "declined"),
    "deleted": pgettext_lazy("action", "deleted"),
    "disabled": pgettext_lazy("action", "disabled"),
    "dismissed": pgettext_lazy("action", "dismissed"),
    "dropped": pgettext_lazy("action", "dropped"),
    "edited": pgettext_lazy("action", "edited"),
    "ended": pgettext_lazy("action", "ended"),
    "erased": pgettext_lazy("action", "erased"),
    "evicted": pgettext_lazy("action", "evicted"),
    "expired": pgettext_lazy("action", "expired"),
    "exported": pgettext_lazy("action", "exported"),
    "failed": pgettext_lazy("action", "failed"),
    "given": pgettext_lazy("action", "given"),
    "given_up": pgettext_lazy("action", "given up"),
    "held": pgettext_lazy("action", "held"),
    "identity_linked": pgettext_lazy("action", "sign-in linked"),
    "issued": pgettext_lazy("action", "issued"),
    "kept": pgettext_lazy("action", "kept"),
    "made": gettext_lazy("made"),
    "masked": pgettext_lazy("action", "masked"),
    "memories_erased": pgettext_lazy("action", "memories erased"),
    "memory_switched": pgettext_lazy("action", "memory switched"),
    "names_erased": pgettext_lazy("action", "names erased"),
    "noted": pgettext_lazy("action", "noted"),
    "observed": pgettext_lazy("action", "observation noted"),
    "opened": pgettext_lazy("action", "opened"),
    "password_changed": pgettext_lazy("action", "password changed"),
    "pinned": pgettext_lazy("action", "pinned"),
    "placed": pgettext_lazy("action", "placed"),
    "plan_advanced": pgettext_lazy("action", "plan advanced"),
    "plan_set": pgettext_lazy("action", "plan set"),
    "promoted": pgettext_lazy("action", "promoted"),
    "proposed": pgettext_lazy("action", "proposed"),
    "refused": pgettext_lazy("action", "refused"),
    "released": pgettext_lazy("action", "released"),
    "renamed": pgettext_lazy("action", "renamed"),
    "replaced": pgettext_lazy("action", "replaced"),
    "replayed": pgettext_lazy("action", "sent again"),
    "reset_link_made": pgettext_lazy("action", "reset link made"),
    "restored": pgettext_lazy("action", "restored"),
    "resumed": pgettext_lazy("action", "resumed"),
    "retired": pgettext_lazy("action", "retired"),
    "retried": pgettext_lazy("action", "repeated"),
    "revived": pgettext_lazy("action", "kept after all"),
    "revoked": pgettext_lazy("action", "revoked"),
    "role_changed": pgettext_lazy("action", "role changed"),
    "rotated": pgettext_lazy("action", "rotated"),
    "second_factor_added": pgettext_lazy("action", "second factor added"),
    "second_factor_removed": pgettext_lazy("action", "second factor removed"),
    "set": pgettext_lazy("action", "set"),
    "sign_in_failed": pgettext_lazy("action", "sign-in refused"),
    "signed_in": pgettext_lazy("action", "signed in"),
    "signed_out": pgettext_lazy("action", "signed out"),
    "slots_set": pgettext_lazy("action", "notes set"),
    "stopped": pgettext_lazy("action", "stopped"),
    "superseded": pgettext_lazy("action", "superseded"),
    "task_set": pgettext_lazy("action", "task set"),
    "unconfirmed": pgettext_lazy("action", "confirmation taken back"),
    "undone": pgettext_lazy("action", "undone"),
    "unpinned": pgettext_lazy("action", "unpinned"),
    "updated": pgettext_lazy("action", "updated"),
    "verified": pgettext_lazy("action", "verified"),
    "withdrawn": pgettext_lazy("action", "withdrawn"),
}  # fmt: skip
_WHOLE: Mapping[str, str | Promise] = {
    "audit.read": gettext_lazy("Audit event opened"),
    "audit.certified": gettext_lazy("Organisation verified"),
    "certificate.downloaded": gettext_lazy("Certificate of verification downloaded"),
    "audit.reported": gettext_lazy("Audit report made"),
    "memory.asked": gettext_lazy("Question asked of a memory"),
}
# Kinds of objects whose actions have another noun.
_TARGETS = {
    "api_token": "token",
    "episodic": "episode",
    "legal_hold": "hold",
    "membership": "member",
    "operation": "learning",
    "procedural": "playbook",
    "semantic": "fact",
    "tenant_check": "check",
}
_ALIKE = 3


def action_words(action: str) -> str:
    """The name of an action, such as `Fact superseded`; of a pattern (`fact.*`), `Fact: anything`."""
    if action in _WHOLE:
        return str(_WHOLE[action])
    noun, _dot, verb = action.partition(".")
    subject = capfirst(str(_SUBJECTS.get(noun, noun.replace("_", " "))))
    if verb == "*":
        return _("%(subject)s: anything") % {"subject": subject}
    return _("%(subject)s %(verb)s") % {"subject": subject, "verb": _VERBS.get(verb, verb.replace("_", " "))}


def target_words(kind: str) -> str:
    """The name of the kind of object that an event is about, such as `how-to` for a procedural memory."""
    noun = _TARGETS.get(kind, kind)
    return str(_SUBJECTS.get(noun, noun.replace("_", " ")))


@dataclass(frozen=True, slots=True)
class CountedAction:
    """An action of a tenant's audit log, and how many of its events have it."""

    action: str
    count: int

    @property
    def words(self) -> str:
        """The name of the action."""
        return action_words(self.action)


def counted_actions(wanted: AuditFilter) -> list[CountedAction]:
    """The actions in the audit log of the tenant, or of the member, in the period of `wanted`, sorted by action."""
    rows = AuditFilter(wanted.tenant, member=wanted.member, since=wanted.since, until=wanted.until).events()
    found = rows.values_list("action").annotate(count=Count("*")).order_by("action")
    return [CountedAction(*each) for each in found]


def grouped(actions: Sequence[CountedAction]) -> list[tuple[CountedAction, list[CountedAction]]]:
    """The actions by subject: the pattern of all (`fact.*`) with its count, and each action."""
    groups = []
    for noun, each in groupby(actions, key=lambda action: action.action.partition(".")[0]):
        members = list(each)
        groups.append((CountedAction(f"{noun}.*", sum(action.count for action in members)), members))
    return sorted(groups, key=lambda group: group[0].words)


def unknown_action(wanted: AuditFilter, known: Sequence[CountedAction]) -> str:
    """Why no event can match: an action that the log does not have, and similar ones; empty if it has all."""
    names = [each.action for each in known]
    for asked in wanted.actions:
        if any(name == asked or (asked.endswith(".*") and name.startswith(asked[:-1])) for name in names):
            continue
        alike = [name for name in names if asked.lower().strip(".*") in name][:_ALIKE]
        alike = alike or get_close_matches(asked, names, n=_ALIKE)
        reason = _("No event of this audit log has the action “%(action)s”.") % {"action": asked}
        if alike:
            return _("%(reason)s It has: %(alike)s.") % {"reason": reason, "alike": ", ".join(alike)}
        return _("%(reason)s Choose one from the list.") % {"reason": reason}
    return ""
