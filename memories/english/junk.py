"""Phrases of nobody's own in English: of a system prompt, an assistant, boilerplate, small talk."""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re

from memories.hygiene.junk import JunkKind, outside_quotes

_SYSTEM = re.compile(
    r"\s*(?:system(?: prompt| message)?:\s*)?(?:you are (?:an?|the) (?:[\w'-]+,? ){0,8}?(?:assistant|ai|chatbot|language model|llm|copilot)\b(?! (?:coach|chef|director|editor|manager|principal|professor|referee|teacher|trainer)\b)"
    r"|you are (?:chatgpt|claude|gemini|copilot|llama|memoryhub)\b|you must (?:always|never) (?:respond|answer|reply|reveal)\b(?! the (?:bell|door|phone)\b)"
    r"|ignore (?:all |any )?(?:the |your )?previous instructions\b(?! (?:at|in|on)\b)|(?:do not|never) reveal (?:these|your|the system) (?:instructions|prompt))",
    re.IGNORECASE,
)
_BEGIN = r"(?:^|(?<=[.!?]\s)|(?<=\n))"
_ASSISTANT = re.compile(
    "|".join(
        (
            rf"{_BEGIN}as an? (?:ai(?= |,)(?:,| (?:language )?model\b| assistant\b)|(?:large )?language model\b|virtual assistant\b)",
            r"\bi(?:'m| am) (?:just |only )?an? (?:ai (?:language )?(?:model|assistant)\b|(?:large )?language model\b|ai(?=[,.!?]|$))",
            rf"{_BEGIN}i(?:'d| would) be (?:happy|glad) to (?:help|assist)(?: you)?(?: with (?:that|this|it|anything))?\s*(?:[.!?]|$)",
            rf"{_BEGIN}(?:of course|certainly|sure|absolutely)[!,.] (?:i(?:'d| would) be (?:happy|glad) to|here(?:'s| is| are)|let me)\b",
            r"\bis there anything else (?:that )?(?:i can|you(?:'d| would) like|you need)\b",
            rf"{_BEGIN}how (?:can|may) i (?:help|assist) you\b",
            rf"{_BEGIN}(?:please )?(?:feel free to|don't hesitate to) (?:ask|reach out|let me know)(?: (?:me|any|for (?:any|more|further|help)|if|when)\b|\s*(?:[.!?]|$))",
            rf"{_BEGIN}(?:please )?let me know if (?:you (?:have|need|want|would)|there(?:'s| is)) (?:any|anything|more|further|help)\b",
            rf"{_BEGIN}i hope (?:this|that) helps\b",
            rf"{_BEGIN}(?:great|good|excellent) question[!.,]",
            rf"{_BEGIN}(?:got it|noted|sure|of course|understood|absolutely|okay|ok)[!,.] i(?:'ve|'ll| have| will) (?:noted?|remember|make a note|saved?|stored?|keep (?:it|that|this|your|in mind))\b(?! to\b)",
            rf"{_BEGIN}i(?:'m| am) sorry, but (?:i|as an ai)\b",
            r"\bi (?:don't|do not) have (?:access to (?:real-time|your (?:personal|past|previous)|previous conversations)|any (?:memory|record) of (?:our|past|previous|that|this|you)\b|(?:access to the internet|personal (?:opinions|feelings|experiences))(?=\s*(?:[.,;!?]|$)| (?:and|or)\b))",
        )
    ),
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"\ball rights reserved\b|\bthis (?:e-?mail|message)(?: and any attachments?)? (?:is|are|may be|may contain|contains?) (?:intended|confidential|privileged|information)"
    r"|\bclick here to unsubscribe\b|\bunsubscribe at any time(?=\s*(?:[.,;!]|$))|\bthis (?:site|website) uses cookies\b|(?:^|[.!?\n]\s*)we use cookies\b|\baccept all cookies\b|\blorem ipsum dolor sit\b"
    r"|\bterms (?:of (?:service|use)|and conditions) apply(?=\s*(?:[.,;!]|$))|\bby (?:continuing|using this (?:site|website))\b.{0,60}\byou (?:agree|accept|consent)\b|\bsent from my (?:iphone|ipad|android|phone)\b",
    re.IGNORECASE,
)
_SMALL_TALK = frozenset(
    """
    ok okay k thanks thank thx ty cheers you hello hi hey bye goodbye ciao yes yeah yep no nope sure great cool nice good
    fine morning evening night afternoon day welcome please sorry lol haha hmm got it sounds perfect awesome alright
    right done so much very a lot for that the help again see later all
    """.split()
)
_LONGEST_SMALL_TALK = 8
_WORD = re.compile(r"[\w']+")


def phrases_in(text: str) -> JunkKind | None:
    """What `text` is, if such a phrase makes it no statement; a quoted phrase does not."""
    told = text.replace("’", "'")
    said = outside_quotes(told)
    words = _WORD.findall(told.casefold())
    if _SYSTEM.match(told):
        return JunkKind.SYSTEM
    if _ASSISTANT.search(said):
        return JunkKind.ASSISTANT
    if _BOILERPLATE.search(said):
        return JunkKind.BOILERPLATE
    small = 0 < len(words) <= _LONGEST_SMALL_TALK and all(word in _SMALL_TALK for word in words)
    return JunkKind.SMALL_TALK if small else None
