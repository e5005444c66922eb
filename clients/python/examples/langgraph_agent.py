"""LangGraph: an agent whose graph recalls before the model answers, and hands in what was said afterwards."""

from __future__ import annotations

import os
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.graph import START, MessagesState, StateGraph

from memoryhub_client import Client


class State(MessagesState):
    context: str


def agent(model: BaseChatModel, memory: Client, thread: str) -> Any:
    def recall(state: State) -> dict[str, Any]:
        found = memory.context(state["messages"][-1].text)
        return {"context": f"{found.instructions}\n\n{found.text}"}

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(state["context"]), *state["messages"]])]}

    def learn(state: State) -> dict[str, Any]:
        said, answered = (each.text for each in state["messages"][-2:])
        turn = [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
        memory.messages(turn, session=thread, learn="now")
        return {}

    graph = StateGraph(State).add_sequence([recall, answer, learn])
    return graph.add_edge(START, "recall").compile()


def main(model: BaseChatModel, user_id: str = "alice") -> None:
    url, key = os.environ["MEMORYHUB_URL"], os.environ["MEMORYHUB_KEY"]
    with Client(url, token=key, user_id=user_id, app="travel") as memory:
        monday, said = agent(model, memory, "monday"), []
        for text in ("I live in Bristol.", "I moved to Edinburgh."):
            said = monday.invoke({"messages": [*said, ("user", text)]})["messages"]
        tuesday = agent(model, memory, "tuesday")
        print(tuesday.invoke({"messages": [("user", "Where do I live?")]})["messages"][-1].text)


if __name__ == "__main__":
    main(init_chat_model("openai:gpt-5"))
