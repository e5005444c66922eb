"""Writes the environment file of compose.yaml, with a random value for every secret.

    python3 deploy/make_env.py memory.example.org

It refuses to overwrite a file, whose secrets may be in use, and makes the file readable by its owner only. No secret is
printed. Uses only the standard library, because it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

PASSWORDS = (
    ("POSTGRES_SUPERUSER_PASSWORD", "administers PostgreSQL"),
    ("POSTGRES_PASSWORD", "the role that migrates PostgreSQL's tables and owns them"),
    ("POSTGRES_APP_PASSWORD", "the role that serves, which owns nothing"),
    ("REDIS_PASSWORD", "the broker"),
    ("ELASTICSEARCH_SETUP_PASSWORD", "the superuser `elastic`: for Elasticsearch itself and the setup service alone"),
    ("ELASTICSEARCH_INDEXER_PASSWORD", "writes documents"),
    ("ELASTICSEARCH_MINTER_PASSWORD", "makes the members' keys"),
    ("ELASTICSEARCH_MANAGER_PASSWORD", "makes indices; for commands"),
    ("ELASTICSEARCH_CHECKER_PASSWORD", "compares indices with the database; for commands"),
)
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.IGNORECASE)


def password() -> str:
    """A random password; hexadecimal, so it needs no quoting in URLs and shells."""
    return secrets.token_hex(24)


def fernet_key() -> str:
    """A key in the form of `cryptography.fernet.Fernet.generate_key` and of `manage.py signing_keys new`."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def contents(host: str, new_password: Callable[[], str] = password) -> str:
    """The file's text for an installation that is reached as `host`."""
    lines = [
        "# Secrets of this installation, read by compose.yaml. Keep a copy apart from the backups of the database:",
        "# the members' keys in it cannot be read without MEMORYHUB_CREDENTIAL_KEYS, nor the originals of masked texts",
        "# without MEMORYHUB_ORIGINAL_KEYS. docs/deploy.md, Backups.",
        "",
        "# Host names that are served, separated by commas",
        f"MEMORYHUB_ALLOWED_HOSTS={host}",
        "",
        "# Signs sessions and forms",
        f"MEMORYHUB_SECRET_KEY={secrets.token_urlsafe(64)}",
        "# Encrypt the members' search keys: the first encrypts, all decrypt",
        f"MEMORYHUB_CREDENTIAL_KEYS={fernet_key()}",
        "# Encrypt originals of masked texts, where a tenant keeps them: the first encrypts, all decrypt",
        f"MEMORYHUB_ORIGINAL_KEYS={fernet_key()}",
        "# Sign exports and receipts of erasure: the first signs, all verify",
        f"MEMORYHUB_SIGNING_KEYS={fernet_key()}",
        "# Make the digests of the audit log: the first makes them, all check them",
        f"MEMORYHUB_AUDIT_KEYS={fernet_key()}",
        "# With which Prometheus reads /metrics",
        f"MEMORYHUB_METRICS_TOKEN={secrets.token_urlsafe(48)}",
    ]
    for name, purpose in PASSWORDS:
        lines += ["", f"# Password: {purpose}", f"{name}={new_password()}"]
    lines += ["", "# A language model (docs/configuration.md); without one an offline responder answers"]
    lines += ["MEMORYHUB_MODEL=", "OPENAI_BASE_URL=", "OPENAI_API_KEY="]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file, or exit with the reason why not."""
    parser = argparse.ArgumentParser(description="Write an environment file with random secrets for compose.yaml.")
    parser.add_argument("host", help="the name by which people reach the site, such as memory.example.org")
    parser.add_argument("--file", type=Path, default=Path(__file__).resolve().parent.parent / ".env")
    options = parser.parse_args()
    if not _HOST.fullmatch(options.host):
        parser.error("give a host name such as memory.example.org, without https://")
    try:
        descriptor = os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.exit(f"{options.file} is there already and stays as it is: its secrets may be in use.")
    with os.fdopen(descriptor, "w") as file:
        file.write(contents(options.host))
    sys.stdout.write(f"Wrote {options.file}. Keep a copy of it in a safe place.\n")


if __name__ == "__main__":
    main()
