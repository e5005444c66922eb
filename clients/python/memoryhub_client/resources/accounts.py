"""Members and tokens, for a backend key or a token that may administer them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memoryhub_client.calls import C, Call, Resource, at, delete, endpoint, get, paged, patch, post
from memoryhub_client.types import Asked, Member, MemoriesErased, NewToken, Token


class Members(Resource[C]):
    """The members for whom backend keys of the tenant act, named by the tenant's own ids."""

    @paged
    def list(self, *, active: bool | None = None, limit: int | None = None) -> Call[Member]:
        """List the members, oldest first."""
        return get("/members/", active=active, limit=limit)

    @endpoint
    def create(self, user_id: str, *, name: str | None = None) -> Call[Member]:
        """Make a member; one that exists is answered as it is."""
        return post("/members/", user_id=user_id, name=name)

    @endpoint
    def get(self, user_id: str) -> Call[Member]:
        """Read a member, active or deactivated."""
        return get(at("members", user_id))

    @endpoint
    def change(self, user_id: str, *, name: str | None = None, active: bool | None = None) -> Call[Member]:
        """Rename, deactivate or reactivate a member."""
        return patch(at("members", user_id), name=name, active=active)

    @endpoint
    def forget_memories(self, user_id: str) -> Call[MemoriesErased]:
        """Erase all conversations and memories for good; the member stays. Repeat it until `complete`."""
        return delete(at("members", user_id, "memories"))

    @endpoint
    def erase(self, user_id: str, *, reason: str) -> Call[Asked]:
        """Ask for the erasure of everything that is kept of a member."""
        return post(at("members", user_id, "erase"), reason=reason)

    @endpoint
    def erasure(self, user_id: str) -> Call[Asked]:
        """Read the latest request to erase a member."""
        return get(at("members", user_id, "erase"))

    @endpoint
    def export(self, user_id: str, *, reason: str) -> Call[Asked]:
        """Ask for the whole memory of a member as a signed archive."""
        return post(at("members", user_id, "export"), reason=reason)

    @endpoint
    def download(self, user_id: str) -> Call[bytes]:
        """Read the archive of an approved request, a ZIP file; once."""
        return get(at("members", user_id, "export"))


class Tokens(Resource[C]):
    """The caller's tokens; of a backend key that names nobody, the keys of its tenant."""

    @paged
    def list(self, *, limit: int | None = None) -> Call[Token]:
        """List tokens, latest first."""
        return get("/tokens/", limit=limit)

    @endpoint
    def create(
        self,
        name: str,
        *,
        scopes: Sequence[str],
        expires_at: datetime | None = None,
        networks: Sequence[str] | None = None,
    ) -> Call[NewToken]:
        """Make a token; its secret is in this answer alone."""
        return post("/tokens/", name=name, scopes=scopes, expires_at=expires_at, networks=networks)

    @endpoint
    def get(self, token_id: str) -> Call[Token]:
        """Read a token, without its secret."""
        return get(at("tokens", token_id))

    @endpoint
    def rotate(self, token_id: str, *, grace_hours: int | None = None) -> Call[NewToken]:
        """Give a token a new secret; the old one works for `grace_hours` more."""
        return post(at("tokens", token_id, "rotate"), grace_hours=grace_hours)

    @endpoint
    def revoke(self, token_id: str) -> Call[Token]:
        """Revoke a token, and all that were made with it."""
        return delete(at("tokens", token_id))
