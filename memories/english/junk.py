"""Phrases that say nothing about the user: system prompts, assistant phrases, boilerplate and small talk."""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re

from memories.english.text import STRAIGHT, compiled, word_set
from memories.hygiene.junk import JunkKind, outside_quotes

_SYSTEM = compiled(
    r"\s*(?:system(?: prompt| message)?:\s*)?(?:you are (?:an?|the) (?:[\w'-]+,? ){0,8}?(?:assistant|ai|chatbot|language model|llm|copilot)\b(?! (?:coach|chef|director|editor|manager|principal|professor|referee|teacher|trainer)\b)"
    r"|you are (?:chatgpt|claude|gemini|copilot|llama|memoryhub)\b|you must (?:always|never) (?:respond|answer|reply|reveal)\b(?! the (?:bell|door|phone)\b)"
    r"|ignore (?:all |any )?(?:the |your )?previous instructions\b(?! (?:at|in|on)\b)|(?:do not|never) reveal (?:these|your|the system) (?:instructions|prompt))"
)
# Assistant phrases, at the beginning of a sentence or anywhere.
_ASSISTANT = compiled(
    r"(?:^|(?<=[.!?]\s)|(?<=\n))(?:as an? (?:ai(?= |,)(?:,| (?:language )?model\b| assistant\b)|(?:large )?language model\b|virtual assistant\b)"
    r"|i(?:'d| would) be (?:happy|glad) to (?:help|assist)(?: you)?(?: with (?:that|this|it|anything))?\s*(?:[.!?]|$)"
    r"|(?:of course|certainly|sure|absolutely)[!,.] (?:i(?:'d| would) be (?:happy|glad) to|here(?:'s| is| are)|let me)\b"
    r"|how (?:can|may) i (?:help|assist) you\b|i hope (?:this|that) helps\b|(?:great|good|excellent) question[!.,]|i(?:'m| am) sorry, but (?:i|as an ai)\b"
    r"|(?:please )?(?:feel free to|don't hesitate to) (?:ask|reach out|let me know)(?: (?:me|any|for (?:any|more|further|help)|if|when)\b|\s*(?:[.!?]|$))"
    r"|(?:please )?let me know if (?:you (?:have|need|want|would)|there(?:'s| is)) (?:any|anything|more|further|help)\b"
    r"|(?:got it|noted|sure|of course|understood|absolutely|okay|ok)[!,.] i(?:'ve|'ll| have| will) (?:noted?|remember|make a note|saved?|stored?|keep (?:it|that|this|your|in mind))\b(?! to\b))"
    r"|\bi(?:'m| am) (?:just |only )?an? (?:ai (?:language )?(?:model|assistant)\b|(?:large )?language model\b|ai(?=[,.!?]|$))"
    r"|\bis there anything else (?:that )?(?:i can|you(?:'d| would) like|you need)\b"
    r"|\bi (?:don't|do not) have (?:access to (?:real-time|your (?:personal|past|previous)|previous conversations)|any (?:memory|record) of (?:our|past|previous|that|this|you)\b|(?:access to the internet|personal (?:opinions|feelings|experiences))(?=\s*(?:[.,;!?]|$)| (?:and|or)\b))"
)
_BOILERPLATE = compiled(
    r"\ball rights reserved\b|\bthis (?:e-?mail|message)(?: and any attachments?)? (?:is|are|may be|may contain|contains?) (?:intended|confidential|privileged|information)"
    r"|\bclick here to unsubscribe\b|\bunsubscribe at any time(?=\s*(?:[.,;!]|$))|\bthis (?:site|website) uses cookies\b|(?:^|[.!?\n]\s{0,8})we use cookies\b|\baccept all cookies\b|\blorem ipsum dolor sit\b"
    r"|\bterms (?:of (?:service|use)|and conditions) apply(?=\s*(?:[.,;!]|$))|\bby (?:continuing|using this (?:site|website))\b.{0,60}\byou (?:agree|accept|consent)\b|\bsent from my (?:iphone|ipad|android|phone)\b"
)
_SMALL_TALK = word_set(
    "ok okay k thanks thank thx ty cheers you hello hi hey bye goodbye ciao yes yeah yep no nope sure great cool nice good fine morning "
    "evening night afternoon day welcome please sorry lol haha hmm got it sounds perfect awesome alright right done so much very a lot "
    "for that the help again see later all"
)
_LONGEST_SMALL_TALK = 8


def phrases_in(text: str) -> JunkKind | None:
    """Return the kind of junk that `text` is, or None. A quoted phrase does not count."""
    told = text.translate(STRAIGHT)
    said = outside_quotes(text.replace("’", "'"))
    if _SYSTEM.match(told):
        return JunkKind.SYSTEM
    if _ASSISTANT.search(said):
        return JunkKind.ASSISTANT
    if _BOILERPLATE.search(said):
        return JunkKind.BOILERPLATE
    words = re.findall(r"[\w']+", told.casefold())
    return JunkKind.SMALL_TALK if 0 < len(words) <= _LONGEST_SMALL_TALK and _SMALL_TALK.issuperset(words) else None
