"""The page of one memory: everything about it, under its own member alone."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memories.agent.loop import run_turn
from memories.errors import SearchUnavailable
from memories.models import Episode, Fact
from memories.models.guard import raw_writes
from memories.recall import recording
from memories.search import search_plane
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.consolidation import consolidate
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, literally, nothing, tell
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import INLINE, inside, words
from tests.parts import ON_ELASTICSEARCH, about_the_embedded_plane
from tests.stored import lives

pytestmark = pytest.mark.django_db

# Who asks 6, the memory 2, the pulse 10, the memory 2, all that stands beside it 14; on Elasticsearch, the key.
QUERIES_OF_THE_LIVE_PART = 34


def live_kiln(principal: Principal) -> UUID:
    """A fact that was learned from a sentence, replaced another one, and is in the index."""
    session = start_session(principal)
    (said,) = remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft("My new kiln is electric")])
    remember_fact(principal, text="Owns a gas kiln", key="kiln", category="craft")
    fact = remember_fact(
        principal, text="Owns an electric kiln", key="kiln", category="craft", supporting_episode_ids=[said]
    )
    drain()
    return fact.memory_id


lived, life = lives(live_kiln)


@pytest.fixture
def kiln(life: UUID) -> UUID:
    """The fact of `live_kiln`."""
    return life


def test_it_tells_state_words_history_and_who_did_it(support: Client, at: At, kiln: UUID) -> None:
    page = support.get(at("record", kiln))
    told = words(page)
    assert "Owns an electric kiln" in told and "My new kiln is electric" in told and "Owns a gas kiln" in told
    assert 'dir="auto">kiln: Owns an electric kiln</pre>' in inside(page), "the document as the member finds it"
    assert "Ada wrote it down" in told and "then it changed" in told
    assert "About kiln" in told and "content hash" in told and str(kiln) in told


@about_the_embedded_plane
def test_an_index_that_is_away_is_said_and_the_rest_is_there(
    support: Client, at: At, kiln: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SearchUnavailable("The disk is full.")

    monkeypatch.setattr(type(search_plane()), "see", refuse)
    told = words(support.get(at("record", kiln)))
    assert "does not answer now. The disk is full." in told and "Owns an electric kiln" in told


def test_every_answer_that_used_it_leads_to_its_turn(support: Client, at: At, principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Bristol", key="home_city").memory_id
    drain()
    list(run_turn(principal, text="Where do I live?"))
    recording.flush()
    session = Episode.objects.of(principal).get().session_id
    page = inside(support.get(at("record", fact)))
    assert "Where do I live?" in page and at("turn", session, 1) in page


def test_an_event_says_what_was_learned_from_it(support: Client, at: At, principal: Principal, kiln: UUID) -> None:
    said = Episode.objects.of(principal).get()
    told = words(support.get(at("record", said.pk)))
    assert "My new kiln is electric" in told and "Learned from it Owns an electric kiln" in told


def test_an_event_that_gave_nothing_says_whether_it_was_read(support: Client, at: At, principal: Principal) -> None:
    (said,) = tell(principal, "Good morning")
    assert "Nothing so far. A consolidation reads what was said" in words(support.get(at("record", said)))
    (run,) = consolidate(principal, extractor=ScriptedExtractor([nothing])).runs
    page = support.get(at("record", said))
    assert "Nothing: the consolidation that read it found nothing that lasts." in words(page)
    assert "Nothing so far" not in words(page) and at("run", run) in inside(page)
    (later,) = tell(principal, "Good evening")
    assert "Nothing so far" in words(support.get(at("record", later)))


def test_an_event_whose_facts_were_forgotten_says_so(support: Client, at: At, principal: Principal) -> None:
    (said,) = tell(principal, "I keep three goats")
    consolidate(principal, extractor=ScriptedExtractor([literally]))
    forget(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.get().pk)
    assert "the consolidation that read it learned was deleted since" in words(support.get(at("record", said)))


def test_how_tos_and_shared_entries_have_a_page(
    support: Client, at: At, principal: Principal, admin_principal: Principal
) -> None:
    how = remember_playbook(principal, title="Cool the kiln", trigger="After firing", steps=["Wait", "Open"]).memory_id
    entry = remember_catalog_entry(admin_principal, title="Glazes", text="Ash melts at cone ten.").memory_id
    assert "After firing" in words(support.get(at("record", how)))
    assert "Ash melts at cone ten." in words(support.get(at("record", entry)))


def test_words_are_escaped_and_nothing_is_inline(support: Client, at: At, principal: Principal) -> None:
    fact = remember_fact(principal, text="Likes <b>red</b>", key="colour", category='"><img>').memory_id
    drain()
    page = inside(support.get(at("record", fact)))
    assert "<b>red" not in page and "<img>" not in page and not INLINE.search(page)


def _own_fact(principal: Principal) -> UUID:
    return remember_fact(principal, text="Hides the key under the pot").memory_id


def _own_words(principal: Principal) -> UUID:
    drafts = [EpisodeDraft("It is under the pot")]
    return remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)[0]


@pytest.mark.parametrize("name", ["record", "record_live"])
@pytest.mark.parametrize("make", [_own_fact, _own_words])
def test_another_member_s_memory_is_as_one_that_is_not(
    support: Client, at: At, other_member: Principal, other_tenant_member: Principal, name: str,
    make: Callable[[Principal], UUID],
) -> None:  # fmt: skip
    """Under Ada, whoever's it is; and under a member of another tenant, even their own."""
    ids = [make(other_member), make(other_tenant_member), uuid4()]
    stranger = Membership.objects.get(pk=other_tenant_member.membership_id)
    answers = [support.get(at(name, id_)) for id_ in ids] + [support.get(at(name, ids[1], of=stranger))]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert not any("under the pot" in answer.content.decode() for answer in answers)
    assert not AuditEvent.objects.filter(target_id__in=ids, action="memory.read").exists()


