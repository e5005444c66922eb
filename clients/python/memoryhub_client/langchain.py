"""LangChain: a middleware that recalls before an agent answers and hands in what was said after, and a retriever.

`memoryhub-client[langchain]`
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime
from pydantic import ConfigDict
from typing_extensions import NotRequired

from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.outages import OnOutage, beginning, optional
from memoryhub_client.sansio import Procedure, arun, root, run
from memoryhub_client.types import Context, Kind, Learn, NewMessage, Recall

# Of LangChain's kinds of messages those with words of people and of the agent.
_ROLES: Mapping[str, Any] = {"human": "user", "ai": "assistant"}
# Takes the place of what the run before recalled, which a checkpointer keeps.
_NOTHING: dict[str, Any] = {"memoryhub_context": ""}


class MemoryState(AgentState[Any]):
    """The state of an agent, and what was recalled for this run."""

    memoryhub_context: NotRequired[Annotated[str, PrivateStateAttr]]


class MemoryhubMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Recalls once for each run, into the system message, and hands in the run's messages when the agent is done.

    `user` names whom a run is about, for a backend key: `user=lambda runtime: runtime.context["user_id"]`. The session
    is the thread of the checkpointer. What was recalled is not stored with the conversation. If memoryhub does not
    answer, a run logs a warning and goes on without it, unless `on_outage` is `raise`.
    """

    state_schema = MemoryState

    def __init__(
        self,
        client: Client,
        async_client: AsyncClient | None = None,
        *,
        user: Callable[[Runtime[Any]], str] | None = None,
        learn: Learn = "background",
        token_budget: int | None = None,
        on_outage: OnOutage = "continue",
    ) -> None:
        super().__init__()
        self._client = client
        self._async_client = async_client
        self._user = user
        self._learn = learn
        self._token_budget = token_budget
        self._on_outage = on_outage

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall what bears on the last message of the user."""
        client = self._client if self._user is None else self._client.for_user(self._user(runtime))
        return run(client, optional(self._recalled(state["messages"]), self._on_outage)) or _NOTHING

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Recall what bears on the last message of the user."""
        recalled = optional(self._recalled(state["messages"]), self._on_outage)
        return await arun(self._acting(runtime), recalled) or _NOTHING

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what was recalled."""
        return handler(_informed(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with what was recalled."""
        return await handler(_informed(request))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Hand in what was said in this run."""
        client = self._client if self._user is None else self._client.for_user(self._user(runtime))
        return run(client, optional(self._handed_in(state["messages"], runtime), self._on_outage))

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Hand in what was said in this run."""
        return await arun(self._acting(runtime), optional(self._handed_in(state["messages"], runtime), self._on_outage))

    def _acting(self, runtime: Runtime[Any]) -> Client | AsyncClient:
        client = self._async_client or self._client
        return client if self._user is None else client.for_user(self._user(runtime))

    def _recalled(self, messages: Sequence[AnyMessage]) -> Procedure[dict[str, Any]]:
        asked = next((each.text for each in reversed(messages) if each.type == "human"), "")
        if not asked.strip():
            return _NOTHING
        found: Context = yield root.context(beginning(asked), token_budget=self._token_budget)
        return {"memoryhub_context": found.prompt}

    def _handed_in(self, messages: Sequence[AnyMessage], runtime: Runtime[Any]) -> Procedure[None]:
        """From the last message of the user on: what came before was handed in by the runs before."""
        start = max((place for place, each in enumerate(messages) if each.type == "human"), default=len(messages))
        said = [_message(each) for each in messages[start:] if each.type in _ROLES and each.text.strip()]
        if said:
            info = runtime.execution_info
            yield root.messages(said, session=info.thread_id if info else None, learn=self._learn)


class MemoryhubRetriever(BaseRetriever):
    """Retrieves memories by recall, the best first. `k`, also in a call, is how many; it cannot be more than 100."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    async_client: AsyncClient | None = None
    k: int = 10
    types: Sequence[Kind] | None = None
    filters: Mapping[str, Any] | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the framework's signature
        k: int | None = None,
    ) -> list[Document]:
        return run(self.client, self._documents(query, k))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - likewise
        k: int | None = None,
    ) -> list[Document]:
        return await arun(self.async_client or self.client, self._documents(query, k))

    def _documents(self, query: str, k: int | None) -> Procedure[list[Document]]:
        found: Recall = yield root.recall(beginning(query), types=self.types, filters=self.filters, limit=k or self.k)
        return [
            Document(
                page_content=each.text,
                id=each.id,
                metadata={
                    "kind": each.kind,
                    "title": each.title,
                    "since": each.since and each.since.isoformat(),
                    "reasons": each.reasons,
                },
            )
            for each in found.items
        ]


def _informed(request: ModelRequest[Any]) -> ModelRequest[Any]:
    state: Mapping[str, Any] = request.state
    if not (recalled := state.get("memoryhub_context")):
        return request
    own = request.system_message or SystemMessage("")
    if isinstance(own.content, str):
        content: Any = f"{own.content}\n\n{recalled}" if own.content else recalled
    else:  # blocks carry more than their text, such as the end of what a model's API caches
        content = [*own.content, {"type": "text", "text": recalled}]
    return request.override(system_message=own.model_copy(update={"content": content}))


def _message(message: AnyMessage) -> NewMessage:
    said: NewMessage = {"role": _ROLES[message.type], "content": beginning(message.text)}
    if message.id:
        said["id"] = message.id
    return said
