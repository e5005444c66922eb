"""CrewAI: a memory of one user for agents, crews and flows.

CrewAI's model extracts statements from what was said; memoryhub keeps and recalls them. This is no `StorageBackend`,
which would be handed the vector of a question without its words.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from crewai import Agent, BaseLLM, Memory
from crewai.memory.types import MemoryMatch, MemoryRecord

from memoryhub_client import Client


class MemoryhubMemory(Memory):
    """Memories are kept by user: CrewAI's scopes and categories are refused."""

    storage: Any = None
    client: Client

    def recall(
        self, query: str, scope: str | None = None, categories: Sequence[str] | None = None, limit: int = 10, **_: Any
    ) -> list[MemoryMatch]:
        if scope or categories:
            raise ValueError("MemoryhubMemory has no scopes and categories: recall without them.")
        return [
            MemoryMatch(
                record=MemoryRecord(id=each.id, content=each.text, metadata={"since": each.since}), score=1 / each.rank
            )
            for each in self.client.recall(query, limit=limit).items
        ]

    def remember_many(self, contents: Sequence[str], agent_role: str | None = None, **_: Any) -> list[MemoryRecord]:
        metadata = {"agent": agent_role or ""}
        done = self.client.memories.batch([{"text": text, "metadata": metadata} for text in contents])
        if refused := [each.problem["detail"] for each in done.results if each.problem]:
            raise ValueError(f"Not remembered: {'; '.join(refused)}")
        return [MemoryRecord(content=text) for text in contents]

    def remember(self, content: str, **options: Any) -> MemoryRecord:
        (record,) = self.remember_many([content], **options)
        return record


def main(llm: BaseLLM | str, user_id: str = "alice") -> None:
    with Client(os.environ["MEMORYHUB_URL"], token=os.environ["MEMORYHUB_KEY"], app="travel") as client:
        memory = MemoryhubMemory(client=client.for_user(user_id), llm=llm)
        for text in ("I live in Bristol.", "I moved to Edinburgh.", "Where do I live?"):
            guide = Agent(role="Guide", goal="Advise travellers.", backstory="A guide.", llm=llm, memory=memory)
            print(guide.kickoff(text))


if __name__ == "__main__":
    main("openai/gpt-5")
