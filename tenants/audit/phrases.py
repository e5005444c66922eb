"""The words of actions and objects in sentences of the audit log, in the language of the page.

A phrase has its object where the language wants it, with the owner behind it. Objects are in the accusative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

# Phrases of actions whose own words would not read well.
_DID: Final[Mapping[str, StrOrPromise]] = {
    "audit.anchored": gettext_lazy("anchored the audit log %(object)s"),
    "audit.certified": gettext_lazy("verified everything of the organisation %(object)s"),
    "audit.exported": gettext_lazy("exported the audit log %(object)s"),
    "audit.read": gettext_lazy("read an event of the audit log %(object)s"),
    "audit.reported": gettext_lazy("made a report of the audit log %(object)s"),
    "case.noted": gettext_lazy("wrote a note on %(object)s"),
    "certificate.downloaded": gettext_lazy("downloaded a certificate of verification %(object)s"),
    "chain.exported": gettext_lazy("exported the history of %(object)s"),
    "consolidation.done": gettext_lazy("consolidated the episodes %(object)s"),
    "consolidation.given_up": gettext_lazy("gave up consolidating the episodes %(object)s"),
    "erasure.asked": gettext_lazy("asked for %(object)s"),
    "erasure.begun": gettext_lazy("began %(object)s"),
    "erasure.done": gettext_lazy("finished %(object)s"),
    "erasure.resumed": gettext_lazy("went on with %(object)s"),
    "expiry_rule.dropped": gettext_lazy("dropped an expiry rule of %(object)s"),
    "expiry_rule.set": gettext_lazy("set an expiry rule of %(object)s"),
    "export.asked": gettext_lazy("asked for %(object)s"),
    "export.limited": gettext_lazy("was refused another export of the memory of %(object)s"),
    "fact.confirmed": gettext_lazy("confirmed %(object)s"),
    "fact.created": gettext_lazy("wrote down %(object)s"),
    "fact.described": gettext_lazy("changed the metadata of %(object)s"),
    "fact.merged": gettext_lazy("came again upon %(object)s"),
    "fact.stale": gettext_lazy("came to doubt %(object)s"),
    "feedback.given": gettext_lazy("gave %(object)s"),
    "forgetting.confirmed": gettext_lazy("confirmed %(object)s"),
    "forgetting.declined": gettext_lazy("declined %(object)s"),
    "forgetting.held": gettext_lazy("could not carry out %(object)s"),
    "identity_provider.changed": gettext_lazy("changed the identity provider of %(object)s"),
    "item.created": gettext_lazy("put %(object)s"),
    "member.changed": gettext_lazy("changed the names of %(object)s"),
    "member.identity_linked": gettext_lazy("linked a sign-in at the provider to %(object)s"),
    "member.memories_erased": gettext_lazy("erased the memories of %(object)s"),
    "member.memory_switched": gettext_lazy("changed the memory switches of %(object)s"),
    "member.names_erased": gettext_lazy("erased the names of %(object)s"),
    "member.role_changed": gettext_lazy("changed the role of %(object)s"),
    "memory.asked": gettext_lazy("asked the memory %(object)s"),
    "memory.blocked": gettext_lazy("refused a sensitive text %(object)s"),
    "memory.erased": gettext_lazy("erased the whole memory %(object)s"),
    "memory.exported": gettext_lazy("exported the memory %(object)s"),
    "memory.masked": gettext_lazy("masked what is sensitive in %(object)s"),
    "memory.read": gettext_lazy("looked at the memory %(object)s"),
    "original.opened": gettext_lazy("opened the original text of %(object)s"),
    "playbook.created": gettext_lazy("wrote down %(object)s"),
    "playbook.described": gettext_lazy("changed the metadata of %(object)s"),
    "playbook.failed": gettext_lazy("noted a failure of %(object)s"),
    "playbook.merged": gettext_lazy("came again upon %(object)s"),
    "playbook.stale": gettext_lazy("came to doubt %(object)s"),
    "playbook.succeeded": gettext_lazy("noted a success of %(object)s"),
    "policy.changed": gettext_lazy("changed the memory policy of %(object)s"),
    "policy.confirmed": gettext_lazy("confirmed the memory policy of %(object)s"),
    "review.read": gettext_lazy("looked at a review %(object)s"),
    "search.refused": gettext_lazy("was refused a search in the memory %(object)s"),
    "search_key.minted": gettext_lazy("made the search key of %(object)s"),
    "search_key.revoked": gettext_lazy("revoked the search key of %(object)s"),
    "search_key.rotated": gettext_lazy("rotated the search key of %(object)s"),
    "search_key.verified": gettext_lazy("verified the search key of %(object)s"),
    "session.answered_again": gettext_lazy("asked for another answer in %(object)s"),
    "session.edited": gettext_lazy("edited a message of %(object)s"),
    "session.noted": gettext_lazy("added a note to %(object)s"),
    "session.observed": gettext_lazy("recorded an observation for %(object)s"),
    "session.plan_advanced": gettext_lazy("advanced the plan for %(object)s"),
    "session.plan_set": gettext_lazy("set the plan for %(object)s"),
    "session.slots_set": gettext_lazy("set notes for %(object)s"),
    "session.task_set": gettext_lazy("set the task for %(object)s"),
    "tenant.changed": gettext_lazy("changed the sign-in rules of %(object)s"),
    "threshold.applied": gettext_lazy("applied a recall threshold for %(object)s"),
    "threshold.dismissed": gettext_lazy("dismissed a recall threshold for %(object)s"),
    "threshold.proposed": gettext_lazy("proposed a recall threshold for %(object)s"),
    "user.erased": gettext_lazy("emptied the account of %(object)s"),
    "user.password_changed": gettext_lazy("changed the password of %(object)s"),
    "user.reset_link_made": gettext_lazy("made a link to set the password of %(object)s"),
    "user.second_factor_added": gettext_lazy("added a second factor to the account of %(object)s"),
    "user.second_factor_removed": gettext_lazy("removed a second factor of %(object)s"),
    "user.sign_in_failed": gettext_lazy("refused a sign-in of %(object)s"),
    "user.signed_in": gettext_lazy("signed in %(object)s"),
    "user.signed_out": gettext_lazy("signed out %(object)s"),
    "webhook.replayed": gettext_lazy("sent the events of %(object)s again"),
}
# Phrases of all other actions, by their verb.
_VERBS: Final[Mapping[str, StrOrPromise]] = {
    "accepted": gettext_lazy("accepted %(object)s"),
    "activated": gettext_lazy("activated %(object)s"),
    "added": gettext_lazy("added %(object)s"),
    "approved": gettext_lazy("approved %(object)s"),
    "archived": gettext_lazy("archived %(object)s"),
    "begun": gettext_lazy("began %(object)s"),
    "cancelled": gettext_lazy("cancelled %(object)s"),
    "changed": gettext_lazy("changed %(object)s"),
    "closed": gettext_lazy("closed %(object)s"),
    "created": gettext_lazy("created %(object)s"),
    "deactivated": gettext_lazy("deactivated %(object)s"),
    "decided": gettext_lazy("decided %(object)s"),
    "deleted": gettext_lazy("deleted %(object)s"),
    "disabled": gettext_lazy("disabled %(object)s"),
    "ended": gettext_lazy("ended %(object)s"),
    "erased": gettext_lazy("erased %(object)s"),
    "evicted": gettext_lazy("evicted %(object)s"),
    "expired": gettext_lazy("expired %(object)s"),
    "forgotten": gettext_lazy("deleted %(object)s"),
    "issued": gettext_lazy("issued %(object)s"),
    "kept": gettext_lazy("kept %(object)s"),
    "made": gettext_lazy("made %(object)s"),
    "opened": gettext_lazy("opened %(object)s"),
    "pinned": gettext_lazy("pinned %(object)s"),
    "placed": gettext_lazy("placed %(object)s"),
    "promoted": gettext_lazy("promoted %(object)s"),
    "refused": gettext_lazy("refused %(object)s"),
    "released": gettext_lazy("released %(object)s"),
    "renamed": gettext_lazy("renamed %(object)s"),
    "replaced": gettext_lazy("replaced %(object)s"),
    "restored": gettext_lazy("restored %(object)s"),
    "retired": gettext_lazy("retired %(object)s"),
    "retracted": gettext_lazy("retracted %(object)s"),
    "retried": gettext_lazy("repeated %(object)s"),
    "revived": gettext_lazy("revived %(object)s"),
    "revoked": gettext_lazy("revoked %(object)s"),
    "rotated": gettext_lazy("rotated %(object)s"),
    "stopped": gettext_lazy("stopped %(object)s"),
    "superseded": gettext_lazy("superseded %(object)s"),
    "unarchived": gettext_lazy("unarchived %(object)s"),
    "unconfirmed": gettext_lazy("unconfirmed %(object)s"),
    "undone": gettext_lazy("undid %(object)s"),
    "unpinned": gettext_lazy("unpinned %(object)s"),
    "verified": gettext_lazy("verified %(object)s"),
    "withdrawn": gettext_lazy("withdrew %(object)s"),
}
_NOUNS: Final[Mapping[str, StrOrPromise]] = {
    "semantic": pgettext_lazy("object", "a fact"),
    "procedural": pgettext_lazy("object", "a how-to"),
    "episodic": pgettext_lazy("object", "an event"),
    "catalog": pgettext_lazy("object", "a shared entry"),
    "item": pgettext_lazy("object", "an item"),
    "session": pgettext_lazy("object", "a conversation"),
    "review": pgettext_lazy("object", "a review"),
    "case": pgettext_lazy("object", "a case"),
    "membership": pgettext_lazy("object", "a member"),
    "api_token": pgettext_lazy("object", "a token"),
    "tenant": pgettext_lazy("object", "a tenant"),
    "user": pgettext_lazy("object", "a user"),
    "search_key": pgettext_lazy("object", "a search key"),
    "consolidation": pgettext_lazy("object", "a run"),
    "erasure": pgettext_lazy("object", "an erasure"),
    "export": pgettext_lazy("object", "an export of the whole memory"),
    "legal_hold": pgettext_lazy("object", "a legal hold"),
    "forgetting": pgettext_lazy("object", "a proposal to forget"),
    "invitation": pgettext_lazy("object", "an invitation"),
    "feedback": pgettext_lazy("object", "feedback on an answer"),
    "operation": pgettext_lazy("object", "an operation of learning"),
    "webhook": pgettext_lazy("object", "a webhook"),
}
# Actions whose phrase is complete: the sentence names no object.
_WHOLE = frozenset({
    "audit.anchored", "audit.certified", "audit.exported", "audit.read", "audit.reported",
    "certificate.downloaded", "consolidation.done", "consolidation.given_up", "memory.asked", "memory.blocked",
    "memory.erased", "memory.exported", "memory.read", "review.read", "search.refused", "user.signed_in",
    "user.signed_out",
})  # fmt: skip


def phrase_of(action: str) -> tuple[str, str]:
    """What was done, before and behind the object: ("replaced", "") in English, ("hat", "ersetzt") in German."""
    verb = action.partition(".")[2]
    return split_phrase(str(_DID.get(action) or _VERBS.get(verb) or f"{verb.replace('_', ' ')} %(object)s"))


def own_password() -> tuple[str, str]:
    """The phrase of somebody who changed their own password; it has no object."""
    return split_phrase(_("changed their own password %(object)s"))


def own_export() -> tuple[str, str]:
    """The phrase of a member who exported their own memory; it has no object."""
    return split_phrase(_("exported their own memory %(object)s"))


def split_phrase(phrase: str) -> tuple[str, str]:
    """The words before and behind the object."""
    before, __, behind = phrase.partition("%(object)s")
    return before.strip(), behind.strip()


def object_of(action: str, target_kind: str) -> str:
    """The object of an action, such as "a fact"; empty if its phrase names none."""
    noun = action.partition(".")[0].replace("_", " ")
    return "" if action in _WHOLE else str(_NOUNS.get(target_kind) or f"a {noun}")
