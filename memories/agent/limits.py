"""The limits of one turn: which memories come in by themselves, what the model may ask for, and how much room it has.

Together, the automatic recalls take no more tokens than the policy gives a turn; each recall that the model asks for
takes at most as many; the pinned facts have their own limit. All tokens are counted for the model that answers.
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
    OBSERVE,
    RECALL,
    SEARCH_SESSION,
    SET_TASK,
    UPDATE_PLAN,
    WRITE,
    tool_schemas,
)
from memories.consolidation.rules import content_words
from memories.constants import AUTOMATIC_SETTLED_ITEMS, MAX_PINNED_FACTS, PINNED_TOKENS
from memories.llm.base import ToolSchema
from memories.llm.tokens import ModelTokens, estimated_prompt
from memories.models import Fact
from memories.recall.pipeline import foremost
from memories.selectors.policies import Policy
from memories.types import Recall, RecallMode

# The arguments of each tool that name its topic. Tools that take ids are about memories that were recalled already.
_TOPICS: Mapping[str, tuple[str, ...]] = {
    WRITE: ("text", "title", "trigger"),
    SET_TASK: ("goal", "constraints"),
    UPDATE_PLAN: ("steps",),
    OBSERVE: ("text",),
    SEARCH_SESSION: ("query",),
    FINISH_TASK: ("outcome", "learned"),
}
_LONGEST_TOPIC = 2_000
# The share of a topic's words that a recall of the turn has to have asked for; the rest may be other words for it.
COVERED_SHARE = 0.5
# A recall without items, at its longest.
_EMPTY = render_recall(Recall(UUID(int=0), "", (), degraded=True, took_ms=0.0, as_of=datetime(2000, 1, 1, tzinfo=UTC)))


class TurnLimits:
    """A tenant's policy applied to one turn.

    `tokens` counts for the model that answers; a correction that a turn learns counts from the next turn on.
    `memory_tokens` is how many tokens of the prompts recalls and pinned facts took so far, each counted once. A model
    that works `alone` looks up what it needs before it calls a tool.
    """

    def __init__(self, policy: Policy | None = None, tokens: ModelTokens | None = None, *, alone: bool = False) -> None:
        self._tokens = tokens or ModelTokens()
        self._alone = alone
        self._covered: frozenset[str] = frozenset()
        self.memory_tokens = 0
        self.policy = policy or Policy()
        self._left = self.policy.recall_tokens

    def count(self, text: str) -> int:
        """The tokens of `text` in the model that answers."""
        return self._tokens.count(text)

    @property
    def pushes(self) -> bool:
        """Whether memories are recalled without being asked for."""
        return self.policy.recall_mode is not RecallMode.PULL and self.policy.recall_items > 0

    @property
    def offers_recall(self) -> bool:
        """Whether the model may recall."""
        return self.policy.recall_mode is not RecallMode.PUSH

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools that the model is offered."""
        return _tools(recall=self.offers_recall)

    @property
    def settled_items(self) -> int:
        """How many of the items are reserved for facts and how-tos."""
        return min(AUTOMATIC_SETTLED_ITEMS, self.policy.recall_items // 2)

    def room(self, *, automatic: bool) -> int:
        """The tokens that the items of the next recall may take; below one, no recall is made."""
        whole = self._left if automatic else self.policy.recall_tokens
        return whole - self.count(_EMPTY)

    def given(self, query: str, content: str, *, automatic: bool) -> None:
        """Note that a recall on `query` put `content` into the prompt."""
        self._covered |= content_words(query)
        tokens = self.count(content)
        self.memory_tokens += tokens
        if automatic:
            self._left -= tokens

    def topic(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        """The words of these tool calls (name, arguments) that no recall of the turn has asked for; empty if none."""
        if not self.pushes or self._alone or self.room(automatic=True) < 1:
            return ""
        texts = (_words_of(name, arguments) for name, arguments in calls)
        return " ".join(text for text in texts if self._is_new(text))[:_LONGEST_TOPIC]

    def pinned(self, facts: Iterable[Fact]) -> str:
        """The most important pinned facts that fit, as a tool result."""
        kept: list[Fact] = []
        left = PINNED_TOKENS - self.count(_EMPTY)
        for fact in foremost(facts):
            cost = self.count(render_pinned_item(fact))
            if cost <= left and len(kept) < MAX_PINNED_FACTS:
                kept.append(fact)
                left -= cost
        content = render_pinned(kept)
        self.memory_tokens += self.count(content)
        return content

    def learn(self, messages: Sequence[Mapping[str, Any]], reported: int | None) -> None:
        """Correct the token estimate by the count that an endpoint reported for a prompt."""
        if reported:
            self._tokens.learn(estimated_prompt(messages) + _tokens_of_tools(recall=self.offers_recall), reported)

    def _is_new(self, text: str) -> bool:
        words = content_words(text)
        return len(words & self._covered) < COVERED_SHARE * len(words)


@functools.cache
def _tools(*, recall: bool) -> tuple[ToolSchema, ...]:
    return tuple(schema for schema in tool_schemas() if recall or schema["function"]["name"] != RECALL)


@functools.cache
def _tokens_of_tools(*, recall: bool) -> int:
    return estimated_prompt((), _tools(recall=recall))


def _words_of(name: str, arguments: Mapping[str, Any]) -> str:
    """The words of a call that name its topic. A model sent them, so they may have any type."""
    texts: list[str] = []
    for member in _TOPICS.get(name, ()):
        value = arguments.get(member)
        texts += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return " ".join(text.strip() for text in texts if text.strip())
