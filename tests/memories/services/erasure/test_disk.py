"""What the database keeps of deleted rows is cleared, where it can be, and the receipt says what was done."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from memories.services.erasure import copies
from memories.services.erasure.copies import FileInUse, clear_disk

pytestmark = pytest.mark.django_db(transaction=True)

DONE: dict[str, dict[str, object]] = {
    "sqlite": {"database": "sqlite", "file_rewritten": True},
    "postgresql": {"database": "postgresql", "vacuumed": ["memories_fact", "memories_message"]},
}
NOTHING: dict[str, dict[str, object]] = {
    "sqlite": {"database": "sqlite", "file_rewritten": False},
    "postgresql": {"database": "postgresql", "vacuumed": []},
}


def test_each_database_does_what_it_can() -> None:
    tables = {"memories_message", "memories_fact"}
    assert clear_disk(tables) == DONE[connection.vendor]
    with transaction.atomic():
        assert clear_disk(tables) == NOTHING[connection.vendor]


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="only SQLite has a file of its own to write anew")
def test_a_file_in_use_puts_the_erasure_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(copies, "rewrite_file", lambda: False)
    with pytest.raises(FileInUse):
        clear_disk(())
