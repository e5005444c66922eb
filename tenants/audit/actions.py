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
from django.utils.translation import gettext_lazy

from tenants.audit.listing import AuditFilter

_SUBJECTS: Mapping[str, str | Promise] = {
    "playbook": gettext_lazy("how-to"), "episode": gettext_lazy("event"), "catalog": gettext_lazy("shared entry"),
    "session": gettext_lazy("conversation"), "hold": gettext_lazy("legal hold"), "token": gettext_lazy("API token"),
    "chain": gettext_lazy("history"), "audit": gettext_lazy("audit log"), "tenant": gettext_lazy("organisation"),
    "search": gettext_lazy("search"), "forgetting": gettext_lazy("proposal to delete"),
}  # fmt: skip
_VERBS: Mapping[str, str | Promise] = {
    "merged": gettext_lazy("learned again"), "described": gettext_lazy("metadata changed"),
    "stale": gettext_lazy("marked as stale"), "forgotten": gettext_lazy("deleted"),
    "retracted": gettext_lazy("marked as never true"), "asked": gettext_lazy("requested"),
    "begun": gettext_lazy("started"), "done": gettext_lazy("finished"), "minted": gettext_lazy("made"),
    "limited": gettext_lazy("refused by the daily limit"), "succeeded": gettext_lazy("worked"),
    "read": gettext_lazy("looked at"),
}  # fmt: skip
_WHOLE: Mapping[str, str | Promise] = {
    "audit.read": gettext_lazy("Audit event opened"),
    "audit.certified": gettext_lazy("Organisation verified"),
    "audit.reported": gettext_lazy("Audit report made"),
    "memory.asked": gettext_lazy("Question asked of a memory"),
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
    """The actions in the audit log of the tenant, or of the member, of `wanted`, sorted by action."""
    rows = AuditFilter(wanted.tenant, member=wanted.member).events()
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
