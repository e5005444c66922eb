"""An answer about another's id must be refused in the words for an unknown id; placeholders name what is attacked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import cast
from uuid import UUID, uuid4

import pytest

from memories.errors import NotFound
from memories.types import Kind
from proof.attack import Aim, Attempt
from proof.attacks import attacks_on
from proof.baseline import Baseline
from proof.marks import Exposure, Marks
from proof.requests import ProofRequest, filled
from proof.world import Persona, Planted, ProofTenant, Resident, World

ADA, BOB = 1, 2
ID = uuid4()


def resident(number: int, marks: Marks) -> Resident:
    secret, none = marks.secret(number), cast("Resident", None)
    memory = Planted(Kind.SEMANTIC, ID if number == BOB else uuid4(), "the word is", "balcor", secret, none)  # type: ignore[arg-type]
    marks.own(number, [memory.id])
    company = ProofTenant(900, none)  # type: ignore[arg-type]
    return Resident(number, Persona.RESIDENT, company, none, none, "", "", "", [memory])  # type: ignore[arg-type]


@pytest.fixture
def attempt() -> Attempt:
    marks = Marks(random.Random(1))
    world = World(marks, (), (resident(ADA, marks), resident(BOB, marks)))
    return Attempt(world, cast("Baseline", None), attacks_on("embedded")[0], random.Random(1))


def exposures(attempt: Attempt, call: Callable[[Aim, UUID], object]) -> set[Exposure]:
    ada, bob = attempt.world.residents
    attempt.refuses(attempt.aim_of(ada, bob), call)
    assert all((each.attacker, each.owner) == (ADA, BOB) for each in attempt.findings)
    return {each.exposure for each in attempt.findings}


def refuse(_: Aim, id_: UUID) -> None:
    raise NotFound(f"There is no memory {id_}.")


def tell_apart(_: Aim, id_: UUID) -> None:
    raise NotFound("This memory is another's." if id_ == ID else "There is no such memory.")


def test_the_same_refusal_is_no_finding(attempt: Attempt) -> None:
    assert exposures(attempt, refuse) == set()
    assert exposures(attempt, lambda _, __: []) == set()


def test_another_refusal_discloses_that_the_memory_exists(attempt: Attempt) -> None:
    assert exposures(attempt, tell_apart) == {Exposure.EXISTENCE}


def test_an_answer_is_a_finding_and_so_is_the_secret_in_it(attempt: Attempt) -> None:
    assert exposures(attempt, lambda aim, _: aim.target.secret) == {Exposure.DONE, Exposure.TEXT}


def test_placeholders_are_replaced_everywhere_in_a_row() -> None:
    row = ProofRequest("POST", "/m/{memory}/", {"{alias}": ["{memory}", {"id": "{memory}", "limit": 3}]})
    assert filled(row, str.upper) == ProofRequest(
        "POST", "/m/MEMORY/", {"ALIAS": ["MEMORY", {"id": "MEMORY", "limit": 3}]}
    )
