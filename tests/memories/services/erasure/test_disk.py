"""What the database keeps of deleted rows is cleared, where it can be, and the receipt says what was done."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from memories.services.erasure import copies
from memories.services.erasure.copies import FileInUse, clear_disk
from memoryhub.db.row_security import MAINTAIN_SINCE

pytestmark = pytest.mark.django_db(transaction=True)

DONE: dict[str, dict[str, object]] = {
    "sqlite": {"database": "sqlite", "file_rewritten": True},
    "postgresql": {
        "database": "postgresql",
        "vacuumed": ["memories_fact", "memories_message"],
        "left_to_autovacuum": [],
    },
}
NOTHING: dict[str, dict[str, object]] = {
    "sqlite": {"database": "sqlite", "file_rewritten": False},
    "postgresql": {
        "database": "postgresql",
        "vacuumed": [],
        "left_to_autovacuum": ["memories_fact", "memories_message"],
    },
}


def test_each_database_does_what_it_can() -> None:
    tables = {"memories_message", "memories_fact"}
    may_vacuum = connection.vendor == "sqlite" or connection.get_database_version() >= MAINTAIN_SINCE
    assert clear_disk(tables) == (DONE if may_vacuum else NOTHING)[connection.vendor]
    with transaction.atomic():
        assert clear_disk(tables) == NOTHING[connection.vendor]


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="only SQLite has a file of its own to write anew")
def test_a_file_in_use_puts_the_erasure_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(copies, "rewrite_file", lambda: False)
    with pytest.raises(FileInUse):
        clear_disk(())
