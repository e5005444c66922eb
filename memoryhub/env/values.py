"""The types of the environment's variables: the choices, and validated values.

An error says what to give instead and never repeats the value.
"""

from __future__ import annotations

import base64
import re
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import dj_database_url
from cryptography.fernet import Fernet
from pydantic import AfterValidator, BeforeValidator, SecretStr


class Mode(StrEnum):
    """`development` serves plain HTTP on this machine; `production` is served behind TLS."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


class JobRunner(StrEnum):
    """Who runs the background jobs: one worker process, Celery, or nobody."""

    WORKER = "worker"
    CELERY = "celery"
    OFF = "off"


class Recording(StrEnum):
    """When a recall writes its trace and use counts: behind the answer, or before it returns."""

    BACKGROUND = "background"
    INLINE = "inline"


class Consolidate(StrEnum):
    """When episodes are consolidated by themselves."""

    TURN = "turn"
    BATCH = "batch"
    OFF = "off"


class Search(StrEnum):
    """Which search plane finds candidates."""

    EMBEDDED = "embedded"
    ELASTICSEARCH = "elasticsearch"


class TuneRecall(StrEnum):
    """What a daily job does with recall thresholds that recorded use suggests."""

    OFF = "off"
    PROPOSE = "propose"
    APPLY = "apply"


class LogFormat(StrEnum):
    """How a log line is written."""

    LINE = "line"
    JSON = "json"


SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"
DATABASE_ENGINES = frozenset({SQLITE, POSTGRESQL})
# The indices of a cluster: one for each kind of memory (memories.types.Kind), and the archive. Their names stand in the
# names of indices and aliases.
ARCHIVE = "archive"
INDEX_NAMES = ("episodic", "semantic", "procedural", "catalog", ARCHIVE)
MIN_TOKEN_CHARACTERS = 32
ED25519_KEY_BYTES = 32


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _names_only(hosts: tuple[str, ...]) -> tuple[str, ...]:
    if any("/" in host or "*" in host for host in hosts):
        raise ValueError("give host names such as memory.example.org, without https:// and without a wildcard")
    return hosts


def _origins_only(origins: tuple[str, ...]) -> tuple[str, ...]:
    if not all(_is_http_url(origin) and not urlsplit(origin).path for origin in origins):
        raise ValueError("give origins such as https://memory.example.org, without a path")
    return origins


def _nodes_only(urls: tuple[str, ...]) -> tuple[str, ...]:
    if any(not _is_http_url(url) or "@" in url for url in urls):
        raise ValueError("give addresses such as https://search.example.org:9200, without user and password")
    return urls


def _index_name(prefix: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", prefix):
        raise ValueError("give lower case letters, digits and single hyphens, such as memoryhub")
    if not set(INDEX_NAMES).isdisjoint(prefix.split("-")[1:]):
        raise ValueError(f"leave {', '.join(INDEX_NAMES)} out: another installation's patterns would match")
    return prefix


def _importable(package: str) -> str:
    if package == "none":
        return ""
    try:
        found = find_spec(package) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise ValueError("give a package that can be imported, such as memories.english, or none")
    return package


def _native_user(credential: SecretStr) -> SecretStr:
    if credential and ":" not in credential.get_secret_value():
        raise ValueError("give user:password; a key that an API key makes has no rights of its own")
    return credential


def _fernet_keys(keys: SecretStr) -> SecretStr:
    for key in filter(None, keys.get_secret_value().split(",")):
        try:
            Fernet(key.strip())
        except ValueError as error:
            raise ValueError(
                "give keys such as python -c"
                ' "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())" prints'
            ) from error
    return keys


def _signing_keys(keys: SecretStr) -> SecretStr:
    for key in filter(None, map(str.strip, keys.get_secret_value().split(","))):
        try:
            raw = base64.b64decode(key, altchars=b"-_", validate=True)
        except ValueError:
            raw = b""
        if len(raw) != ED25519_KEY_BYTES:
            raise ValueError("give keys such as `manage.py signing_keys new` prints")
    return keys


def _long_enough(token: SecretStr) -> SecretStr:
    if token and len(token.get_secret_value()) < MIN_TOKEN_CHARACTERS:
        raise ValueError(
            f"give a random value of {MIN_TOKEN_CHARACTERS} characters or more, such as"
            ' python -c "import secrets; print(secrets.token_urlsafe(48))" prints'
        )
    return token


def _redis_only(url: SecretStr) -> SecretStr:
    if url and urlsplit(url.get_secret_value()).scheme not in {"redis", "rediss"}:
        raise ValueError("give redis://host:port/number, or rediss:// with TLS")
    return url


def _http_only(url: str) -> str:
    if url and not _is_http_url(url):
        raise ValueError("give an http:// or https:// address such as https://host/v1")
    return url


def _known_database(url: SecretStr) -> SecretStr:
    try:
        engine = dj_database_url.parse(url.get_secret_value()).get("ENGINE") if url else ""
    except ValueError:
        engine = None
    if engine not in {"", *DATABASE_ENGINES}:
        raise ValueError("give postgres://user:password@host/name or sqlite:///path")
    return url


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


Hosts = Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_names_only)]
Origins = Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_origins_only)]
Nodes = Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_nodes_only)]
Prefix = Annotated[str, AfterValidator(_index_name)]
RulePackage = Annotated[str, AfterValidator(_importable)]
UserCredential = Annotated[SecretStr, AfterValidator(_native_user)]
FernetKeys = Annotated[SecretStr, AfterValidator(_fernet_keys)]
SigningKeys = Annotated[SecretStr, AfterValidator(_signing_keys)]
Token = Annotated[SecretStr, AfterValidator(_long_enough)]
BrokerUrl = Annotated[SecretStr, AfterValidator(_redis_only)]
HttpUrl = Annotated[str, AfterValidator(_http_only)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_known_database)]
AbsolutePath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
