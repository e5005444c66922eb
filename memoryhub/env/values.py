"""Validated types of the environment's variables, and the secrets of a development checkout.

Error messages say what to give instead and never repeat the value.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections.abc import Callable
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import dj_database_url
from cryptography.fernet import Fernet
from pydantic import AfterValidator, BeforeValidator, SecretStr

from memoryhub.installation import PROGRAM

SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"
DATABASE_ENGINES = frozenset({SQLITE, POSTGRESQL})
# Elasticsearch indices: one per kind (memories.types.Kind), and the archive. The names are part of the names
# of indices and aliases.
ARCHIVE = "archive"
INDEX_NAMES = ("episodic", "semantic", "procedural", "catalog", "item", ARCHIVE)
MIN_TOKEN_CHARACTERS = 32
LAST_PORT = 65_535
ED25519_KEY_BYTES = 32


def _must(be_good: Callable[[str], bool], hint: str) -> AfterValidator:
    """A validator of a string, of each string in a tuple, or of a secret that is set; `hint` is the error."""

    def checked(value: Any) -> Any:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not all(map(be_good, text if isinstance(text, tuple) else filter(None, [text]))):
            raise ValueError(hint)
        return value

    return AfterValidator(checked)


def comma_separated(text: str) -> tuple[str, ...]:
    """The non-empty parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def is_local(host: str) -> bool:
    """Whether a host is this machine: loopback, or none or a folder, which mean a socket."""
    try:
        return not host or host.startswith("/") or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address such as 127.0.0.1:8001 or [::1]:8001. Raises ValueError."""
    host, _, port = address.rpartition(":")
    if not host or not 1 <= int(port) <= LAST_PORT:
        raise ValueError("no address")
    return host.strip("[]"), int(port)


def _is_address(text: str) -> bool:
    try:
        return bool(host_and_port(text))
    except ValueError:
        return False


def _is_importable(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _is_known_database(url: str) -> bool:
    try:
        return dj_database_url.parse(url).get("ENGINE") in DATABASE_ENGINES
    except ValueError:
        return False


def _is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True


def _is_signing_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, altchars=b"-_", validate=True)) == ED25519_KEY_BYTES
    except ValueError:
        return False


def _pair(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) not in (0, 2) or not all(re.fullmatch(r"[.\w-]{1,200}", name, re.ASCII) for name in names):
        raise ValueError("give the ids of two inference endpoints, of embeddings and of a reranker, as one,other")
    return names


_SPLIT = BeforeValidator(lambda value: comma_separated(value) if isinstance(value, str) else value)


def _is_network(text: str) -> bool:
    try:
        return bool(ip_network(text))
    except ValueError:
        return False


Networks = Annotated[
    tuple[str, ...], _SPLIT, _must(_is_network, "needs networks as 10.0.0.0/8 or fd00::/8, separated by commas")
]
Hosts = Annotated[
    tuple[str, ...],
    _SPLIT,
    _must(
        lambda host: "/" not in host and "*" not in host,
        "give host names such as memory.example.org, without https:// and without a wildcard",
    ),
]
Origins = Annotated[
    tuple[str, ...],
    _SPLIT,
    _must(
        lambda origin: _is_http_url(origin) and not urlsplit(origin).path,
        "give origins such as https://memory.example.org, without a path",
    ),
]
Nodes = Annotated[
    tuple[str, ...],
    _SPLIT,
    _must(
        lambda url: _is_http_url(url) and "@" not in url,
        "give addresses such as https://search.example.org:9200, without user and password",
    ),
]
InferencePair = Annotated[tuple[str, ...], _SPLIT, AfterValidator(_pair)]
Prefix = Annotated[
    str,
    _must(
        lambda prefix: re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", prefix) is not None,
        "give lower case letters, digits and single hyphens, such as memoryhub",
    ),
    _must(
        lambda prefix: set(INDEX_NAMES).isdisjoint(prefix.split("-")[1:]),
        f"leave {', '.join(INDEX_NAMES)} out: another installation's patterns would match",
    ),
]
RulePackage = Annotated[
    str,
    BeforeValidator(lambda package: "" if package == "none" else package),
    _must(_is_importable, "give a package that can be imported, such as memories.english, or none"),
]
Address = Annotated[str, _must(_is_address, "give an address and a port to listen on, such as 127.0.0.1:8001")]
UserCredential = Annotated[
    SecretStr,
    _must(
        lambda credential: ":" in credential, "give user:password; a key that an API key makes has no rights of its own"
    ),
]
FernetKeys = Annotated[
    SecretStr,
    _must(
        lambda keys: all(map(_is_fernet_key, comma_separated(keys))),
        'give keys such as python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
        " prints",
    ),
]
SigningKeys = Annotated[
    SecretStr,
    _must(
        lambda keys: all(map(_is_signing_key, comma_separated(keys))),
        f"give keys such as `{PROGRAM} signing_keys new` prints",
    ),
]
Token = Annotated[
    SecretStr,
    _must(
        lambda token: len(token) >= MIN_TOKEN_CHARACTERS,
        f"give a random value of {MIN_TOKEN_CHARACTERS} characters or more, such as"
        ' python -c "import secrets; print(secrets.token_urlsafe(48))" prints',
    ),
]
BrokerUrl = Annotated[
    SecretStr,
    _must(
        lambda url: urlsplit(url).scheme in {"redis", "rediss"},
        "give redis://host:port/number, or rediss:// with TLS",
    ),
]
MailUrl = Annotated[
    SecretStr,
    _must(
        lambda url: urlsplit(url).scheme in {"smtp", "smtps"} and bool(urlsplit(url).hostname),
        "give smtp://user:password@host:587, or smtps:// for TLS from the first byte",
    ),
]
HttpUrl = Annotated[str, _must(_is_http_url, "give an http:// or https:// address such as https://host/v1")]
DatabaseUrl = Annotated[
    SecretStr, _must(_is_known_database, "give postgres://user:password@host/name or sqlite:///path")
]
AbsolutePath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]


def development_secret(data_dir: Path, name: str, *, size: int = 32) -> str:
    """Random bytes in base64, kept in a file that only its owner can read; created on first use. Raises OSError.

    Processes that start together get the same secret, because the complete file is linked into place.
    """
    path = data_dir / name
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(base64.urlsafe_b64encode(secrets.token_bytes(size)).decode())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass  # another process was first; its secret is the one to use
        finally:
            draft.unlink()
    return path.read_text()
