"""Who calls: members, tokens, the caller; and who looked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member, named by the tenant's own id of the user."""

    user_id: str
    name: str
    active: bool
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class MemoriesErased:
    """What a call erased. If not `complete`, there is more: call again."""

    memories: int
    sessions: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that a second person may have to approve."""

    id: str
    state: str
    asked_at: datetime
    begins_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token or a backend key, without its secret."""

    id: str
    name: str
    prefix: str
    backend_key: bool
    scopes: list[str]
    networks: list[str]
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    previous_until: datetime | None


@dataclass(frozen=True, kw_only=True)
class NewToken(Token):
    """A token with its secret, which is shown this once."""

    token: str


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """The caller's tenant."""

    id: str
    name: str
    slug: str


@dataclass(frozen=True, kw_only=True)
class OwnMember:
    """The member for whom the caller acts."""

    user_id: str | None
    name: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Me:
    """Who the caller is. `member` is None for a backend key that names nobody."""

    tenant: Tenant
    member: OwnMember | None
    token: Token | None
    scopes: list[str]
    limits: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Version:
    """The versions of the API, by which programs decide, and of the server, for people."""

    api: str
    server: str


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look of staff at the owner's memory."""

    id: str
    at: datetime
    role: str
    name: str
    what: str
    reason: str
    kind: str
    target_id: str | None
