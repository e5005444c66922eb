"""The client of memoryhub: `Client`, and `AsyncClient` with the same methods."""

from memoryhub_client.calls import AsyncPages, Page, Pages
from memoryhub_client.client import AsyncClient, Client, etag_of
from memoryhub_client.errors import (
    ApiError,
    Blocked,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidInput,
    MemoryhubError,
    ModelUnavailable,
    NotAuthenticated,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    ServerError,
    TimedOut,
    Unavailable,
    UnexpectedAnswer,
)
from memoryhub_client.retries import Retries
from memoryhub_client.version import __version__

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncPages",
    "Blocked",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "InvalidInput",
    "MemoryhubError",
    "ModelUnavailable",
    "NotAuthenticated",
    "NotFound",
    "Page",
    "Pages",
    "PreconditionFailed",
    "QuotaExceeded",
    "Retries",
    "ServerError",
    "TimedOut",
    "Unavailable",
    "UnexpectedAnswer",
    "__version__",
    "etag_of",
]
