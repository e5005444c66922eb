"""No byte of an erased member stays: in the database's files, the index's, the log at DEBUG, or the spans.

They are erased in the middle of an answer that a model on a socket streams, and of a consolidation that it is asked
for. The long twin, with a server of its own and kills: tests/proofs/test_erasing_members.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from django.db import connection, connections
from pytest_django import Settings

from memories.agent.loop import run_turn
from memories.consolidation.material import Extraction, Material, ProposedFact
from memories.models import ErasureRequest, Fact, RequestState
from memories.recall import recording
from memories.search.outbox import drain
from memories.services.consolidation.running import consolidate
from memories.services.erasure.receipt import stored_receipt, verify_receipt
from memories.services.erasure.requests import ask_erasure
from memories.services.erasure.stages import carry_out
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from tenants.errors import TenantsError
from tenants.models import Membership
from tenants.principal import SYSTEM
from tests.collector import collecting
from tests.factories import MakeMember, own_principal
from tests.memories.services.erasure.life import live
from tests.openai_server import KEY, Say, openai_server

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="the files of a server are its own affair"),
]

WORD, OTHER = "qumranshelf", "lisbonshelf"


def holding(word: str, index: Path) -> list[str]:
    """The files of database and index in which the word stands."""
    database = Path(str(connection.settings_dict["NAME"]))
    files = [*database.parent.glob(f"{database.name}*"), *index.rglob("*")]
    return [path.name for path in files if path.is_file() and word.encode() in path.read_bytes().lower()]


def crowd(*members: Membership) -> None:
    """Rows of several members in the same pages of the file: these move their rows about as they fill."""
    words = {members[0].pk: WORD, members[1].pk: OTHER}
    Fact.objects.bulk_create(
        Fact(
            tenant=member.tenant,
            user=member.user,
            text=f"{words[member.pk]} {number} " * (1 + number % 7),
            content_hash=f"{member.pk}{number}"[-64:],
        )
        for number in range(150)
        for member in members
    )
    # Longer rows find no room where they were.
    Fact.objects.update(embedding=bytes(384))
    Fact.objects.filter(pk__in=list(Fact.objects.values_list("pk", flat=True)[::2])).update(embedding=bytes(1500))
    Fact.objects.update(embedding=None)


class Interrupting(Say):
    """An answer in the middle of which something happens."""

    happens: Callable[[], object]

    def chunks(self) -> Iterator[bytes]:
        """The stream."""
        chunks = list(super().chunks())
        yield from chunks[:3]
        self.happens()
        yield from chunks[3:]


def interrupted(stream: Say, happens: Callable[[], object]) -> Interrupting:
    """The same answer, in the middle of which something happens."""
    answer = Interrupting(stream.pieces)
    object.__setattr__(answer, "happens", happens)
    return answer


@pytest.mark.long
def test_nothing_stays_of_a_member_who_is_erased_in_the_middle_of_everything(
    index_dir: Path, make_member: MakeMember, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ada, bob = make_member(name="Ada"), make_member(name="Bob")
    live(own_principal(ada), WORD)
    live(own_principal(bob), OTHER)
    crowd(ada, bob)
    drain()
    assert len(holding(WORD, index_dir)) > 1, "in the database and in the index"
    caplog.clear()
    request = ask_erasure(SYSTEM, membership_id=ada.pk, reason="asked by letter")
    with collecting() as collector:
        in_the_middle(ada, settings, lambda: carry_out(request.pk))
        recording.flush()
        drain()
        spans = list(collector.bodies)
    told = caplog.text.casefold().encode()
    assert ErasureRequest.objects.get().state == RequestState.DONE
    assert holding(WORD, index_dir) == []
    assert WORD.encode() not in told and not any(WORD.encode() in body.lower() for body in spans)
    assert Fact.objects.filter(user=bob.user, text__contains=OTHER).exists()
    assert verify_receipt(stored_receipt(request.pk)).ok


def in_the_middle(member: Membership, settings: Settings, erase: Callable[[], bool]) -> None:
    """Have a consolidation read; while it does, have a model answer a turn; while it speaks they are erased."""
    principal = own_principal(Membership.objects.select_related("tenant", "user").get(pk=member.pk))
    remember_episode(principal, text=f"And a boat in {WORD}", session_id=start_session(principal).pk)
    done: list[bool] = []

    def erased() -> None:
        done.append(erase())
        connections.close_all()

    with openai_server(interrupted(Say([f"{WORD} {number} " for number in range(9)]), erased)) as server:
        settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "m", server.base_url, KEY
        turn = partial(run_turn, principal, text=f"Tell me of {WORD} once more")
        with pytest.raises(TenantsError):
            consolidate(principal, extractor=Conversing(lambda: list(turn())))
    assert done == [True]


class Conversing:
    """An extractor while which there is a conversation: what it proposes comes too late."""

    name = "conversing"

    def __init__(self, converse: Callable[[], object]) -> None:
        self._converse = converse

    def extract(self, material: Material) -> Extraction:
        """See Extractor."""
        self._converse()
        facts = tuple(ProposedFact(each.text, (each.id,)) for each in material.episodes)
        return Extraction(facts, {"facts": [fact.text for fact in facts]})
