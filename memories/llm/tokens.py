"""Token estimates, corrected by the counts that endpoints report, and the sentences for failed answers.

The tokenizer of the model is not available. Implausible reports are ignored, and the correction is bounded. No sentence
quotes text that was sent, received or remembered.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

from memories.llm.base import ChatMessage, ToolSchema

# The characters per token are conservative guesses, not measurements with a tokenizer. ASCII letters take one for four,
# punctuation, digits and breaks one each, and indents one for sixteen; a single space belongs to the next word. Each
# match is a token: a turn counts some hundred texts.
_ASCII = re.compile(r"[A-Za-z]{1,4}|[\x21-\x40\x5b-\x60\x7b-\x7e\t\n\r]| {2,16}|(?<= {16}) ")
# Runs of other characters of one kind.
_RUNS = re.compile(
    r"(?P<accented>[\u00c0-\u024f\u1e00-\u1eff]+)|(?P<letters>[\u0370-\u052f]+)|(?P<rarer>[\u0530-\u1dff]+)"
    r"|(?P<cjk>[\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)|(?P<other>[^\x00-\x7f])",
)
_CHARACTERS_A_TOKEN = {
    "accented": 1.0,
    "letters": 1.6,
    "cjk": 0.7,
    "rarer": 0.7,  # such as Arabic, Hebrew, Hindi, Thai
    "other": 0.4,  # emoji and symbols, which are tokenized as bytes
}
# Tokens that the protocol adds to each message and each tool call.
_AROUND_A_MESSAGE = 4
# A reported count outside this ratio measures something else: uncached tokens only, or all calls so far.
_PLAUSIBLE = (0.25, 4.0)
_FACTORS = (0.6, 2.0)
# Tokens. The endpoint's own additions dominate the count of a shorter prompt.
_LEAST_LEARNT_FROM = 500
_LAST_CALLS = 8
_MOST_MODELS = 32

_ratios: OrderedDict[str, deque[float]] = OrderedDict()
_lock = threading.Lock()


def estimated(text: str) -> int:
    """Estimate the tokens of `text` for an unknown model, erring on the high side."""
    total = len(_ASCII.findall(text))
    for run in () if text.isascii() else _RUNS.finditer(text):
        kind = run.lastgroup or "other"
        length = run.end() - run.start()
        total += math.ceil(length / _CHARACTERS_A_TOKEN[kind])
    return total or (1 if text else 0)


def estimated_prompt(messages: Iterable[ChatMessage], tools: Iterable[ToolSchema] = ()) -> int:
    """Estimate the tokens of a whole request."""
    return sum(map(_of_message, messages)) + sum(estimated(_json(tool)) for tool in tools)


class ModelTokens:
    """Token counts for the model `name`, constant for the lifetime of this object.

    The process keeps reported counts for later objects. `factor` is the highest ratio of reported to estimated tokens
    in the last calls, limited to 0.6 to 2.0; it is 1 before the first call.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        with _lock:
            ratios = _ratios.get(name)
            self.factor = min(max(*ratios, _FACTORS[0]), _FACTORS[1]) if ratios else 1.0

    def count(self, text: str) -> int:
        """Estimate the tokens of `text`, rounded up."""
        return math.ceil(estimated(text) * self.factor)

    def learn(self, estimate: int, reported: int | None) -> None:
        """Record that a prompt with this uncorrected estimate took `reported` tokens."""
        if not reported or estimate < _LEAST_LEARNT_FROM:
            return
        ratio = reported / estimate
        if not _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1]:
            return
        with _lock:
            _ratios.setdefault(self._name, deque(maxlen=_LAST_CALLS)).append(ratio)
            _ratios.move_to_end(self._name)
            while len(_ratios) > _MOST_MODELS:
                _ratios.popitem(last=False)


def _of_message(message: ChatMessage) -> int:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    content = message.get("content") or ""
    told = content if isinstance(content, str) else _json(content)
    return _AROUND_A_MESSAGE * (1 + len(calls)) + estimated(told) + sum(estimated(_json(call)) for call in calls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


UNREADABLE = "The model answered with something that cannot be read. Try again."
BROKEN_OFF = "The model broke off in the middle of its answer. Try again."
STALLED = "The model stopped answering. Try again."
TOO_LONG = "The answer became too long and was stopped. Ask for something shorter."
REFUSED = "The model declined to answer this."
FILTERED = "The model's content filter stopped this answer."
EMPTY = "The model gave an empty answer. Try again."
ONLY_TOOLS = "The model kept calling tools and gave no answer. Try again."
CREDENTIALS = "The model endpoint refused the credentials. An administrator has to check OPENAI_API_KEY."
UNKNOWN = "The endpoint does not know the model. An administrator has to check MEMORYHUB_MODEL and OPENAI_BASE_URL."
TOO_MUCH = "This conversation is too long for the model. Start a new one; what was said is remembered."
NOT_JSON = "The model's answer is not the JSON that was asked for."
OTHER_JSON = "The model's answer is JSON, but not of the shape that was asked for."
CUT_SHORT = "The model's answer reached its greatest length before its end."
