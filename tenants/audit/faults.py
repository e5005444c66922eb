"""The words of stored faults of a chain in the language of the page; a fault without words stays as stored."""

from __future__ import annotations

import re
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

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
# Faults with parts of their own.
_COMPOSED: Final = (
    gettext_noop("the event's digest has the key %(key)s, which MEMORYHUB_AUDIT_KEYS does not hold"),
    gettext_noop("the head of the chain is sealed with the key %(key)s, which MEMORYHUB_AUDIT_KEYS does not hold"),
    gettext_noop("the event is another than the anchor of %(when)s names"),
    gettext_noop("%(fault)s: the anchor of %(when)s names %(count)s events"),
    gettext_noop("The check could not be made (%(fault)s)."),
)
# A stored reason names a memory by its kind and id; pages name the kinds as users do.
_CALLED = {"semantic": "fact", "procedural": "how-to", "episodic": "event", "catalog": "shared entry"}
_NAMED = re.compile(rf"(?P<kind>{'|'.join(_CALLED)})(?= (?:[0-9a-f]{{8}}-|without an id))")


def fault_words(fault: str) -> str:
    """The fault for the reader, with the kinds of memory named as users name them."""
    if fault in FAULTS:
        return _(fault)
    for composed in _COMPOSED:
        pattern = re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", re.escape(composed))
        if match := re.fullmatch(pattern, fault):
            return _(composed) % {name: fault_words(part) for name, part in match.groupdict().items()}
    return _NAMED.sub(lambda match: _(_CALLED[match["kind"]]), fault, count=1)
