"""The lists of the inspector: each filter leaves what fits it, of the member's own, whatever state it is in."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memories.models import Episode, Fact
from memories.models.guard import raw_writes
from memories.selectors.staff.inspecting import (
    InspectorFilter,
    OwnerFilter,
    StateFilter,
    counts_by_status,
    inspected,
    times_used,
)
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import ALL_KINDS, Kind, Scope, Status
from tenants.principal import Principal
from tests.stored import lives

pytestmark = pytest.mark.django_db


def live(principal: Principal) -> dict[str, UUID]:
    """Something of everything, in several states; names by what is said."""
    session = start_session(principal)
    (said,) = remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft("The kiln cracked again")])
    kiln = remember_fact(principal, text="Fires pots in a kiln", category="craft", supporting_episode_ids=[said])
    old = remember_fact(principal, text="Lives in Porto", key="home_city")
    new = remember_fact(principal, text="Lives in Braga, by the kiln", key="home_city")
    ended = remember_fact(principal, text="Has a stall on Sundays", category="craft")
    retire(principal, kind=Kind.SEMANTIC, memory_id=ended.memory_id, reason="It closed.")
    how = remember_playbook(
        principal, title="Cool the kiln", steps=["Wait"], category="craft", scope=Scope.TASK, task="firing"
    )
    written = {"kiln": kiln, "old": old, "new": new, "ended": ended, "how": how}
    return {name: outcome.memory_id for name, outcome in written.items()} | {"said": said, "session": session.pk}


lived, life = lives(live)


def found(principal: Principal, by: InspectorFilter) -> set[UUID]:
    return {row.pk for kind in ALL_KINDS for row in inspected(principal, kind, by)}


@pytest.mark.parametrize(
    ("by", "names"),
    [
        pytest.param(InspectorFilter(), "said kiln old new ended how", id="everything"),
        pytest.param(InspectorFilter(query="KILN"), "said kiln new how", id="a word, in all kinds"),
        pytest.param(InspectorFilter(query="kiln braga"), "new", id="every word"),
        pytest.param(InspectorFilter(show=StateFilter.CURRENT), "said kiln new how", id="believed"),
        pytest.param(InspectorFilter(show=StateFilter.SUPERSEDED), "old ended", id="replaced"),
        pytest.param(InspectorFilter(show=StateFilter.EVICTED), "", id="evicted"),
        pytest.param(InspectorFilter(show=StateFilter.FLAGGED), "", id="flagged"),
        pytest.param(InspectorFilter(key="home_city"), "old new", id="a key"),
        pytest.param(InspectorFilter(category="craft"), "kiln ended how", id="a category"),
        pytest.param(InspectorFilter(whose=OwnerFilter.TASK), "how", id="in a task"),
        pytest.param(InspectorFilter(whose=OwnerFilter.TENANT), "", id="shared"),
        pytest.param(InspectorFilter(since=timezone.now() + timedelta(days=1)), "", id="from tomorrow"),
        pytest.param(InspectorFilter(until=timezone.now() - timedelta(days=1)), "", id="until yesterday"),
    ],
)
def test_what_fits_is_left(principal: Principal, life: dict[str, UUID], by: InspectorFilter, names: str) -> None:
    assert found(principal, by) == {life[name] for name in names.split()}


def test_an_id_and_a_conversation_narrow_as_well(principal: Principal, life: dict[str, UUID]) -> None:
    assert found(principal, InspectorFilter(query=str(life["old"]))) == {life["old"]}
    assert found(principal, InspectorFilter(session_id=life["session"])) == {life["said"], life["kiln"]}


def test_what_is_flagged_is_found(principal: Principal) -> None:
    flagged = remember_fact(principal, text="Her brother answers at tom.fenwick@quill.example")
    assert found(principal, InspectorFilter(show=StateFilter.FLAGGED)) == {flagged.memory_id}


def test_the_catalog_is_beside_it_and_shared_facts_are_asked_for(
    principal: Principal, admin_principal: Principal
) -> None:
    entry = remember_catalog_entry(admin_principal, title="Glazes", text="Ash glaze melts at cone ten.")
    shared = remember_fact(admin_principal, text="The studio opens at nine", scope=Scope.TENANT)
    assert found(principal, InspectorFilter()) == {entry.memory_id}
    assert found(principal, InspectorFilter(whose=OwnerFilter.TENANT)) == {entry.memory_id, shared.memory_id}


def test_nothing_of_others_is_found_or_counted(life: dict[str, UUID], stranger: Principal) -> None:
    by_id, by_session = InspectorFilter(query=str(life["old"])), InspectorFilter(session_id=life["session"])
    for by in (InspectorFilter(), by_id, by_session):
        assert found(stranger, by) == set()
    assert not any(counts.total() for counts in counts_by_status(stranger).values())
    assert times_used(stranger, life.values()) == {}


def test_a_conversation_of_another_member_leads_to_nothing_learned_from_it(
    principal: Principal, life: dict[str, UUID], other_member: Principal
) -> None:
    theirs = remember_fact(other_member, text="Fires bricks").memory_id
    with raw_writes("a test"):
        Fact.objects.get(pk=theirs).supporting_episodes.add(Episode.objects.get(pk=life["said"]))
    assert found(other_member, InspectorFilter(session_id=life["session"])) == set()


def test_counts_tell_the_states_apart(principal: Principal, life: dict[str, UUID]) -> None:
    counts = counts_by_status(principal)
    assert counts[Kind.SEMANTIC] == {Status.ACTIVE: 2, Status.SUPERSEDED: 2}
    assert [counts[kind].total() for kind in ALL_KINDS] == [1, 4, 1, 0]
