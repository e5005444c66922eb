"""The words of stored faults of a chain in the language of the page; a fault without words stays as stored."""

from __future__ import annotations

import re
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from memoryhub.languages import parts_of
from tenants.audit.fields import field_words

# Faults that the verification of the audit log gives (`digests.py`, `verification.py`).
FAULTS: Final = frozenset({
    gettext_noop("the end of the chain is cut off"),
    gettext_noop("the chain is gone, and its head"),
    gettext_noop("the event cannot be read"),
    gettext_noop("the event does not follow from the one before"),
    gettext_noop("the event is missing"),
    gettext_noop("the event was changed"),
    gettext_noop("the head of the chain does not count this event"),
    gettext_noop("the head of the chain does not match this event"),
    gettext_noop("the head of the chain was changed"),
    gettext_noop("the payload is missing, and no event erased it"),
    gettext_noop("the payload is missing, and the event that erased it is not there"),
    gettext_noop("the payload was changed"),
    gettext_noop("the payload was erased, and is there again"),
    gettext_noop("the record of the payload's erasure is forged"),
})  # fmt: skip
# Problems of a row: supersession (`memories/selectors/history`) and rights (`rights.py`).
PROBLEMS: Final = frozenset({
    gettext_noop("brings back other words than there were"),
    gettext_noop("brings back what belongs to another owner or scope"),
    gettext_noop("brings back what is believed"),
    gettext_noop("brings back what never was there"),
    gettext_noop("cannot be read"),
    gettext_noop("ended after the audit told of its end"),
    gettext_noop("ended before it began"),
    gettext_noop("ended before its successor was learned"),
    gettext_noop("has a successor but is not superseded"),
    gettext_noop("has a successor of another owner or scope"),
    gettext_noop("has a time of supersession but is not superseded"),
    gettext_noop("has another successor than the audit tells of"),
    gettext_noop("has other words in the transcript"),
    gettext_noop("has other words than it was stored with"),
    gettext_noop("has other words than the audit tells of"),
    gettext_noop("has the key of another one that is believed"),
    gettext_noop("is believed although the audit tells of its end"),
    gettext_noop("is believed and yet contradicted"),
    gettext_noop("is evicted without saying since when and from which state, or the other way round"),
    gettext_noop("is not there although the audit tells of no erasure"),
    gettext_noop("is part of a cycle"),
    gettext_noop("is retracted without a harsh contradiction, or the other way round"),
    gettext_noop("is superseded without a time"),
    gettext_noop("is there although the payload of its event is gone"),
    gettext_noop("points to a successor that is not there"),
    gettext_noop("says the same as another one that is believed"),
    gettext_noop("was archived before it was superseded"),
    gettext_noop("was evicted without an audit event"),
    gettext_noop("was promoted from a scope that is not narrower"),
    gettext_noop("was promoted from another owner"),
    gettext_noop("was promoted from another tenant"),
    gettext_noop("was promoted without an audit event"),
    gettext_noop("was superseded without an audit event"),
    gettext_noop("was superseded without saying how"),
    gettext_noop("was written without an audit event"),
    gettext_noop("without an id"),
    gettext_noop("would return from its eviction to a state that it was not in"),
})  # fmt: skip
# Faults with parts of their own; `columns` are names of fields.
_COMPOSED: Final = (
    gettext_noop("the event's digest has the key %(key)s, which MEMORYHUB_AUDIT_KEYS does not hold"),
    gettext_noop("the head of the chain is sealed with the key %(key)s, which MEMORYHUB_AUDIT_KEYS does not hold"),
    gettext_noop("the event is another than the anchor of %(when)s names"),
    gettext_noop("%(fault)s: the anchor of %(when)s names %(count)s events"),
    gettext_noop("The check could not be made (%(fault)s)."),
    gettext_noop("The trigger %(name)s is missing or disabled."),
    gettext_noop("Line %(number)s of the anchor file was changed (it is now %(digest)s)."),
    gettext_noop("Line %(number)s of the anchor file is not anchor %(anchor)s."),
    gettext_noop("Anchor %(anchor)s of %(when)s is in the anchor file, and not in the database."),
    gettext_noop("The anchor file lacks the anchors %(first)s to %(last)s."),
    gettext_noop("The anchor file has %(count)s faults."),
    gettext_noop("%(fault)s, and %(count)s more"),
    gettext_noop("and %(count)s more"),
    gettext_noop("has another %(columns)s than the audit tells of"),
    gettext_noop("was changed outside the application (%(columns)s)"),
)
# A stored fault names a row by its table and id; pages name the kinds of rows as users do.
_CALLED: Final = {
    "semantic": gettext_lazy("fact"),
    "procedural": gettext_lazy("how-to"),
    "episodic": gettext_lazy("event"),
    "catalog": gettext_lazy("shared entry"),
    "api_token": gettext_lazy("token"),
    "membership": gettext_lazy("member"),
    "tenant": gettext_lazy("organisation"),
    "user": pgettext_lazy("field", "user"),
}
_NAMED = re.compile(rf"({'|'.join(_CALLED)}) ([0-9a-f]{{8}}-[0-9a-f-]+|without an id) (.+)")
# Several faults are stored as sentences, or separated by semicolons.
_SEVERAL = re.compile(r"; |(?<=\.) ")


def fault_words(fault: str) -> str:
    """The fault for the reader, with the kinds of rows named as users name them."""
    if fault in FAULTS or fault in PROBLEMS:
        return _(fault)
    if several := _SEVERAL.search(fault):
        first, others = fault[: several.start()], fault[several.end() :]
        return f"{fault_words(first)}{several[0]}{fault_words(others)}"
    # The last of several sentences is stored without its full stop.
    said = fault.removesuffix(".")
    for composed in _COMPOSED:
        if (parts := parts_of(composed.removesuffix("."), said)) is not None:
            words = _(composed) % {name: _part_words(name, part) for name, part in parts.items()}
            return words.removesuffix(".") + fault[len(said) :]
    if match := _NAMED.fullmatch(fault):
        kind, row_id, problem = match.groups()
        return f"{_CALLED[kind]} {fault_words(row_id)} {fault_words(problem)}"
    return fault


def _part_words(name: str, part: str) -> str:
    if name == "columns":
        return ", ".join(field_words(each.replace(" ", "_")) for each in part.split(", "))
    return fault_words(part)
