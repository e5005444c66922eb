"""What an integration calls most: messages in, context out; recall; and who the caller is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memoryhub_client.calls import C, Call, Resource, ask, endpoint, get, paged, post
from memoryhub_client.types import (
    Context,
    Filters,
    Kind,
    Learn,
    Look,
    Me,
    Messages,
    MessagesBatch,
    NewConversation,
    NewMessage,
    Recall,
    Version,
)


class Root(Resource[C]):
    """The methods of the clients themselves."""

    @endpoint
    def messages(
        self,
        messages: Sequence[NewMessage],
        *,
        session: str | None = None,
        learn: Learn | None = None,
        return_context: bool | None = None,
    ) -> Call[Messages]:
        """Store the messages of one or more turns of your agent, in order, and learn from what users said.

        `session` is your own id of the conversation. `learn`: `background` (the default), `now` or `off`.
        """
        return post("/messages/", messages=list(messages), session=session, learn=learn, return_context=return_context)

    @endpoint
    def messages_batch(self, conversations: Sequence[NewConversation]) -> Call[MessagesBatch]:
        """Store up to 100 conversations in this order, each with its own result; one that is refused stops no other."""
        return post("/messages/batch/", conversations=list(conversations))

    @endpoint
    def context(
        self,
        query: str,
        *,
        token_budget: int | None = None,
        types: Sequence[Kind] | None = None,
        limit: int | None = None,
        session_id: str | None = None,
        explain: bool | None = None,
    ) -> Call[Context]:
        """Read a text for the prompt of your agent: what is known of the user, and what bears on `query`."""
        return ask(
            "/context/",
            query=query,
            token_budget=token_budget,
            types=types,
            limit=limit,
            session_id=session_id,
            explain=explain,
        )

    @endpoint
    def recall(
        self,
        query: str,
        *,
        types: Sequence[Kind] | None = None,
        filters: Filters | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        include_superseded: bool | None = None,
        session_id: str | None = None,
        threshold: float | None = None,
        task: str | None = None,
        explain: bool | None = None,
    ) -> Call[Recall]:
        """Recall the memories that bear on `query`, best first; with `as_of`, those that were believed then."""
        return ask(
            "/recall/",
            query=query,
            types=types,
            filters=filters,
            limit=limit,
            as_of=as_of,
            include_superseded=include_superseded,
            session_id=session_id,
            threshold=threshold,
            task=task,
            explain=explain,
        )

    @endpoint
    def me(self) -> Call[Me]:
        """Read the tenant, the member, the token, its scopes and the limits of use."""
        return get("/me/")

    @endpoint
    def version(self) -> Call[Version]:
        """Read the versions of the API and of the server."""
        return get("/version/")

    @paged
    def looks(self, *, limit: int | None = None) -> Call[Look]:
        """List when staff looked at the owner's memory, latest first."""
        return get("/looks/", limit=limit)
