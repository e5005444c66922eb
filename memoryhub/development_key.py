"""The signing key of a development checkout: made once, kept in the data folder, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FILE_NAME = "secret_key"


def development_key(data_dir: Path) -> str:
    """The key in `data_dir`, made on first use. Raises OSError when the folder cannot be written.

    The file appears complete or not at all: two processes that start together agree on one key.
    """
    path = data_dir / FILE_NAME
    if not path.exists():
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass  # another process was first; its key is the one to use
        finally:
            draft.unlink()
    return path.read_text()
