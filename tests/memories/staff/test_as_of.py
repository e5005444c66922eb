"""As of: the page of a time shows what was believed then, and nothing that was forgotten."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.models import Fact
from memories.services.erasure.forget import forget
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.services.reviewing import say
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import INLINE, inside, own_queries, words
from tests.stored import lives

pytestmark = pytest.mark.django_db


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def day(days: float) -> str:
    return f"{ago(days):%Y-%m-%d}"


def live_moved(principal: Principal) -> Fact:
    """Ada lived in Porto until ten days ago, and lives in Braga since."""
    old = say(principal, "Lives in Porto", key="home_city", category="home", learned_at=ago(30))
    return say(
        principal, "Lives in Braga", key="home_city", learned_at=ago(10), supersedes_ids=[old.pk], reason="moved"
    )


lived, life = lives(live_moved)


@pytest.fixture
def moved(life: Fact) -> Fact:
    """Where Ada lives since she moved."""
    return life


def test_the_memory_is_shown_as_it_was_believed(support: Client, at: At, moved: Fact) -> None:
    then = words(support.get(at("as_of"), {"at": day(20)}))
    assert "Lives in Porto" in then and "replaced" in then and "by Lives in Braga" in then
    assert "Facts 1" in then
    now = words(support.get(at("as_of")))
    assert "Lives in Braga" in now and "Porto" not in now
    assert "Lives in" not in words(support.get(at("as_of"), {"at": day(40)}))


def test_changes_and_moments_agree_with_what_they_are_said_of(support: Client, at: At, moved: Fact) -> None:
    spanish = words(support.get(at("changes"), {"since": day(20)}, headers={"accept-language": "es"}))
    assert "Datos sustituidos" in spanish
    german = words(support.get(at("as_of"), headers={"accept-language": "de"}))
    assert "aufgenommen" in german and "seit vor" not in german


def test_what_was_evicted_since_is_shown_and_named(support: Client, at: At, moved: Fact) -> None:
    Fact.objects.filter(pk=moved.pk).update(status=Status.EVICTED, evicted_from="active", evicted_at=ago(1))
    then = words(support.get(at("as_of"), {"at": day(5)}))
    assert "Lives in Braga" in then and "recall no longer returns it" in then
    assert "Braga" not in words(support.get(at("as_of")))


def test_what_was_forgotten_is_not_shown_and_the_page_says_so(
    support: Client, at: At, principal: Principal, moved: Fact
) -> None:
    forget(principal, kind=Kind.SEMANTIC, memory_id=moved.pk)
    then = words(support.get(at("as_of"), {"at": day(5)}))
    assert "Braga" not in then and "1 memory was deleted since" in then and "cannot be shown" in then


def test_the_slider_leads_to_the_address_of_its_time(support: Client, at: At, moved: Fact) -> None:
    point = str(int(ago(20).timestamp()))
    answer = support.get(at("as_of"), {"point": point, "key": "home_city"})
    assert answer.status_code == 302
    then = words(support.get(answer.headers["Location"]))
    assert "Lives in Porto" in then and "key=home_city" in answer.headers["Location"]


def test_filters_and_pages_narrow_each_column(support: Client, at: At, principal: Principal, moved: Fact) -> None:
    session = start_session(principal)
    remember_episode(principal, session_id=session.pk, text="Porto is rainy")
    found = words(support.get(at("as_of"), {"at": day(20), "category": "home"}))
    assert "Lives in Porto" in found and "Events" in found and "rainy" not in found
    for number in range(20):
        say(principal, f"Owns boat number {number:02}", learned_at=ago(0.5))
    first = support.get(at("as_of"), {"q": "boat"})
    assert sum(f"boat number {number:02}" in words(first) for number in range(20)) == 15
    older = first.context["columns"][1]["older"]
    second = words(support.get(f"{at('as_of')}?{older}"))
    assert sum(f"boat number {number:02}" in second for number in range(20)) == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": "yesterday"}, "Exact time: is not a time"),
        ({"point": "soon"}, "is not a time"),
        ({"session": "1"}, "is not the id of a session"),
        ({"kind": "dreams"}, "must be one of"),
        ({"kind": "semantic", "cursor": "x"}, "is not a cursor of this list"),
        ({"q": "a\0"}, "characters at most"),
    ],
)
def test_what_cannot_be_asked_is_said_and_the_memory_of_now_shown(
    support: Client, at: At, moved: Fact, given: dict[str, str], said: str
) -> None:
    answer = support.get(at("as_of"), given)
    assert answer.status_code == 400
    assert said in words(answer) and "Lives in Braga" in words(answer)


def test_what_changed_stands_side_by_side_with_who_and_why(support: Client, at: At, moved: Fact) -> None:
    page = support.get(at("changes"), {"since": day(20), "at": day(0)})
    shown = inside(page)
    assert "Lives in <del>Porto</del>" in shown and "Lives in <ins>Braga</ins>" in shown
    assert "member: moved" in words(page)
    assert "Nothing changed" in words(support.get(at("changes"), {"since": day(8), "at": day(2)}))


def test_one_sort_of_change_is_paged(support: Client, at: At, principal: Principal) -> None:
    for number in range(35):
        say(principal, f"Owns boat number {number:02}", learned_at=ago(1))
    some = support.get(at("changes"))
    assert len(some.context["parts"][0]["lines"]) == 8 and some.context["parts"][0]["count"] == 35
    everything = support.get(f"{at('changes')}?{some.context['parts'][0]['more']}")
    assert len(everything.context["parts"][0]["lines"]) == 30
    rest = support.get(f"{at('changes')}?{everything.context['parts'][0]['cursor']}")
    assert len(rest.context["parts"][0]["lines"]) == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"since": "never"}, "From: is not a time"),
        ({"since": "2026-02-01", "at": "2026-01-01"}, "must be before"),
        ({"change": "dreamt", "kind": "semantic"}, "is no change"),
        ({"change": "learned", "kind": "episodic"}, ""),
    ],
)
def test_times_that_cannot_be_compared_are_refused(
    support: Client, at: At, moved: Fact, given: dict[str, str], said: str
) -> None:
    answer = support.get(at("changes"), given)
    assert said in words(answer)
    assert answer.status_code == (400 if said else 200)


@pytest.mark.parametrize(("name", "told"), [("as_of", "as of"), ("changes", "what changed"), ("index", "index")])
def test_the_trail_tells_who_looked(support: Client, at: At, principal: Principal, name: str, told: str) -> None:
    support.get(at(name))
    event = AuditEvent.objects.get(action="memory.read", owner_id=principal.user_id)
    assert (event.actor_kind, event.payload.data["after"]) == ("staff", {"page": told})


@pytest.mark.parametrize("name", ["as_of", "changes", "runs", "index"])
def test_words_of_a_member_are_text_and_nothing_on_the_page_is_inline(
    support: Client, at: At, principal: Principal, name: str
) -> None:
    say(principal, "Likes <script>alert(1)</script> jokes", category="<b>fun</b>")
    shown = inside(support.get(at(name)))
    assert "<script>alert" not in shown and "<b>fun" not in shown
    assert not INLINE.search(shown)


def test_the_number_of_queries_does_not_grow_with_the_memory(
    support: Client, at: At, principal: Principal, moved: Fact
) -> None:
    for number in range(20):
        say(principal, f"Owns boat number {number:02}", learned_at=ago(20))
    counts = {}
    for name, given in (("as_of", {"at": day(5)}), ("changes", {"since": day(40)})):
        with CaptureQueriesContext(connection) as captured:
            support.get(at(name), given)
        counts[name] = own_queries(captured)
    assert counts == {"as_of": 36, "changes": 30}
