"""Where the parts of the embedded plane lie: a file for each owner, in a folder for each tenant.

Invariant: a path is made of UUIDs and fixed words only, so no text of anybody can name a file, and an owner names one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from memories.types import Owner

SUFFIX = ".sqlite3"
_GLOBAL = f"global{SUFFIX}"
_SHARED = f"shared{SUFFIX}"


def path_of(root: Path, owner: Owner) -> Path:
    """The file of `owner`. Raises ValueError for a user without a tenant, or for what is not a UUID."""
    if not all(part is None or isinstance(part, UUID) for part in (owner.tenant_id, owner.user_id)):
        raise ValueError("An owner is named by UUIDs.")
    if owner.tenant_id is None:
        if owner.user_id is not None:
            raise ValueError("A user belongs to a tenant.")
        return root / _GLOBAL
    return root / str(owner.tenant_id) / (f"{owner.user_id}{SUFFIX}" if owner.user_id else _SHARED)


def owners_in(root: Path) -> Iterator[Owner]:
    """The owners that have a file; anything else in the folder is left alone."""
    if (root / _GLOBAL).exists():
        yield Owner(None, None)
    for path in sorted(root.glob(f"*/*{SUFFIX}")):
        try:
            tenant_id = UUID(path.parent.name)
            yield Owner(tenant_id, None if path.name == _SHARED else UUID(path.stem))
        except ValueError:
            continue
