"""The secrets of a development checkout: made once, kept in the data folder, readable by their owner only."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path


def development_key(data_dir: Path) -> str:
    """The secret that signs sessions and forms. Raises OSError when the folder cannot be written."""
    return _secret(data_dir / "secret_key", 64)


def development_credential_key(data_dir: Path) -> str:
    """The Fernet key that encrypts members' search keys. Raises OSError."""
    return _secret(data_dir / "credential_key", 32)


def development_original_key(data_dir: Path) -> str:
    """The Fernet key that encrypts originals of masked texts. Raises OSError."""
    return _secret(data_dir / "original_key", 32)


def development_signing_key(data_dir: Path) -> str:
    """The Ed25519 key that signs exports and receipts. Raises OSError."""
    return _secret(data_dir / "signing_key", 32)


def _secret(path: Path, size: int) -> str:
    """Random bytes in base64, made on first use. Processes that start together agree: the file appears complete."""
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
