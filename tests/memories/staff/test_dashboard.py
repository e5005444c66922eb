"""The first page of the admin: to each role what waits for it, of its own tenants, in sentences with links."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker

from memories.metrics.sampling import sample_metrics
from memories.models import (
    CaseState,
    ConsolidationRun,
    ErasureRequest,
    Message,
    MessageState,
    RequestState,
    SupportCase,
)
from memories.selectors.staff import attention
from memories.services.facts.remember import remember_fact
from memories.staff import dashboard as attention_page
from memories.staff.dashboard import Figure, figures_of
from tenants.admin.scoping import scope_of
from tenants.audit.chain import EventDraft, record_platform_event, record_tenant_event, tenant_chain
from tenants.auditors import TenantCheck
from tenants.models import AuditHead, ChainCheck, Checked, CredentialState, Membership, SearchCredential, Tenant, User
from tenants.principal import READS_HISTORY, Actor, ActorKind, Role
from tests.factories import make_membership, make_tenant, own_principal
from tests.memories.metrics import situations
from tests.memories.staff.isolation.place import ROLES, Place, make_place
from tests.memories.staff.looking import staff_of
from tests.parts import ON_ELASTICSEARCH
from tests.stored import stored

pytestmark = pytest.mark.django_db

PAGE = "/admin/"


def make_heron() -> Place:
    """A tenant in which something of everything waits."""
    place = make_place("heron")
    Message.objects.filter(session=place.ids["session"], role="assistant", turn=1).update(state=MessageState.FAILED)
    SupportCase.objects.filter(pk=place.ids["case"]).update(state=CaseState.OPEN)
    return place


@pytest.fixture(scope="module")
def heron_again(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Callable[[], Place]:
    return stored(make_heron, django_db_blocker)


@pytest.fixture
def heron(heron_again: Callable[[], Place], db: None) -> Place:
    """The tenant of `make_heron`."""
    return heron_again()


def signed_in(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def opened_by(user: User, query: str = "") -> Any:
    answer = signed_in(user).get(PAGE + query)
    assert answer.status_code == 200
    return answer


def needs(answer: Any) -> list[str]:
    return [need.words for need in answer.context["needs"]]


def root() -> User:
    return User.objects.create_superuser("root", password="correct horse battery staple")


def test_support_sees_what_went_wrong_for_members(heron: Place) -> None:
    answer = opened_by(heron.staff[Role.SUPPORT].user)
    assert needs(answer) == [
        "1 consolidation was given up this week, and nobody read its events again",
        "1 case is open",
        "1 answer failed or was given without search today",
    ]
    turn = f"/admin/memories/membermemory/{heron.ids['member']}/conversations/{heron.ids['session']}/1/"
    assert f'href="{turn}"' in answer.content.decode()
    assert answer.context["figures"] == []


def test_auditors_see_chains_and_what_was_looked_at(heron: Place) -> None:
    auditor = heron.staff[Role.AUDITOR].user
    ChainCheck.objects.create(chain=tenant_chain(heron.tenant.pk), what=Checked.AUDIT, ok=False)
    answer = opened_by(auditor)
    assert needs(answer) == ["1 chain failed verification"]
    assert [need.urgent for need in answer.context["needs"]] == [True]
    assert [(each.title, each.number) for each in answer.context["figures"]] == [
        ("Looks at memories", "0"),
        ("Exports made", "0"),
        ("Members erased", "0"),
        ("Legal holds in force", "1"),
    ]
    ChainCheck.objects.create(chain=tenant_chain(heron.tenant.pk), what=Checked.AUDIT, ok=True)
    assert needs(opened_by(auditor)) == []


def test_chains_are_due_a_day_after_they_began_or_were_verified(heron: Place) -> None:
    def told(now: datetime, *tenants: Tenant) -> tuple[int, int]:
        found = attention.chains([each.pk for each in tenants], now)
        return found.unchecked, found.all

    length = AuditHead.objects.count()
    now, tomorrow = timezone.now(), timezone.now() + timedelta(days=1, minutes=1)
    ChainCheck.objects.filter(chain=tenant_chain(heron.tenant.pk)).delete()
    assert length > 1 and told(now, heron.tenant) == (0, length)
    assert told(tomorrow, heron.tenant) == (length, length)
    check = ChainCheck.objects.create(chain=tenant_chain(heron.tenant.pk), what=Checked.AUDIT, ok=True)
    ChainCheck.objects.filter(pk=check.pk).update(checked_at=tomorrow)
    assert told(tomorrow, heron.tenant) == (length - 1, length)
    assert told(tomorrow, make_tenant("Nobody said a word")) == (0, 0)


def test_numbers_of_the_trail_lead_to_what_they_count(heron: Place) -> None:
    auditor, support = heron.staff[Role.AUDITOR].user, heron.staff[Role.SUPPORT]
    other = make_membership(make_tenant("Wren"), role="auditor")
    for tenant_id in (heron.tenant.pk, other.tenant_id):
        for action in (*attention_page.EXPORTS, "memory.read", "audit.read", "user.changed"):
            record_tenant_event(Actor(ActorKind.STAFF, support.user_id), tenant_id, EventDraft(action))
    browser = signed_in(auditor)

    def held(address: str) -> str:
        return str(len(browser.get(address).context["lines"]))

    looks, exports = browser.get(PAGE).context["figures"][:2]
    assert (looks.number, exports.number) == ("1", "3")
    assert (held(looks.url), held(exports.url)) == ("1", "3")
    later = timezone.now() + attention_page.WEEK + timedelta(minutes=2)
    assert [each.number for each in figures_at(auditor, later)[:2]] == ["0", "0"]
    assert {held(each.url) for each in figures_at(auditor, later)[:2]} == {"0"}
    Membership.objects.create(tenant=other.tenant, user=auditor, role=Role.AUDITOR)
    answer = browser.get(PAGE)
    for each, number in zip(answer.context["figures"][:2], ("1", "3"), strict=True):
        assert (each.number, each.url) == (str(int(number) * 2), "")
        assert [(name, count, held(url)) for name, count, url in each.parts] == [
            (name, number, number) for name in sorted([heron.tenant.name, "Wren"])
        ]
        assert all(url.replace("&", "&amp;") in answer.content.decode() for _, _, url in each.parts)


def test_the_members_whose_memory_was_opened_most_are_named(heron: Place) -> None:
    signed_in(heron.staff[Role.SUPPORT].user).get(f"/admin/memories/membermemory/{heron.ids['member']}/change/")
    browser = signed_in(heron.staff[Role.AUDITOR].user)
    answer = browser.get(PAGE)
    ((name, count, url),) = answer.context["figures"][0].members
    member = Membership.objects.get(pk=heron.ids["member"])
    assert (name, count) == (member.user.speaker, "1")
    assert url.replace("&", "&amp;") in answer.content.decode()
    assert len(browser.get(url).context["lines"]) == 1


def test_who_chatted_last_is_a_press_away(heron: Place, tenant: Tenant) -> None:
    member = Membership.objects.get(pk=heron.ids["member"])
    for role in (Role.SUPPORT, Role.ADMIN):
        answer = opened_by(heron.staff[role].user)
        assert (member.user.speaker, f"/admin/memories/membermemory/{member.pk}/change/") in [
            (name, url) for name, _, url in answer.context["lately"]
        ]
        assert "Latest conversations" in answer.content.decode()
    for stranger in (heron.staff[Role.AUDITOR].user, staff_of(tenant, Role.SUPPORT)):
        assert opened_by(stranger).context["lately"] == []


def test_auditors_verify_everything_from_the_first_page(heron: Place) -> None:
    auditor, action = heron.staff[Role.AUDITOR].user, f'action="{reverse("staff:tenant_checks")}"'
    assert action in opened_by(auditor).content.decode()
    assert action not in opened_by(heron.staff[Role.SUPPORT].user).content.decode()
    TenantCheck.objects.all().delete()
    assert "was never verified as a whole" in opened_by(auditor).content.decode()
    TenantCheck.objects.create(tenant=heron.tenant, asked_by=auditor)
    assert "is being verified" in opened_by(auditor).content.decode()


def test_what_happened_in_a_tenant_that_is_gone_is_counted_nowhere(heron: Place) -> None:
    gone = make_tenant("Gone")
    support = Actor(ActorKind.STAFF, heron.staff[Role.SUPPORT].user_id)
    for tenant in (heron.tenant, gone):
        record_tenant_event(support, tenant.pk, EventDraft("memory.exported"))
    record_platform_event(support, EventDraft("memory.exported"))
    assert figures_at(root(), timezone.now())[1].number == "3"
    gone.delete()
    exports = figures_at(User.objects.get(username="root"), timezone.now())[1]
    assert (exports.number, [count for _, count, _ in exports.parts]) == ("2", ["1", "1"])


def figures_at(user: User, now: datetime) -> list[Figure]:
    request = RequestFactory().get(PAGE)
    request.user = user
    return figures_of(scope_of(request, READS_HISTORY), now)


def test_what_was_sampled_says_how_old_it_is(tenant: Tenant, membership: Membership) -> None:
    someone = staff_of(tenant, Role.SUPPORT)
    unmeasured = opened_by(someone).content.decode()
    assert '<b>Staleness, median</b> <span class="chart-last">–</span>' in unmeasured
    remember_fact(own_principal(membership), text="Has a cat")
    sample_metrics(timezone.now() - timedelta(minutes=3))
    page = " ".join(opened_by(someone).content.decode().split())
    heading = page[page.index("<h3>Staleness, median") :]
    assert re.search(r"as of <time [^>]*>\d min ago</time>", heading[: heading.index("</h3>")])
    assert "unmeasured" not in page


def test_admins_see_what_they_decide(heron: Place) -> None:
    stuck = make_membership(heron.tenant)
    halted = {"tenant": heron.tenant, "reason": "asked", "state": RequestState.STOPPED}
    ErasureRequest.objects.create(**halted, membership=stuck, started_at=timezone.now())
    ErasureRequest.objects.create(**halted, membership=make_membership(heron.tenant))
    assert needs(opened_by(heron.staff[Role.ADMIN].user)) == [
        "1 erasure is stuck",
        "1 consolidation was given up this week, and nobody read its events again",
        "1 review needs a decision",
        "1 erasure needs a second approval",
        "1 erasure was approved and cannot begin",
    ]


def test_what_failed_and_may_pass_is_told_of_apart_from_what_was_given_up(heron: Place) -> None:
    ConsolidationRun.objects.filter(given_up=True).update(given_up=False)
    situations.not_indexed(heron.staff[Role.SUPPORT], timezone.now(), set_aside_at=timezone.now())
    told = needs(opened_by(heron.staff[Role.SUPPORT].user))
    assert told[0] == "1 change was set aside, because the index does not take it"
    assert "1 consolidation failed this week and was not repeated" in told


def test_keys_in_trouble_are_told_of_where_there_are_keys(
    tenant: Tenant, membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = staff_of(tenant, Role.ADMIN)
    without_a_key = {"state": CredentialState.PENDING.value, "key_id": "", "secret": "", "trouble": "unreachable"}
    SearchCredential.objects.update_or_create(membership=membership, defaults=without_a_key)
    monkeypatch.setattr(attention_page, "in_use", lambda: False)
    assert needs(opened_by(admin)) == []
    monkeypatch.setattr(attention_page, "in_use", lambda: True)
    assert needs(opened_by(admin)) == ["1 search key could not be made or replaced"]


def test_alerts_and_the_lag_come_from_the_last_look(tenant: Tenant, membership: Membership) -> None:
    now = timezone.now()
    for situation in situations.SITUATIONS.values():
        situation(membership, now)
    for back in (10, 5, 0):
        sample_metrics(now - timedelta(minutes=back))
    told = needs(opened_by(staff_of(tenant, Role.ADMIN)))
    assert {"The record was changed", "An erasure does not get done"} <= set(told)
    assert any(re.fullmatch(r"[\d,]+ changes? waits? for the index, the oldest for .+", words) for words in
               needs(opened_by(staff_of(tenant, Role.SUPPORT))))  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_nothing_of_another_tenant_is_counted(heron: Place, tenant: Tenant, role: Role) -> None:
    someone = staff_of(tenant, role)
    ChainCheck.objects.create(chain=tenant_chain(heron.tenant.pk), what=Checked.AUDIT, ok=False)
    sample_metrics()
    answer = opened_by(someone)
    assert needs(answer) == []
    assert {figure.number for figure in answer.context["figures"]} <= {"0"}
    text = answer.content.decode()
    assert "heron" not in text and not re.search(rf"{heron.tenant.slug}\b", text)
    growth = answer.context["groups"][0]["charts"][0][0]
    assert {line.last for line in growth.lines} == {"0"}
    foreign, unknown = (signed_in(someone).get(PAGE, {"tenant": slug}) for slug in (heron.tenant.slug, "no-such-one"))
    assert foreign.status_code == unknown.status_code == 404


def test_a_role_in_one_tenant_counts_for_that_one_alone(heron: Place, tenant: Tenant) -> None:
    """An admin of one tenant who only audits another is not asked to decide there."""
    someone = staff_of(tenant, Role.ADMIN)
    Membership.objects.create(tenant=heron.tenant, user=someone, role=Role.AUDITOR)
    answer = opened_by(someone)
    assert needs(answer) == []
    assert needs(opened_by(someone, f"?tenant={tenant.slug}")) == []


def test_a_superuser_sees_all_tenants_and_each_alone(heron: Place, tenant: Tenant) -> None:
    superuser = root()
    told = needs(opened_by(superuser))
    assert "1 review needs a decision" in told and "1 erasure needs a second approval" in told
    assert needs(opened_by(superuser, f"?tenant={tenant.slug}")) == []
    page = opened_by(superuser).content.decode()
    assert f'<option value="{tenant.slug}">' in page and "All tenants" in page


def test_who_has_no_role_is_told_so(tenant: Tenant) -> None:
    assert "No admin pages to show" in opened_by(staff_of(tenant, Role.MEMBER)).content.decode()


def test_growth_counts_what_is_kept_by_day(tenant: Tenant, membership: Membership) -> None:
    for text in ("Has a cat", "Drinks tea"):
        remember_fact(own_principal(membership), text=text)
    before = timezone.now() - timedelta(days=3)
    remember_fact(own_principal(membership), text="Rows", learned_at=before)
    growth = opened_by(staff_of(tenant, Role.SUPPORT)).context["groups"][0]["charts"][0][0]
    facts = [cells[1] for _, cells in growth.rows]
    assert growth.lines[1].name == "facts" and facts[:5] == ["3", "1", "1", "1", "0"]


def test_it_asks_few_questions(heron: Place, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    sample_metrics()
    for role, expected in QUERIES.items():
        browser = signed_in(heron.staff[role].user)
        browser.get(PAGE)
        with django_assert_num_queries(expected):
            browser.get(PAGE)


# Session, user, memberships; the frame; then what this role is told of, search keys among it where there are any.
QUERIES = {Role.SUPPORT: 25, Role.AUDITOR: 27, Role.ADMIN: 35 + ON_ELASTICSEARCH}
