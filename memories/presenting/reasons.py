"""The reasons that the program itself gives for a change, in the language of the page."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

REASONS: Final = frozenset({
    gettext_noop("a model found that both cannot hold"),
    gettext_noop("all forgotten"),
    gettext_noop("asked for by the member"),
    gettext_noop("asked for in chat"),
    gettext_noop("concluded by an agent"),
    gettext_noop("concluded in chat"),
    gettext_noop("consolidated from what was said"),
    gettext_noop("corrected"),
    gettext_noop("denied in chat"),
    gettext_noop("denied to an agent"),
    gettext_noop("ended by an agent"),
    gettext_noop("ended in chat"),
    gettext_noop("everything"),
    gettext_noop("forgotten at the owner's request"),
    gettext_noop("imported"),
    gettext_noop("kept at the end of a task"),
    gettext_noop("never true"),
    gettext_noop("not active"),
    gettext_noop("older than what is believed now"),
    gettext_noop("one denies the other"),
    gettext_noop("only one of the two values can hold"),
    gettext_noop("promoted"),
    gettext_noop("proposed by an agent"),
    gettext_noop("proposed in chat"),
    gettext_noop("refined"),
    gettext_noop("retired"),
    gettext_noop("said by the user"),
    gettext_noop("said in chat"),
    gettext_noop("said to an agent"),
    gettext_noop("session forgotten"),
    gettext_noop("the document says it no more"),
    gettext_noop("the forgetting was undone"),
    gettext_noop("the words of a request to erase"),
    gettext_noop("they say the opposite"),
    gettext_noop("undone"),
    gettext_noop("whose it was is erased"),
    gettext_noop("with the catalog"),
})  # fmt: skip

# Why a recall gave out a memory (`memories/recall/adjust.py`), in two words for staff.
RECALLED: Final = frozenset({
    gettext_noop("about that time"),
    gettext_noop("just written"),
    gettext_noop("nearest in meaning"),
    gettext_noop("said beside it"),
    gettext_noop("said just after"),
    gettext_noop("same conversation"),
    gettext_noop("same meaning"),
    gettext_noop("same words"),
    gettext_noop("says when"),
})  # fmt: skip


def reason_words(reason: str) -> str:
    """The reason for the reader; one that a person or an agent wrote stays as it was written."""
    return _(reason) if reason in REASONS or reason in RECALLED else reason
