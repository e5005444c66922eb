"""The records of consolidation after an erasure: ids and verdicts stay, the extractor's words go."""

from __future__ import annotations

import pytest

from memories.consolidation.material import Extraction, Material, ProposedFact
from memories.models import ConsolidationRun, Episode, Fact
from memories.services.consolidation import consolidate
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

CANARY = "Zanzibar"


class Extract:
    """Proposes a fact from each episode, and quotes all that it was shown; `meanwhile` is forgotten as it does so."""

    name = "scripted"

    def __init__(self, principal: Principal | None = None, meanwhile: Fact | None = None) -> None:
        self.principal, self.meanwhile = principal, meanwhile

    def extract(self, material: Material) -> Extraction:
        if self.principal is not None and self.meanwhile is not None:
            forget(self.principal, kind=Kind.SEMANTIC, memory_id=self.meanwhile.pk)
        facts = tuple(ProposedFact(f"Said: {each.text}", (each.id,), quote=each.text) for each in material.episodes)
        return Extraction(
            facts, {"read": [known.text for known in material.facts], "facts": [fact.text for fact in facts]}
        )


def consolidated(principal: Principal, *texts: str, extract: Extract | None = None) -> ConsolidationRun:
    """The run that read these words."""
    session = start_session(principal).pk
    for text in texts:
        remember_episode(principal, session_id=session, text=text)
    consolidate(principal, extractor=extract or Extract())
    return ConsolidationRun.objects.latest("started_at")


def test_a_forgotten_episode_empties_the_runs_that_read_it(principal: Principal) -> None:
    other = consolidated(principal, "I like jazz")
    run = consolidated(principal, f"I live in {CANARY}", "I like tea")
    assert CANARY in str(run.output)
    forget(principal, kind=Kind.EPISODIC, memory_id=Episode.objects.get(text__contains=CANARY).pk)
    run.refresh_from_db()
    assert run.output == {"erased": True}
    assert [line["verdict"] for line in run.decisions] == ["created", "created"]
    assert "jazz" in str(ConsolidationRun.objects.get(pk=other.pk).output)


def test_a_forgotten_fact_empties_the_runs_that_wrote_it_or_were_shown_it(principal: Principal) -> None:
    consolidated(principal, f"I live in {CANARY}")
    consolidated(principal, f"It is hot in {CANARY}")
    fact = Fact.objects.get(text=f"Said: I live in {CANARY}")
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact.pk)
    assert [run.output for run in ConsolidationRun.objects.all()] == [{"erased": True}] * 2


def test_a_failed_run_that_quotes_it_is_emptied(principal: Principal) -> None:
    run = consolidated(principal, "I like tea")
    ConsolidationRun.objects.update(output={"unusable": f'{{"facts": ["Lives in {CANARY}'}, input={}, decisions=[])
    fact = remember_fact(principal, text=f"Lives in {CANARY}").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    run.refresh_from_db()
    assert run.output == {"erased": True}


def test_what_is_forgotten_while_a_run_reads_is_not_put_on_record(principal: Principal) -> None:
    remember_fact(principal, text=f"Lives in {CANARY}", key="home_city")
    extract = Extract(principal, Fact.objects.get())
    assert consolidated(principal, "I like tea", extract=extract).output == {"erased": True}


def test_another_members_runs_stay(principal: Principal, other_member: Principal) -> None:
    theirs = consolidated(other_member, f"I live in {CANARY}")
    fact = remember_fact(principal, text=f"Lives in {CANARY}").memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact, sources=True)
    assert CANARY in str(ConsolidationRun.objects.get(pk=theirs.pk).output)
