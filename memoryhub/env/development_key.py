"""The secrets of a development checkout: made once, kept in the data folder, readable by their owner only."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet

FILE_NAME = "secret_key"
CREDENTIAL_FILE_NAME = "credential_key"
ORIGINAL_FILE_NAME = "original_key"
SIGNING_FILE_NAME = "signing_key"


def development_key(data_dir: Path) -> str:
    """The signing key in `data_dir`, made on first use. Raises OSError when the folder cannot be written."""
    return _kept(data_dir / FILE_NAME, lambda: secrets.token_urlsafe(64))


def development_credential_key(data_dir: Path) -> str:
    """The Fernet key in `data_dir` that encrypts members' search keys, made on first use. Raises OSError."""
    return _kept(data_dir / CREDENTIAL_FILE_NAME, lambda: Fernet.generate_key().decode())


def development_original_key(data_dir: Path) -> str:
    """The Fernet key in `data_dir` that encrypts originals of masked texts, made on first use. Raises OSError."""
    return _kept(data_dir / ORIGINAL_FILE_NAME, lambda: Fernet.generate_key().decode())


def development_signing_key(data_dir: Path) -> str:
    """The Ed25519 key in `data_dir` that signs exports and receipts, made on first use. Raises OSError."""
    return _kept(data_dir / SIGNING_FILE_NAME, lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())


def _kept(path: Path, make: Callable[[], str]) -> str:
    """What the file holds. It appears complete or not at all: processes that start together agree on one secret."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass  # another process was first; its secret is the one to use
        finally:
            draft.unlink()
    return path.read_text()
