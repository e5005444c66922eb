"""Documents, tombstones and principals to try a search plane with; no database."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

from memories.embedding import Floats, encoder, quantize
from memories.recall.query import parse
from memories.types import ALL_KINDS, Candidate, CandidateRequest, Kind, Owner, Scope, SearchDocument, Status
from tenants.principal import ActorKind, Principal, Role

GLOBAL = Owner(None, None)


def somebody(tenant_id: UUID | None = None) -> Principal:
    """A member, of a tenant of their own unless given one."""
    return Principal(tenant_id or uuid4(), uuid4(), uuid4(), Role.MEMBER, ActorKind.MEMBER, None)


def own(principal: Principal) -> Owner:
    """The principal's own part."""
    return Owner(principal.tenant_id, principal.user_id)


def shared(principal: Principal) -> Owner:
    """The part that the principal's tenant shares."""
    return Owner(principal.tenant_id, None)


def document(owner: Owner, text: str, **changes: object) -> SearchDocument:
    """A document of `owner`, version 1 and current unless `changes` say otherwise."""
    scope = Scope.USER if owner.user_id else Scope.TENANT if owner.tenant_id else Scope.GLOBAL
    plain = SearchDocument(
        id=uuid4(),
        kind=Kind.SEMANTIC,
        version=1,
        owner=owner,
        scope=scope,
        task="",
        status=Status.ACTIVE,
        text=text,
        vector=quantize(encoder().encode([text])[0]),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # tests name the fields they change


def question(text: str, *, meaning: bool = True, words: bool = True, **changes: object) -> CandidateRequest:
    """A request for all kinds by words and by meaning."""
    plain = CandidateRequest(
        kinds=ALL_KINDS,
        terms=parse(text).sought if words else (),
        vector=(lambda: _vector(text)) if meaning else None,
        per_sub_query=80,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # tests name the fields they change


def ids(hits: tuple[Candidate, ...]) -> set[UUID]:
    """What was found."""
    return {hit.id for hit in hits}


def _vector(text: str) -> Floats:
    vector: Floats = encoder().encode([text])[0]
    return vector
