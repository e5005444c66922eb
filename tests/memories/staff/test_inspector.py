"""The inspector: everything of a member side by side, narrowed, in pages, and of nobody else."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.models import Episode, Session
from memories.search.outbox import drain
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes
from memories.services.sessions.sessions import start_session
from memories.staff.history import history_url
from memories.staff.inspector import _WILL_APPEAR, PAGE_SIZE
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.factories import make_membership
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import INLINE, inside, words
from tests.parts import ON_ELASTICSEARCH

pytestmark = pytest.mark.django_db

# Who asks 6, the pulse 10, counts and lists 8, what rows name 4, how the member stands 6; on Elasticsearch, the key.
QUERIES_OF_THE_LIVE_PART = 34


def say(principal: Principal, *texts: str) -> Session:
    session = start_session(principal)
    remember_episodes(principal, session_id=session.pk, drafts=[EpisodeDraft(text) for text in texts])
    return session


def test_what_is_known_stands_beside_what_it_replaced(support: Client, at: At, principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Porto", key="home_city")
    new = remember_fact(principal, text="Lives in Braga", key="home_city")
    page = inside(support.get(at("inspector")))
    assert page.index("Lives in Braga</a>") < page.index("Lives in Porto</a>")
    assert f'is-superseded" href="{at("record", old.memory_id)}"' in page
    assert f'href="{history_url(Kind.SEMANTIC, old.memory_id)}">history</a>' in page
    assert f'<a href="{at("record", new.memory_id)}"><bdi>Lives in Braga' in page


def test_a_category_of_the_same_name_as_the_key_is_not_repeated(support: Client, at: At, principal: Principal) -> None:
    remember_fact(principal, text="Rides a Surly", key="bike", category="bike")
    page = inside(support.get(at("inspector")))
    assert page.count(">bike</a>") == 1


def test_what_an_undo_closed_is_called_undone(support: Client, at: At, principal: Principal) -> None:
    remember_fact(principal, text="Lives in Porto", key="home_city")
    new = remember_fact(principal, text="Lives in Braga", key="home_city")
    undo(principal, kind=Kind.SEMANTIC, memory_id=new.memory_id)
    assert "undone: Lives in Porto" in words(support.get(at("inspector")))
    assert "Undone. Now: Lives in Porto" in words(support.get(at("record", new.memory_id)))


def test_each_kind_has_its_column_with_its_count(support: Client, at: At, principal: Principal) -> None:
    say(principal, "The kiln cracked", "Again, the kiln")
    remember_playbook(principal, title="Cool the kiln", steps=["Wait a night", "Open it"])
    told = words(support.get(at("inspector")))
    for column in ("Event Events 2", "Fact Facts 0", "How-to How-tos 1"):
        assert column in told
    assert "2 steps" in told and "Wait a night" in told


def test_words_are_escaped_and_nothing_is_inline(support: Client, at: At, principal: Principal) -> None:
    say(principal, "<b>red</b>")
    remember_fact(principal, text="Likes <i>red</i>", key="colour", category='"><img>')
    page = inside(support.get(at("inspector"), {"q": "<u>", "category": '"><img>'}))
    page += inside(support.get(at("inspector")))
    assert "<b>red" not in page and "<i>red" not in page and "<u>" not in page and "<img>" not in page
    assert "&lt;b&gt;red" in page and not INLINE.search(page)


def test_a_search_goes_through_all_columns(support: Client, at: At, principal: Principal) -> None:
    say(principal, "The kiln cracked")
    remember_fact(principal, text="Owns a kiln")
    remember_fact(principal, text="Has a cat")
    page = inside(support.get(at("inspector"), {"q": "kiln"}))
    assert "The kiln cracked" in page and "Owns a kiln" in page and "Has a cat" not in page
    assert "1 of 2" in words(support.get(at("inspector"), {"q": "kiln"}))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"key": "home_city"}, {"Events have no key.", "How-tos have no key.", "The catalog has no keys."}),
        ({"category": "craft"}, {"Events have no category.", "The catalog has no categories."}),
        ({"session": str(UUID(int=7))}, {"Nothing in the catalog comes from a conversation."}),
        ({"whose": "task"}, {"The catalog belongs to no task."}),
        ({"whose": "tenant"}, {"Events are shared with nobody."}),
    ],
    ids=["a key", "a category", "a conversation", "a task", "the tenant"],
)
def test_a_filter_that_a_kind_cannot_have_says_so(
    support: Client, at: At, principal: Principal, query: dict[str, str], told: set[str]
) -> None:
    say(principal, "The kiln cracked")
    ordinary = {"Nothing here fits the filters.", *_WILL_APPEAR.values()}
    columns = support.get(at("inspector"), query).context["columns"]
    assert {column["empty"] for column in columns if not column["rows"]} - ordinary == told
    assert all(not column["rows"] for column in columns)


@pytest.mark.parametrize(("whose", "shown"), [("", "Showing: All 1 · Own"), ("task", "Showing: All · In a task")])
def test_memories_that_are_not_the_member_s_own_are_not_counted_as_theirs(
    support: Client, at: At, principal: Principal, whose: str, shown: str
) -> None:
    remember_fact(principal, text="Owns a kiln")
    assert shown in words(support.get(at("inspector"), {"whose": whose}))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        pytest.param({"from": "yesterday"}, "From is a day", id="a day"),
        pytest.param({"to": "2026-02-31"}, "To is a day", id="a day that is none"),
        pytest.param({"session": "abc"}, "Conversation is named by an id", id="a conversation"),
        pytest.param({"show": "secret"}, "State is one of", id="a state"),
        pytest.param({"q": "a\0b"}, "Words has to be a text", id="a character"),
        pytest.param({"semantic": "forged"}, "names a page that does not exist", id="a page"),
    ],
)
def test_what_cannot_be_asked_is_named_and_left_out(
    support: Client, at: At, principal: Principal, query: dict[str, str], told: str
) -> None:
    remember_fact(principal, text="Owns a kiln")
    answer = support.get(at("inspector"), query)
    assert answer.status_code == 200 and told in words(answer) and "Owns a kiln" in words(answer)


def test_pages_follow_each_other_and_miss_and_repeat_nothing(support: Client, at: At, principal: Principal) -> None:
    session = say(principal, "first")
    begun = timezone.now() - timedelta(days=1)
    Episode.objects.bulk_create(
        Episode(
            tenant_id=principal.tenant_id, user_id=principal.user_id, session=session, text=f"word {number}",
            content_hash=f"{number}", sequence=number + 2, ordinal=number + 2, happened_at=begun,
        )
        for number in range(2 * PAGE_SIZE)
    )  # fmt: skip
    seen: list[str] = []
    address = ""
    for _ in range(4):
        page = inside(support.get(at("inspector") + address))
        seen += re.findall(r">(word \d+|first)</a>", page)
        older = re.search(r'href="(\?[^"]*)" rel="next">Older', page)
        if older is None:
            break
        address = older.group(1).replace("&amp;", "&")
    assert len(seen) == len(set(seen)) == 2 * PAGE_SIZE + 1


def test_nothing_of_another_member_is_on_the_page(
    support: Client, at: At, principal: Principal, other_member: Principal, other_tenant_member: Principal
) -> None:
    secret = "Hides the key under the third pot"
    for stranger in (other_member, other_tenant_member):
        remember_fact(stranger, text=secret)
        say(stranger, secret)
    for name in ("inspector", "inspector_live"):
        answer = support.get(at(name), {"q": "pot"})
        assert answer.status_code == 200 and secret not in answer.content.decode()


@pytest.mark.parametrize(
    ("opened", "looks"),
    [
        pytest.param("inspector", 1, id="a refresh is the same look"),
        pytest.param("index", 2, id="after another page it is a new one"),
        pytest.param("inspector_live", 1, id="a part that is asked for alone is one"),
    ],
)
def test_a_look_is_in_the_member_s_trail(
    support: Client, at: At, principal: Principal, opened: str, looks: int
) -> None:
    support.get(at(opened))
    for _ in range(3):
        support.get(at("inspector_live"))
        support.get(at("pulse"))
    assert AuditEvent.objects.filter(action="memory.read", owner_id=principal.user_id).count() == looks


def test_the_live_part_is_that_of_the_page(support: Client, at: At, principal: Principal) -> None:
    remember_fact(principal, text="Owns a kiln")
    whole, part = inside(support.get(at("inspector"))), support.get(at("inspector_live")).content.decode()
    rows = re.compile(r'data-key="[^"]+" data-noun="[^"]+" data-state="[^"]+" data-print="[^"]+"')
    assert rows.findall(part) == rows.findall(whole) != []
    assert support.get(at("pulse")).json()["pulse"] in part


def test_a_row_that_changed_has_another_print(support: Client, at: At, principal: Principal) -> None:
    fact = remember_fact(principal, text="Owns a kiln").memory_id
    print_of = re.compile(rf'data-key="{fact}"[^>]* data-print="(\w+)"')
    before = print_of.findall(support.get(at("inspector_live")).content.decode())
    drain()
    assert print_of.findall(support.get(at("inspector_live")).content.decode()) == before, "it reached the index"
    pin_fact(principal, fact_id=fact, pinned=True)
    assert print_of.findall(support.get(at("inspector_live")).content.decode()) != before != []


def test_it_costs_the_same_whatever_there_is(support: Client, at: At, principal: Principal) -> None:
    counts = []
    for number in range(3):
        say(principal, f"The kiln cracked {number} times", f"and {number} more")
        for place in ("Porto", "Braga"):
            remember_fact(principal, text=f"Lives in {place}, house {number}", key=f"home{number}")
        remember_playbook(principal, title=f"Cool kiln {number}", steps=["Wait"])
        with CaptureQueriesContext(connection) as asked:
            support.get(at("inspector_live"))
        counts.append(len(asked))
    assert counts[1] == counts[2] <= QUERIES_OF_THE_LIVE_PART + ON_ELASTICSEARCH


def test_the_list_of_members_says_when_each_last_spoke(support: Client, at: At, principal: Principal) -> None:
    say(principal, "The kiln cracked")
    make_membership(Membership.objects.get(pk=principal.membership_id).tenant, name="Sil Ent")
    answer = support.get(at("inspector").replace(f"{principal.membership_id}/change/", ""), {"q": ""})
    assert f'href="{at("inspector")}"' in answer.content.decode()
    assert all(said in words(answer) for said in ("Ada", "just now", "none yet"))
