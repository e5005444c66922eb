"""The limits of one turn: automatic recalls, the tools on offer, and the token budget.

All automatic recalls together stay within the policy's tokens for a turn. Each recall that the model requests may take
the same amount again. Pinned facts have a limit of their own. Tokens are counted for the answering model.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memories.agent.prompt import render_pinned, render_pinned_item, render_recall
from memories.agent.tool_schemas import (
    FINISH_TASK,
    FORGET,
    OBSERVE,
    RECALL,
    RETIRE,
    SEARCH_SESSION,
    SET_TASK,
    UPDATE_PLAN,
    WRITE,
    tool_schemas,
)
from memories.consolidation.rules import content_words
from memories.constants import AUTOMATIC_SETTLED_ITEMS, MAX_PINNED_FACTS, PINNED_TOKENS
from memories.llm.base import ToolSchema, Usage
from memories.llm.tokens import ModelTokens, estimated_prompt
from memories.models import Fact
from memories.recall.pipeline import foremost
from memories.selectors.policies import Policy
from memories.types import Recall, RecallMode

# The arguments of each tool that name its topic. Tools that take ids act on memories that were recalled already.
_TOPICS: Mapping[str, tuple[str, ...]] = {
    WRITE: ("text", "title", "trigger"),
    SET_TASK: ("goal", "constraints"),
    UPDATE_PLAN: ("steps",),
    OBSERVE: ("text",),
    SEARCH_SESSION: ("query",),
    FINISH_TASK: ("outcome", "learned"),
}
_LONGEST_TOPIC = 2_000
# What a model may call while memory is paused, and in a temporary chat.
_TAKE_NOTHING_IN = frozenset({RECALL, SEARCH_SESSION, RETIRE, FORGET})
# A topic counts as covered if earlier recalls asked for this share of its words; the others may be synonyms.
COVERED_SHARE = 0.5
# The longest rendering of a recall without items.
_EMPTY = render_recall(Recall(UUID(int=0), "", (), degraded=True, took_ms=0.0, as_of=datetime(2000, 1, 1, tzinfo=UTC)))


class TurnLimits:
    """A tenant's policy applied to one turn.

    `memory_tokens` counts the prompt tokens of recalls and pinned facts so far, each once; `model_tokens` counts all
    tokens that the model read and wrote. With `alone`, no recall is added beside the model's tool calls, because the
    offline responder recalls for itself.
    """

    def __init__(self, policy: Policy | None = None, tokens: ModelTokens | None = None, *, alone: bool = False) -> None:
        self._tokens = tokens or ModelTokens()
        self._alone = alone
        self._covered: frozenset[str] = frozenset()
        self.memory_tokens = self.model_tokens = 0
        self.policy = policy or Policy()
        self._left = self.policy.recall_tokens

    def count(self, text: str) -> int:
        """The tokens of `text` in the answering model."""
        return self._tokens.count(text)

    @property
    def pushes(self) -> bool:
        """Whether the policy recalls automatically."""
        return self.policy.recalls and self.policy.recall_mode is not RecallMode.PULL and self.policy.recall_items > 0

    @property
    def offers_recall(self) -> bool:
        """Whether the model may call the recall tool."""
        return self.policy.recalls and self.policy.recall_mode is not RecallMode.PUSH

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools offered to the model."""
        return _tools(recall=self.offers_recall, learn=self.policy.learns)

    def offers(self, name: str) -> bool:
        """Whether the model may call this tool."""
        return any(schema["function"]["name"] == name for schema in self.tools)

    @property
    def settled_items(self) -> int:
        """How many of the recalled items are reserved for facts and playbooks."""
        return min(AUTOMATIC_SETTLED_ITEMS, self.policy.recall_items // 2)

    def room(self, *, automatic: bool) -> int:
        """The token budget of the next recall's items. Below one, no recall is made."""
        whole = self._left if automatic else self.policy.recall_tokens
        return whole - self.count(_EMPTY)

    def given(self, query: str, content: str, *, automatic: bool) -> None:
        """Record that a recall by `query` put `content` into the prompt."""
        self._covered |= content_words(query)
        tokens = self.count(content)
        self.memory_tokens += tokens
        if automatic:
            self._left -= tokens

    def topic(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        """The topic words of these tool calls (name, arguments) that no recall of the turn covered; empty if none."""
        if not self.pushes or self._alone or self.room(automatic=True) < 1:
            return ""
        texts = (_words_of(name, arguments) for name, arguments in calls)
        return " ".join(text for text in texts if self._is_new(text))[:_LONGEST_TOPIC]

    def pinned(self, facts: Iterable[Fact]) -> tuple[str, list[Fact]]:
        """The most important pinned facts that fit their limit, rendered as a tool result, and as rows."""
        kept: list[Fact] = []
        left = PINNED_TOKENS - self.count(_EMPTY)
        for fact in foremost(facts):
            cost = self.count(render_pinned_item(fact))
            if cost <= left and len(kept) < MAX_PINNED_FACTS:
                kept.append(fact)
                left -= cost
        content = render_pinned(kept)
        self.memory_tokens += self.count(content)
        return content, kept

    def learn(self, messages: Sequence[Mapping[str, Any]], reported: int | None) -> None:
        """Calibrate the token estimate with the count that the endpoint reported for a prompt."""
        if reported:
            self._tokens.learn(estimated_prompt(messages) + self._tokens_of_tools, reported)

    def used(self, messages: Sequence[Mapping[str, Any]], usage: Usage, text: str) -> None:
        """Count the tokens of one call of the model: as the endpoint reported them, else estimated."""
        if self._alone:
            return
        read, wrote = usage.prompt_tokens, usage.completion_tokens
        if read is None:
            read = estimated_prompt(messages) + self._tokens_of_tools
        self.model_tokens += read + (self.count(text) if wrote is None else wrote)

    @property
    def _tokens_of_tools(self) -> int:
        return _tokens_of_tools(recall=self.offers_recall, learn=self.policy.learns)

    def _is_new(self, text: str) -> bool:
        words = content_words(text)
        return len(words & self._covered) < COVERED_SHARE * len(words)


@functools.cache
def _tools(*, recall: bool, learn: bool) -> tuple[ToolSchema, ...]:
    names = {schema["function"]["name"] for schema in tool_schemas()} if learn else _TAKE_NOTHING_IN
    names = names if recall else names - {RECALL}
    return tuple(schema for schema in tool_schemas() if schema["function"]["name"] in names)


@functools.cache
def _tokens_of_tools(*, recall: bool, learn: bool) -> int:
    return estimated_prompt((), _tools(recall=recall, learn=learn))


def _words_of(name: str, arguments: Mapping[str, Any]) -> str:
    """The words of a call that name its topic. The model sent the arguments, so they may have any type."""
    texts: list[str] = []
    for member in _TOPICS.get(name, ()):
        value = arguments.get(member)
        texts += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return " ".join(text.strip() for text in texts if text.strip())
