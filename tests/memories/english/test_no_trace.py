"""Whatever became of what was said: after "forget that" no byte of it is left in database, log, index or audit text."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from string import ascii_lowercase
from uuid import UUID

import pytest
from django.db import connection

from memories.agent.loop import run_turn
from memories.consolidation.material import Extraction, ExtractionFault, FaultKind, Material, ProposedFact
from memories.english.responder import Responder
from memories.llm.base import ChatModel
from memories.models import Fact, Playbook
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.history.chains import verify_chains
from memories.services.consolidation import consolidate
from memories.services.facts.supersede import correct, retire
from memories.services.facts.undo import undo
from memories.types import Kind
from tenants.audit.chain import verify_all
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, call, dispose, started_of, text_of
from tests.memories.agent.conftest import say as answer
from tests.parts import about_the_embedded_plane

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the files of a server are its own affair"),
    about_the_embedded_plane,
]


class Life:
    """One owner's conversation about a word that nobody else uses, and an extractor that quotes it."""

    name = "scripted"

    def __init__(self, principal: Principal, chance: random.Random) -> None:
        self.principal = principal
        self.word = "Z" + "".join(chance.choices(ascii_lowercase, k=12))
        self.session: UUID | None = None

    def say(self, text: str, model: ChatModel | None = None) -> str:
        """Say it in the one conversation."""
        turn = run_turn(self.principal, text=text, session_id=self.session, model=model or Responder())
        events = list(turn)
        self.session = started_of(events).session_id
        return text_of(events)

    def extract(self, material: Material) -> Extraction:
        """Another wording of what was said, as a model might have it, and all that it read, quoted."""
        facts = tuple(
            ProposedFact(f"Home is {self.word} in the hills", (episode.id,), quote=episode.text)
            for episode in material.episodes
            if self.word in episode.text and "?" not in episode.text
        )
        quoted = [episode.text for episode in material.episodes] + [fact.text for fact in material.facts]
        return Extraction(facts, {"read": quoted, "facts": [fact.text for fact in facts]})

    @property
    def fact(self) -> Fact | None:
        """The current fact with the word."""
        return Fact.objects.of(self.principal).current().filter(text__contains=self.word, key="home_city").first()

    def remembered(self) -> Fact | Playbook | None:
        """Something with the word that is still in memory, current or not."""
        facts = Fact.objects.filter(text__contains=self.word)
        return facts.current().first() or facts.first() or Playbook.objects.filter(title__contains=self.word).first()


class Broken:
    """An extractor whose answer breaks off after a quote."""

    name = "broken"

    def __init__(self, life: Life) -> None:
        self._life = life

    def extract(self, _material: Material) -> Extraction:
        raise ExtractionFault("It broke off.", FaultKind.UNUSABLE, output=f'{{"facts": ["Lives in {self._life.word}')


def saying(*texts: str) -> Callable[[Life], None]:
    def step(life: Life) -> None:
        for text in texts:
            life.say(text.format(life.word))

    return step


def consolidated(life: Life) -> None:
    consolidate(life.principal, extractor=life)


def looked_up(life: Life) -> None:
    recall(life.principal, f"What is there to see in {life.word}?")
    searching = ScriptedModel(call("recall_memory", query=f"{life.word} sights"), answer("No idea."))
    life.say("Anything nice there?", searching)


def undone(life: Life) -> None:
    if (fact := life.fact) is not None:
        retire(life.principal, kind=Kind.SEMANTIC, memory_id=fact.pk, reason=f"left {life.word}")
        undo(life.principal, kind=Kind.SEMANTIC, memory_id=fact.pk)


def corrected(life: Life) -> None:
    if (fact := life.fact) is not None:
        correct(life.principal, kind=Kind.SEMANTIC, memory_id=fact.pk, text=f"Lives near {life.word}")


def noted(life: Life) -> None:
    life.say("Plan my week", ScriptedModel(call("set_task", goal=f"Move out of {life.word}"), answer("Let us see.")))
    life.say("Go on", ScriptedModel(call("observe", text=f"{life.word} is far"), answer("It is far.")))


def broken_off(life: Life) -> None:
    consolidate(life.principal, extractor=Broken(life))


STEPS: tuple[Callable[[Life], None], ...] = (
    consolidated, looked_up, undone, corrected, noted, broken_off,
    saying("Where have I lived?", "Do I live in {}?"), saying("I live in {}"), saying("we left {}, in Oslo now"),
    saying("I never lived in {}"), saying("To get to {}: take the night train, then walk up the hill"),
)  # fmt: skip


def holding(word: str, index: Path) -> Iterator[str]:
    """The files that hold the word."""
    database = Path(str(connection.settings_dict["NAME"]))
    for path in [*database.parent.glob(f"{database.name}*"), *index.rglob("*")]:
        if path.is_file() and word.casefold().encode() in path.read_bytes().lower():
            yield path.name


def told_in_tables(word: str) -> list[str]:
    """The rows that hold the word, each with its table."""
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # names come from the schema
            rows += [f"{table}: {row}" for row in cursor.fetchall() if word.casefold() in str(row).casefold()]
    return rows


@pytest.fixture(autouse=True)
def _overwriting(transactional_db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = ON")  # as the settings of the product have it


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_whatever_became_of_it_no_byte_is_left(
    principal: Principal, index_dir: Path, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    chance = random.Random(seed)
    life = Life(principal, chance)
    life.say("I live in Bristol")
    life.say(f"I moved to {life.word}")
    for step in chance.sample(STEPS, k=chance.randint(1, len(STEPS))):
        step(life)
    drain()
    assert list(holding(life.word, index_dir))
    while (row := life.remembered()) is not None:  # one thing at a time, as somebody would who still sees it
        forget = ScriptedModel(call("forget_memory", memory_ids=[row.pk]), answer(f"Shall {life.word} go?"))
        life.say(f"Forget {life.word}.", forget)
        dispose(principal)
    drain()
    assert told_in_tables(life.word) == []
    assert list(holding(life.word, index_dir)) == []
    assert life.word not in caplog.text
    assert verify_chains().ok
    assert all(report.ok for report in verify_all())
