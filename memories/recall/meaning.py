"""The vector of a query, by the one encoder that a recall uses: the installation's, or the bundled one in its place.

No recall compares vectors of two encoders. The bundled one takes its place if the endpoint of the installation's does
not answer, and while memories that the member may read are re-embedded: then what has a bundled vector is compared by
that, and the candidates closest in words are encoded for the recall (`candidates.py`). The trace names the encoder, and
why it stood in.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from memories.embedding import EmbeddingEndpoint, Encoder, Floats, bundled_encoder, embedding_endpoint
from memories.errors import SearchUnavailable
from memories.search import search_plane
from memories.search.base import readable_by
from memoryhub.json_endpoint import EndpointFault, RequestRefused
from tenants.principal import Principal


class StoodIn(StrEnum):
    """Why the bundled encoder took the place of the installation's; NO if it did not."""

    NO = ""
    RE_EMBEDDING = "memories are being re-embedded"
    NO_ANSWER = "the endpoint did not answer"


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector, its encoder, and the tokens that an endpoint counted for it."""

    vector: Floats
    encoder: str
    stood_in: StoodIn = StoodIn.NO
    tokens: int = 0


def query_vector(principal: Principal, text: str) -> QueryVector:
    """Encode a query. An endpoint that fails raises nothing."""
    remote = embedding_endpoint()
    if remote is None:
        return _by_bundled(text, StoodIn.NO)
    if not _is_embedded(principal, remote.name):
        return _by_bundled(text, StoodIn.RE_EMBEDDING)
    try:
        made = remote.query(text, (principal.tenant_id, principal.user_id))
    except (EndpointFault, RequestRefused):
        return _by_bundled(text, StoodIn.NO_ANSWER)
    return QueryVector(made.vectors[0], remote.name, tokens=made.tokens)


def encoder_named(name: str) -> Encoder:
    """Return the encoder that a recall uses."""
    remote = embedding_endpoint()
    return remote if remote is not None and remote.name == name else bundled_encoder()


def vectors_now(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Encode texts that a recall waits for."""
    if isinstance(encoder, EmbeddingEndpoint):
        return encoder.embed_now(texts).vectors
    return encoder.encode(texts)


def _by_bundled(text: str, why: StoodIn) -> QueryVector:
    encoder = bundled_encoder()
    return QueryVector(np.asarray(encoder.encode([text])[0], np.float32), encoder.name, why)


def _is_embedded(principal: Principal, encoder: str) -> bool:
    """True if all that the principal may read has vectors of this encoder, as far as the search plane knows."""
    made_with: set[str | None] = set()
    with suppress(SearchUnavailable):
        made_with = {search_plane().encoder_of(owner) for owner in readable_by(principal)}
    return made_with <= {encoder, None}
