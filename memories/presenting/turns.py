"""The memories of a turn in words: what its answer was made from, what it changed, and what was only looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memories.models import Relation
from memories.presenting.memory import OWN_NAME, MemoryView
from memories.selectors.sessions import MentionView, TurnView
from memories.types import Kind

MADE_FROM, LOOKED_AT = "made-from", "looked-at"
_CHANGES: Mapping[Relation, Promise] = {
    Relation.WROTE: gettext_lazy("saved"),
    Relation.REPLACED: gettext_lazy("replaced"),
    Relation.CONFIRMED: gettext_lazy("already known"),
    Relation.FORGOT: gettext_lazy("deleted"),
}


def groups_of(view: TurnView) -> Iterator[tuple[str, str, tuple[MentionView, ...]]]:
    """The name, title and memories of each group of the panel that has any."""
    groups = [
        (MADE_FROM, _("This answer is made from"), view.made_from),
        *((relation.value, capfirst(_verb(view, relation)), view.having(relation)) for relation in _CHANGES),
        (LOOKED_AT, _("Also looked at"), view.looked_at),
    ]
    return (group for group in groups if group[2])


def usage_of(view: TurnView, *, staff: bool = False) -> tuple[str, ...]:
    """Parts such as ("made from 2 memories", "saved 1"); staff also read how many were looked at."""
    made = len(view.made_from)
    parts = (
        [ngettext("made from %(count)d memory", "made from %(count)d memories", made) % {"count": made}] if made else []
    )
    parts += [f"{_verb(view, relation)} {len(rows)}" for relation in _CHANGES if (rows := view.having(relation))]
    if staff and (looked_at := view.looked_at):
        parts.append(_("also looked at %(count)d") % {"count": len(looked_at)})
    return tuple(parts)


def _verb(view: TurnView, relation: Relation) -> str:
    """What the turn did; a state that ended without a write has no replacement."""
    if relation is Relation.REPLACED and not view.having(Relation.WROTE, Relation.CONFIRMED):
        return _("ended")
    return str(_CHANGES[relation])


def why_source(memory: MemoryView) -> str:
    """One sentence that says what of a memory an answer was made from."""
    if memory.kind is Kind.PROCEDURAL:
        return _("The answer gives its steps.")
    if memory.quotes:
        return _("You said so:") if memory.quotes[0].speaker == OWN_NAME else _("It was said so:")
    if memory.kind is Kind.EPISODIC and memory.speaker == OWN_NAME:
        return _("The answer repeats your words.")
    return _("The answer states this.")


# The reasons of a recall (`memories/recall/adjust.py`), for people.
_REASONS: Mapping[str, Promise] = {
    "same words": gettext_lazy("It has words of your message."),
    "same meaning": gettext_lazy("It is about something similar."),
    "nearest in meaning": gettext_lazy("It was the closest match, if a distant one."),
    "said just after": gettext_lazy("It was said right after a similar question."),
    "said beside it": gettext_lazy("It was said next to something similar."),
    "about that time": gettext_lazy("It is about the time that you asked for."),
    "says when": gettext_lazy("It says when something happened."),
    "same conversation": gettext_lazy("Its conversation is about the same."),
    "just written": gettext_lazy("It is new."),
}
_SAID_BY = "said by "


def why(reasons: Sequence[str], *, pinned: bool = False) -> str:
    """One sentence that says why a turn was given a memory, by the strongest reason of its recall."""
    for reason in reasons:
        if reason.startswith(_SAID_BY):
            return _("%(speaker)s said it.") % {"speaker": reason.removeprefix(_SAID_BY)}
        if reason in _REASONS:
            return str(_REASONS[reason])
    return _("You pinned it.") if pinned else _("It is about what you asked.")
