"""Browser sessions under a digest of their key, so that nobody signs in with what a copy of the database holds.

The cookie is the key. Django's table of sessions and allauth's list of them hold its digest: the store makes it for the
one, and `keep_digests` has the column of the other make it. A key that was read from that column is a `StoredKey`,
which the store takes as it is. A cookie is a plain string, so a digest in a cookie finds nothing.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from allauth.core import context
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from allauth.usersessions.models import UserSession
    from django.contrib.sessions.base_session import AbstractBaseSession

# Hexadecimal digits of the digest, which are all that the columns hold: 160 bits, about as many as a key has.
_DIGITS = 40


class StoredKey(str):
    """The digest of a session key, read from the database."""

    __slots__ = ()


def digest(key: str) -> str:
    """What the database holds for this key."""
    if isinstance(key, StoredKey):
        return str(key)
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


class SessionStore(db.SessionStore):
    """Django's store in the database, with digests of keys as primary keys."""

    # In place of Django's asynchronous methods, which name the keys themselves, those that call the ones below.
    aexists, aload, acreate, asave, adelete = (
        SessionBase.aexists,
        SessionBase.aload,
        SessionBase.acreate,
        SessionBase.asave,
        SessionBase.adelete,
    )

    def exists(self, session_key: str) -> bool:
        """Whether there is a session with this key."""
        return super().exists(digest(session_key))

    def load(self) -> dict[str, Any]:
        """What the session holds; empty, and without a key, if it is over."""
        key = digest(self.session_key or "")
        row = self.model.objects.filter(session_key=key, expire_date__gt=timezone.now()).first()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row.session_data)

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """The row of this session."""
        row = super().create_model_instance(data)
        row.session_key = digest(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session with this key, or this one."""
        if key := session_key or self.session_key:
            super().delete(digest(key))


class _DigestField(models.CharField[str, str]):
    """A column of session keys that holds their digests."""

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else digest(value)

    def from_db_value(self, value: str | None, *_: object) -> StoredKey | None:
        return None if value is None else StoredKey(value)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """As Django's own field: the column is as its app's migrations made it."""
        name, _, positional, named = super().deconstruct()
        return name, "django.db.models.CharField", positional, named


def keep_digests(listed: type[UserSession]) -> None:
    """Have allauth's list of sessions hold digests. Called once, when the models are there."""
    listed._meta.get_field("session_key").__class__ = _DigestField
    listed.is_current = _is_current


def _is_current(listed: UserSession) -> bool:
    return digest(listed.session_key) == digest(context.request.session.session_key or "")
