"""What was done to a memory, by the verb of its audit event, to follow the name of who did it."""

from __future__ import annotations

from collections.abc import Mapping

DID: Mapping[str, str] = {
    "created": "wrote it down",
    "merged": "came upon it again",
    "superseded": "replaced it",
    "retired": "retired it",
    "promoted": "copied it into a wider scope",
    "retracted": "found it to be wrong",
    "pinned": "pinned it",
    "unpinned": "unpinned it",
    "confirmed": "confirmed it",
    "unconfirmed": "took the confirmation back",
    "kept": "kept it",
    "evicted": "let it go",
    "archived": "put it into the archive",
    "unarchived": "took it out of the archive",
    "restored": "brought it back",
    "revived": "kept it after all",
    "stale": "came to doubt it",
}