def test_a_look_is_in_the_trail_with_what_was_looked_at(
    support: Client, at: At, principal: Principal, kiln: UUID
) -> None:
    support.get(at("record", kiln))
    support.get(at("record_live", kiln))
    (event,) = AuditEvent.objects.filter(action="memory.read", owner_id=principal.user_id)
    assert (event.target_id, event.target_kind, event.payload.data["after"]) == (kiln, "semantic", {"page": "record"})
    assert "looked at it" in words(support.get(at("record", kiln)))


def test_the_refresh_of_another_memory_is_a_look_of_its_own(
    support: Client, at: At, principal: Principal, kiln: UUID
) -> None:
    """Whoever has one page open cannot read all others under its name."""
    other = _own_fact(principal)
    support.get(at("inspector"))
    for memory_id in (kiln, other, other):
        support.get(at("record_live", memory_id))
    looks = AuditEvent.objects.filter(action="memory.read", owner_id=principal.user_id).order_by("sequence")
    assert [event.target_id for event in looks] == [None, kiln, other]


def test_what_was_forgotten_is_gone_from_here(support: Client, at: At, principal: Principal, kiln: UUID) -> None:
    forget(principal, kind=Kind.SEMANTIC, memory_id=kiln)
    assert support.get(at("record", kiln)).status_code == support.get(at("record_live", kiln)).status_code == 404


def test_it_costs_the_same_however_much_it_names(support: Client, at: At, principal: Principal, kiln: UUID) -> None:
    support.get(at("record_live", kiln))
    counts = []
    for number in range(3):
        drafts = [EpisodeDraft(f"The kiln again, {number} and {more}") for more in range(2)]
        ids = remember_episodes(principal, session_id=start_session(principal).pk, drafts=drafts)
        with raw_writes("a test"):
            Fact.objects.get(pk=kiln).supporting_episodes.add(*Episode.objects.filter(pk__in=ids))
        with CaptureQueriesContext(connection) as asked:
            support.get(at("record_live", kiln))
        counts.append(len(asked))
    assert counts[0] == counts[2] <= QUERIES_OF_THE_LIVE_PART + ON_ELASTICSEARCH
