"""The reasons that the program itself gives for a change, in the language of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.hygiene.sensitivity.findings import noun
from memories.presenting.lines import percent
from memories.types import SensitiveKind
from memoryhub.languages import parts_of

REASONS: Final = frozenset({
    gettext_noop("a known playbook has this trigger"),
    gettext_noop("a model found that both cannot hold"),
    gettext_noop("a model found that both say the same"),
    gettext_noop("a name or number of it was said by nobody"),
    gettext_noop("a newer statement says the same"),
    gettext_noop("a step of it was said by nobody"),
    gettext_noop("a way to do something has several steps"),
    gettext_noop("all forgotten"),
    gettext_noop("asked for by the member"),
    gettext_noop("asked for in chat"),
    gettext_noop("by hand"),
    gettext_noop("concluded by an agent"),
    gettext_noop("concluded in chat"),
    gettext_noop("consolidated from what was said"),
    gettext_noop("corrected"),
    gettext_noop("denied in chat"),
    gettext_noop("denied to an agent"),
    gettext_noop("doubtful, and never confirmed"),
    gettext_noop("ended by an agent"),
    gettext_noop("ended in chat"),
    gettext_noop("everything"),
    gettext_noop("evicted long ago"),
    gettext_noop("forgotten at the owner's request"),
    gettext_noop("imported"),
    gettext_noop("it ends before it begins"),
    gettext_noop("it has no title"),
    gettext_noop("it holds the markers of a chat template"),
    gettext_noop("it is a greeting or a yes, and tells nothing"),
    gettext_noop("it is an instruction to an assistant"),
    gettext_noop("it is boilerplate"),
    gettext_noop("It is old, unused and contradicted."),
    gettext_noop("it is text of a tool"),
    gettext_noop("it is the markup of a page"),
    gettext_noop("it is the trace of a program's error"),
    gettext_noop("it names a playbook that is not at hand"),
    gettext_noop("it names an episode that is not in the batch"),
    gettext_noop("it names no fact that is believed and older than these words"),
    gettext_noop("it repeats records from memory"),
    gettext_noop("it repeats what had been recalled"),
    gettext_noop("it would end more facts than one statement can"),
    gettext_noop("its confidence is below the floor"),
    gettext_noop("its supporting words were pasted, not said"),
    gettext_noop("its text is empty or too long"),
    gettext_noop("its time is over"),
    gettext_noop("kept at the end of a task"),
    gettext_noop("known already"),
    gettext_noop("learned when it was said"),
    gettext_noop("membership deactivated"),
    gettext_noop("never true"),
    gettext_noop("no episode supports it"),
    gettext_noop("no longer true, and in the history already"),
    gettext_noop("not active"),
    gettext_noop("not confirmed in time, and not used"),
    gettext_noop("nothing of it is in the user's own words"),
    gettext_noop("nothing of what it would end is in the conversation, and it quotes nothing"),
    gettext_noop("not stale any more"),
    gettext_noop("old, unused or contradicted"),
    gettext_noop("older than what is believed now"),
    gettext_noop("one denies the other"),
    gettext_noop("only one of the two values can hold"),
    gettext_noop("promoted"),
    gettext_noop("proposed by an agent"),
    gettext_noop("proposed in chat"),
    gettext_noop("refined"),
    gettext_noop("refused by the cluster"),
    gettext_noop("refused the archive by the cluster"),
    gettext_noop("replaced long ago"),
    gettext_noop("retired"),
    gettext_noop("retracted since"),
    gettext_noop("said by the user"),
    gettext_noop("said in chat"),
    gettext_noop("said to an agent"),
    gettext_noop("says the same in other words"),
    gettext_noop("session forgotten"),
    gettext_noop("settled in a review"),
    gettext_noop("somebody else said it"),
    gettext_noop("taken back by the owner"),
    gettext_noop("tenant deactivated"),
    gettext_noop("the agent would end it, and the user's words do not say so"),
    gettext_noop("the document says it no more"),
    gettext_noop("the forgetting was undone"),
    gettext_noop("the same words counted already"),
    gettext_noop("the words of a request to erase"),
    gettext_noop("the words that it quotes are not the user's"),
    gettext_noop("these are an assistant's words"),
    gettext_noop("they say the opposite"),
    gettext_noop("told by the user"),
    gettext_noop("undone"),
    gettext_noop("user deactivated"),
    gettext_noop("what it says was taken out before the words were stored"),
    gettext_noop("what it tells is in the assistant's words alone"),
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

# Why an answer or a consolidation failed (`memories/llm/tokens.py`, `faults.py` and the ledger of consolidations).
FAILURES: Final = frozenset({
    gettext_noop("Something that this answer builds on was erased meanwhile, so nothing more was written."),
    gettext_noop("Something went wrong here. What you said is stored. Try again."),
    gettext_noop("The answer became too long and was stopped. Ask for something shorter."),
    gettext_noop(
        "The endpoint does not know the model. An administrator has to check MEMORYHUB_MODEL and OPENAI_BASE_URL."
    ),
    gettext_noop("The model answered with something that cannot be read. Try again."),
    gettext_noop("The model broke off in the middle of its answer. Try again."),
    gettext_noop("The model cannot be reached at the moment. Try again."),
    gettext_noop("The model declined to answer this."),
    gettext_noop("The model did not answer in time. Try again."),
    gettext_noop("The model endpoint refused the credentials. An administrator has to check OPENAI_API_KEY."),
    gettext_noop("The model gave an empty answer. Try again."),
    gettext_noop("The model is busy. Try again in a moment."),
    gettext_noop("The model kept calling tools and gave no answer. Try again."),
    gettext_noop("The model stopped answering. Try again."),
    gettext_noop("The model's answer is JSON, but not of the shape that was asked for."),
    gettext_noop("The model's answer is not the JSON that was asked for."),
    gettext_noop("The model's answer reached its greatest length before its end."),
    gettext_noop("The model's content filter stopped this answer."),
    gettext_noop("The process ended in the middle; nothing was written."),
    gettext_noop("This conversation was deleted while it was answered."),
    gettext_noop("This conversation is too long for the model. Start a new one; what was said is remembered."),
})  # fmt: skip

# How a contradiction was settled, which follows its reason (`memories/services/contradictions/settling.py`).
_SETTLED: Final = frozenset({gettext_noop("brought up to date"), gettext_noop("the surer one stays")})


def reason_words(reason: str) -> str:
    """The reason for the reader; one that a person or an agent wrote stays as it was written."""
    if reason in REASONS or reason in RECALLED or reason in FAILURES:
        return _(reason)
    why, _separator, how = reason.rpartition("; ")
    if how in _SETTLED:
        return f"{reason_words(why)}; {_(how)}"
    for composed, part_words in _COMPOSED.items():
        if (parts := parts_of(composed, reason)) is not None:
            return _(composed) % {name: part_words(part) for name, part in parts.items()}
    return reason


_KINDS: Final = {kind.value.replace("_", " "): kind for kind in SensitiveKind}


def _kind_words(kinds: str) -> str:
    return ", ".join(noun(_KINDS[name]) if name in _KINDS else name for name in kinds.split(", "))


_FIGURE: Final = re.compile(r"(\d[\d,]*(?:\.(\d+))?)(%?)", re.ASCII)


def _figure(english: str) -> str:
    """A number or a percentage, such as `1,234` or `98.0%`, as the reader writes it."""
    if (found := _FIGURE.fullmatch(english)) is None:
        return english
    plain, decimals = found[1].replace(",", ""), len(found[2] or "")
    return percent(float(plain) / 100, decimals) if found[3] else formats.number_format(plain, force_grouping=True)


# Reasons with parts of their own, and the words of each part: of a scan (`services/retention/hygiene_scan.py`), a run
# (`consolidation/planner.py`), an import (`services/portability/sessions_import.py`), a model (`llm/faults.py`) and a
# recall threshold (`recall/tuning.py`).
_COMPOSED: Final[Mapping[str, Callable[[str], str]]] = {
    gettext_noop("It is no memory: %(part)s."): reason_words,
    gettext_noop("It holds what is not stored: %(part)s."): _kind_words,
    gettext_noop("the same as number %(part)s"): str,
    gettext_noop("imported from %(part)s"): str,
    gettext_noop("The model is busy. Try again in %(part)s seconds."): str,
    gettext_noop("The model endpoint has a fault (%(part)s). Try again."): str,
    gettext_noop("The model endpoint refused the request (%(part)s)."): str,
    gettext_noop(
        "Too little is recorded: %(used)s memories that answers used and %(ignored)s that they did not; "
        "%(least_used)s and %(least_ignored)s are needed."
    ): _figure,
    gettext_noop(
        "%(value)s had kept %(kept)s of %(used)s used memories (%(kept_share)s) and left out %(cut)s of %(ignored)s "
        "that no answer used (%(cut_share)s)."
    ): _figure,
    gettext_noop(
        "No value keeps %(kept_share)s of the %(used)s used memories and leaves out %(cut_share)s of the %(ignored)s "
        "others: the best leaves out %(best_share)s. Scores do not tell them apart."
    ): _figure,
}
