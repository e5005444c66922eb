"""What is learned from words said to an app is that app's."""

from __future__ import annotations

import pytest

from memories.consolidation.material import Material, Proposal, ProposedFact
from memories.models import ConsolidationRun, Fact, MemoryPolicy
from memories.services.apps import in_app
from memories.services.consolidation import consolidate
from memories.services.consolidation.applying import SEVERAL_APPS
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, literally, tell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


def together(material: Material) -> list[Proposal]:
    """One fact from all that was said."""
    return [ProposedFact(text="Plays music", supporting_episode_ids=tuple(each.id for each in material.episodes))]


@pytest.fixture
def apart(principal: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, apps_apart=True)


def learned(principal: Principal) -> set[tuple[str, str]]:
    return set(Fact.objects.of(principal).current().values_list("text", "app"))


def test_a_fact_has_the_app_that_its_words_were_said_to(principal: Principal) -> None:
    for app, text in (("band", "Plays the cello"), ("farm", "Keeps bees")):
        tell(in_app(principal, app), text)
    tell(principal, "Owns a canoe")
    consolidate(principal, extractor=ScriptedExtractor([literally]))
    assert learned(principal) == {("Plays the cello", "band"), ("Keeps bees", "farm"), ("Owns a canoe", "")}


@pytest.mark.parametrize("apps", [("band", "farm"), ("band", "")])
def test_words_to_several_apps_make_a_fact_of_no_app(principal: Principal, apps: tuple[str, str]) -> None:
    for app in apps:
        tell(in_app(principal, app) if app else principal, f"Plays music in {app or 'town'}")
    consolidate(principal, extractor=ScriptedExtractor([together]))
    assert learned(principal) == {("Plays music", "")}


@pytest.mark.usefixtures("apart")
def test_words_to_several_apps_that_are_apart_teach_nothing(principal: Principal) -> None:
    for app in ("band", "farm"):
        tell(in_app(principal, app), f"Plays music in the {app}")
    consolidate(principal, extractor=ScriptedExtractor([together]))
    assert learned(principal) == set()
    assert [line["reason"] for line in ConsolidationRun.objects.get().decisions] == [SEVERAL_APPS]


@pytest.mark.usefixtures("apart")
def test_words_to_one_app_end_no_fact_of_another(principal: Principal) -> None:
    known = remember_fact(in_app(principal, "farm"), text="Keeps bees").memory_id

    def ending(material: Material) -> list[Proposal]:
        support = tuple(each.id for each in material.episodes)
        return [ProposedFact(text="Keeps hens", supporting_episode_ids=support, supersedes=(known,))]

    tell(in_app(principal, "band"), "Keeps hens now")
    consolidate(principal, extractor=ScriptedExtractor([ending]))
    assert learned(principal) == {("Keeps bees", "farm"), ("Keeps hens", "band")}
