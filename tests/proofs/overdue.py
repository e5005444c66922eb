"""Facts whose time is over, for a member who is made with them: `python -m tests.proofs.overdue 400`."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memories.importing import MemoryRecord  # noqa: E402 - after the set-up
from memories.services.portability.memories_import import import_memories  # noqa: E402
from memories.types import Kind, Status  # noqa: E402
from tenants.principals import system_principal  # noqa: E402
from tenants.services import add_member, create_tenant, create_user  # noqa: E402

NOW = datetime.now(UTC)


def ago(days: int) -> datetime:
    return NOW - timedelta(days=days)


def records(count: int) -> Iterator[MemoryRecord]:
    """Facts that are to be evicted, archived, doubted and erased, and some that stay."""
    for number in range(count // 5):
        old = {"kind": Kind.SEMANTIC, "learned_at": ago(400)}
        yield MemoryRecord(text=f"Expired {number}", expires_at=ago(1), **old)  # type: ignore[arg-type]  # as named
        yield MemoryRecord(text=f"Doubtful {number}", confidence=0.1, **old)  # type: ignore[arg-type]
        yield MemoryRecord(text=f"Was at {number}", key=f"place_{number}", **old)  # type: ignore[arg-type]
        yield MemoryRecord(kind=Kind.SEMANTIC, text=f"Is at {number}", key=f"place_{number}", learned_at=ago(200))
        yield MemoryRecord(text=f"Erased {number}", status=Status.EVICTED, evicted_at=ago(40), **old)  # type: ignore[arg-type]


def main() -> None:
    """Make the member and import the facts."""
    name = uuid.uuid4().hex[:12]
    member = add_member(tenant=create_tenant(name=name, slug=name), user=create_user(username=name))
    import_memories(system_principal(member), list(records(int(sys.argv[1]))))


if __name__ == "__main__":
    main()
