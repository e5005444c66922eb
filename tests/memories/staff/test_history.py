"""The history of a chain in the admin: found, opened by any state, read aloud in a trail, and proven on the page."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memories.models import Fact
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Scope
from tenants.audit.chain import owner_chain, tenant_chain
from tenants.end_users import provision_end_user, rename_end_user
from tenants.models import AuditEvent, AuditPayload, ChainCheck, Membership, Tenant, User
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.factories import make_membership, own_principal
from tests.memories.api.caller import key_of
from tests.memories.five import BOTH, FLAT, SAID, WRONG, Five, live_five
from tests.memories.staff.looking import page_of
from tests.memories.staff.looking import words as words_of
from tests.stored import lives
from tests.tenants.audit_events import execute

pytestmark = pytest.mark.django_db

LIST = "/admin/memories/history/"


def staff(tenant: Tenant | None, role: str, name: str = "") -> Membership:
    membership = make_membership(tenant, role=role, name=name)
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    return membership


lived, life = lives(live_five)


@pytest.fixture
def five(life: Five) -> Five:
    return life


@pytest.fixture
def auditor(tenant: Tenant, client: Client) -> Membership:
    """Hanna, signed in."""
    membership = staff(tenant, "auditor", "Hanna")
    client.force_login(membership.user)
    return membership


def chain(memory_id: UUID, *, verify: bool = False, kind: Kind = Kind.SEMANTIC) -> str:
    return reverse("staff:history_verify" if verify else "staff:history", args=[kind.value, memory_id])


def shown(client: Client, address: str, **asked: str) -> str:
    answer = client.get(address, asked)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.mark.usefixtures("auditor")
def test_any_state_leads_to_the_chain_with_that_state_marked(five: Five, client: Client) -> None:
    for memory_id in five.ids:
        page = shown(client, chain(memory_id))
        assert f'<li id="state-{memory_id}"' in page
        assert page.count('class="history-state') == 5
        assert page.count("this state</span>") == 1
        assert f"http://testserver{chain(memory_id)}" in page


@pytest.mark.usefixtures("auditor")
def test_a_chain_says_who_why_from_which_words_and_how_the_wording_changed(five: Five, client: Client) -> None:
    page = shown(client, chain(five.both))
    ends = ("It was true until then; then it changed.", "It was wrong")
    for words in (FLAT, BOTH, WRONG, *SAID, "moved", "misheard", *ends):
        assert words in page
    assert "<bdi>Ada</bdi> replaced it" in page
    assert "<del>Cardiff</del>" in page and "<ins>Swansea</ins>" in page
    assert "(natural)" not in page and "not known" not in page
    (began,) = Fact.objects.unscoped("a test").filter(pk=five.both).values_list("learned_at", flat=True)
    assert f"{began:%Y-%m-%d %H:%M:%S} UTC to " in page
    assert "It replaced several at once" in page and "An undo brought it back as" in page


@pytest.mark.usefixtures("auditor")
def test_the_graph_has_a_link_for_each_state_and_a_table_beside_it(five: Five, client: Client) -> None:
    page = shown(client, chain(five.both))
    graph = page[page.index('<svg class="history-graph') : page.index("</svg>", page.index("history-graph"))]
    assert graph.count('<a href="#state-') == 5
    assert [graph.count(f"joint joint-{look}") for look in ("superseded", "harsh", "restored")] == [3, 1, 1]
    assert "<title" in graph and "<desc" in graph
    assert "All states, in the order" in page
    assert " style=" not in page[page.index('<div class="staff">') :]


def test_who_opens_a_chain_is_in_the_owner_s_trail(
    five: Five, client: Client, auditor: Membership, principal: Principal
) -> None:
    shown(client, chain(five.both))
    event = AuditEvent.objects.get(action="memory.read")
    assert (event.chain, event.actor_id) == (owner_chain(principal.tenant_id, principal.user_id), auditor.user_id)
    assert (event.target_id, event.payload.data["after"]) == (five.both, {"page": "history"})


@pytest.mark.usefixtures("auditor")
def test_who_opens_what_is_shared_is_in_the_tenant_s_trail(client: Client, admin_principal: Principal) -> None:
    own = remember_fact(admin_principal, text="The gate closes at six").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=own, to=Scope.TENANT).memory_id
    page = shown(client, chain(copy))
    assert f'href="{chain(own)}"' in page
    assert AuditEvent.objects.get(action="memory.read").chain == tenant_chain(admin_principal.tenant_id)


@pytest.mark.usefixtures("auditor")
def test_what_was_erased_stays_as_a_tombstone_under_its_address(client: Client, principal: Principal) -> None:
    first, second, _ = (
        remember_fact(principal, text=f"Weighs {stone} stone", key="weight").memory_id for stone in (10, 11, 12)
    )
    forget(principal, kind=Kind.SEMANTIC, memory_id=second)
    for address in (chain(first), chain(second)):
        page = shown(client, address)
        assert "Its words are gone for good" in page
        assert "11 stone" not in page
        assert page.count('class="history-state') == 3


def test_an_auditor_has_a_chain_proven_and_sees_when_and_by_whom(
    five: Five, client: Client, auditor: Membership
) -> None:
    page = shown(client, chain(five.both))
    assert page.count("was not verified yet") == 1
    assert "Open in the inspector" not in page
    answer = client.post(chain(five.both, verify=True))
    assert (answer.status_code, answer["Location"]) == (302, chain(five.both))
    page = shown(client, chain(five.both))
    assert page.count('pill-success">verified</span>') == 2
    assert "<bdi>Hanna</bdi>" in page
    assert client.get(chain(five.both, verify=True)).status_code == 405


@pytest.mark.usefixtures("auditor")
def test_the_page_names_the_first_bad_event_of_a_changed_audit_row(five: Five, client: Client) -> None:
    event = AuditEvent.objects.get(target_id=five.flat, action="fact.superseded")
    with audit_unguarded():
        AuditEvent.objects.filter(pk=event.pk).update(actor_kind="system")
    assert _bad(client, five) == {f"{event.sequence}</a> <code>{event.pk}</code>. The event was changed."}


@pytest.mark.usefixtures("auditor")
@pytest.mark.parametrize(
    "damage", ["DELETE FROM tenants_audithead", "UPDATE tenants_audithead SET length = length - 2"]
)
def test_a_chain_that_takes_no_event_is_looked_at_all_the_same(
    five: Five, client: Client, principal: Principal, tenant: Tenant, damage: str
) -> None:
    whose = owner_chain(principal.tenant_id, principal.user_id)
    with audit_unguarded():
        execute(f"{damage} WHERE chain = %s", whose)
    shown(client, chain(five.both))
    told = AuditEvent.objects.get(chain=tenant_chain(tenant.pk), action="memory.read")
    assert (told.target_id, told.payload.data["after"]["membership"]) == (five.both, str(principal.membership_id))
    client.post(chain(five.both, verify=True))
    check = ChainCheck.objects.filter(chain=whose, what="audit").latest("pk")
    assert not check.ok and check.first_bad
    assert f"event {check.first_bad}" in shown(client, chain(five.both)).lower().replace(",", "")
    event = AuditEvent.objects.filter(chain=whose).first()
    assert event is not None
    assert client.get(reverse("admin:tenants_auditevent_change", args=[event.pk])).status_code == 200


@pytest.mark.usefixtures("auditor")
def test_the_page_names_the_first_bad_event_of_a_changed_link(five: Five, client: Client) -> None:
    event = AuditEvent.objects.get(target_id=five.flat, action="fact.superseded")
    Fact.objects.filter(pk=five.flat).update(superseded_by=None)
    told = f"Fact {five.flat} has another successor than the audit tells of."
    assert _bad(client, five) == {f"{event.sequence}</a> <code>{event.pk}</code>. {told}"}
    assert "verification fails here" in shown(client, chain(five.flat))


@pytest.mark.usefixtures("auditor")
def test_a_rewritten_state_is_shouted_without_a_press_of_a_button(five: Five, client: Client) -> None:
    assert "Do not rely on this page" not in shown(client, chain(five.back))
    with audit_unguarded():
        Fact.objects.filter(pk=five.flat).update(text="Lives in a castle in Bristol")
    page = shown(client, chain(five.back))
    assert "Do not rely on this page" in page and "Supersession broken at event" in page
    assert "This state has other words than" in page
    assert "1 chain failed verification" in shown(client, "/admin/")


def _bad(client: Client, five: Five) -> set[str]:
    """What the badges say after a proof."""
    client.post(chain(five.flat, verify=True))
    page = shown(client, chain(five.flat))
    marks = page.split('class="verification-fault">First bad event: <a href="')[1:]
    return {mark[mark.index(">") + 1 : mark.index("</p>")] for mark in marks}


@pytest.mark.usefixtures("auditor")
def test_words_are_listed_only_where_a_trail_tells_of_it(five: Five, client: Client, principal: Principal) -> None:
    page = shown(client, LIST)
    assert chain(five.wrong) in page
    assert WRONG not in page
    assert not AuditEvent.objects.filter(action="memory.read").exists()
    page = shown(client, LIST, member=str(principal.user_id))
    assert WRONG in page
    event = AuditEvent.objects.get(action="memory.read")
    assert event.chain == owner_chain(principal.tenant_id, principal.user_id)
    assert event.payload.data["after"] == {"page": "histories"}


@pytest.mark.usefixtures("auditor")
@pytest.mark.parametrize("others_name", ["Grace", "ada"])
def test_the_filters_name_a_member_without_a_login_as_people_do(
    client: Client, tenant: Tenant, others_name: str
) -> None:
    """A name that several have would find none of them alone."""
    member, _new = provision_end_user(tenant.pk, "A-7")
    rename_end_user(member, name="Ada")
    rename_end_user(provision_end_user(tenant.pk, "B-8")[0], name=others_name)
    said = "Ada" if others_name == "Grace" else "A-7"
    for page in (LIST, reverse("admin:tenants_auditevent_changelist")):
        told = shown(client, page, member=str(member.user_id))
        assert f'name="member" value="{said}"' in told and member.user.username not in told
        assert "several have this name" not in shown(client, page, member=said).lower()


@pytest.mark.usefixtures("auditor")
def test_a_member_whose_name_means_shared_memory_is_filtered_by_id(client: Client, tenant: Tenant) -> None:
    member, _new = provision_end_user(tenant.pk, "shared")
    assert f'name="member" value="{member.user_id}"' in shown(client, LIST, member=str(member.user_id))


@pytest.mark.usefixtures("auditor")
def test_a_search_in_everybody_s_words_is_in_the_tenant_s_trail(five: Five, client: Client, tenant: Tenant) -> None:
    page = shown(client, LIST, q="bristol flat")
    assert chain(five.flat) in page
    assert FLAT not in page
    assert AuditEvent.objects.get(action="memory.read").chain == tenant_chain(tenant.pk)
    assert "bristol" not in AuditPayload.objects.get(event__action="memory.read").document


@pytest.mark.usefixtures("auditor")
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"member": "nobody at all"}, "Member"),
        ({"until": "9999-12-31T23:59-14:00"}, "Changed to"),
        ({"q": "a\0b"}, "Words"),
        ({"cursor": "x"}, "Page"),
        ({"all": "1"}, "Member"),
    ],
)
def test_what_cannot_be_asked_is_said(five: Five, client: Client, asked: dict[str, str], field: str) -> None:
    answer = client.get(LIST, asked)
    assert answer.status_code == 200
    assert f"<b>{field}.</b>" in answer.content.decode()


@pytest.mark.usefixtures("auditor")
def test_filters_narrow_the_list_and_an_empty_one_says_so(five: Five, client: Client) -> None:
    page = shown(client, LIST, how="merged", actor="member", key="home", since="2020-01-01")
    assert chain(five.flat) in page
    assert chain(five.boat) not in page
    assert "No matches" in shown(client, LIST, how="promoted")
    assert "No changes yet" in shown(client, LIST, kind="procedural")


def test_platform_staff_choose_a_tenant_or_what_all_share(five: Five, client: Client, tenant: Tenant) -> None:
    client.force_login(User.objects.create_superuser("root", password="correct horse battery staple"))
    assert chain(five.wrong) in shown(client, LIST, tenant=str(tenant.pk))
    assert "Shared by all tenants" in shown(client, LIST, tenant="platform")
    assert "Verify now" in shown(client, chain(five.both))


@pytest.mark.usefixtures("auditor")
def test_the_cost_of_a_page_is_bounded(
    five: Five, client: Client, principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    shown(client, chain(five.both))
    for stone in range(20):
        remember_fact(principal, text=f"Weighs {stone} stone", key="weight")
    long = Fact.objects.current().get(key="weight").pk
    with django_assert_max_num_queries(38):
        shown(client, chain(five.both))
    with django_assert_max_num_queries(41):
        shown(client, chain(long))
    with django_assert_max_num_queries(12):
        shown(client, LIST)


@pytest.mark.usefixtures("auditor")
def test_a_kind_that_has_no_history_is_not_there(five: Five, client: Client) -> None:
    for kind in ("episodic", "catalog", "nothing"):
        assert client.get(f"{LIST}{kind}/{five.said[0]}/").status_code == 404


def test_a_colleague_s_name_is_told_and_a_stranger_s_is_not(
    five: Five, client: Client, auditor: Membership, principal: Principal
) -> None:
    stranger = own_principal(make_membership(name="Somebody Else"))
    with audit_unguarded():
        AuditEvent.objects.filter(target_id=five.flat).update(actor_id=stranger.user_id, actor_kind="staff")
    page = shown(client, chain(five.flat))
    assert "Somebody Else" not in page
    assert "Platform staff" in page


def test_what_a_program_wrote_names_its_app_and_its_key(client: Client, tenant: Tenant) -> None:
    client.force_login(staff(tenant, "admin").user)
    member, _ = provision_end_user(tenant.id, "ann", name="Ann")
    key = replace(key_of(tenant), user_id="ann")
    written = [
        key.post("memories", {"text": f"Lives in {city}", "key": "home_city", "app": "travel"}).json["memory_id"]
        for city in ("Bristol", "Edinburgh")
    ]
    assert "The backend key test" in shown(client, chain(written[-1]))
    assert "App travel" in words_of(client.get(page_of("record", member, written[-1])))
