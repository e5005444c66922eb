"""What is erased leaves the files of the search cluster, too."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

from memories.search.elasticsearch.plane import ElasticsearchPlane
from memories.search.elasticsearch.queries import ARCHIVE
from memories.types import Kind, Status
from memoryhub.elasticsearch import Identity, reading_alias, service_client
from tests.cluster import given_address, node_of_run
from tests.memories.search.library import document, own, shared, somebody

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("elasticsearch")]

# The cluster keeps what was removed for its replicas, and looks every half minute whether it still has to.
WAIT_SECONDS = 120.0


@pytest.fixture
def files() -> Path:
    """Where the node of this run keeps its indices."""
    if given_address() is not None:
        pytest.skip("the cluster that the environment names keeps its files elsewhere")
    return node_of_run().folder / "data"


def holding(files: Path, word: str) -> Iterator[Path]:
    """The files in which the word stands; one that is merged away while we look has nothing.

    Its middle is looked for: an index keeps the beginning that a word shares with its neighbour only once.
    """
    middle = word[4:16].encode()
    for path in files.rglob("*"):
        try:
            if path.is_file() and middle in path.read_bytes():
                yield path
        except FileNotFoundError:
            continue


def test_no_byte_of_an_erased_text_stays_on_the_disk(files: Path) -> None:
    plane, ada, bob = ElasticsearchPlane(), somebody(), somebody()
    words = {who: "".join(random.choices(ascii_lowercase, k=20)) for who in (ada, bob)}
    plane.upsert([document(own(who), f"Keeps a parrot named {word}") for who, word in words.items()])
    archived = {"status": Status.SUPERSEDED, "version": 3, "archived": True}
    plane.upsert([document(own(who), f"Kept a parrot named {word}", **archived) for who, word in words.items()])
    plane.upsert([document(shared(ada), "The office is blue")])
    plane.settle()
    for index_name in (Kind.SEMANTIC, ARCHIVE):
        service_client(Identity.SETUP).indices.flush(index=f"{reading_alias(index_name)}-*", force=True)
    assert len({path.parts[-4] for path in holding(files, words[ada])}) > 1, "in both indices"
    plane.erase_owner(own(ada))
    give_up = time.monotonic() + WAIT_SECONDS
    while list(holding(files, words[ada])) and time.monotonic() < give_up:
        time.sleep(5)
        plane.expunge()
    assert not list(holding(files, words[ada]))
    assert list(holding(files, words[bob]))
