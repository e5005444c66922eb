"""The page of metrics: what fires, what went how, for whoever may know it and of no other tenant."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories.metrics.alert_definitions import ALERTS
from memories.metrics.definitions import METRICS
from memories.metrics.sampling import EVERY, sample_metrics
from memories.models import MetricSample, RunState
from tenants.admin.scoping import SHARED_NAME
from tenants.models import Membership, Tenant, User
from tests.factories import make_membership, make_tenant
from tests.memories.admin.test_deciding import with_access
from tests.memories.metrics import situations as made
from tests.memories.staff.looking import words

pytestmark = pytest.mark.django_db

PAGE = "/admin/memories/metricsample/"
# Session, user, membership, tenants, the last look three times, looks and samples.
QUERIES = 10


@pytest.fixture
def staff(client: Client, tenant: Tenant) -> Client:
    """The browser of Alice, who administers `tenant`."""
    client.force_login(with_access(make_membership(tenant, role="admin", name="Alice")).user)
    return client


@pytest.fixture
def foreign(db: None) -> Membership:
    """A member of another tenant, in which everything is wrong."""
    return make_membership(make_tenant("Zeppelin Works"))


def go_wrong(member: Membership, looks: int = 2) -> datetime:
    """Everything goes wrong in a tenant; return the time of the last look."""
    now = timezone.now()
    for situation in made.SITUATIONS.values():
        situation(member, now)
    for place in range(looks):
        sample_metrics(now - EVERY * (looks - 1 - place))
    return now


def inside(answer: Any) -> str:
    """The page without the frame of the admin."""
    return str(answer.content.decode().split('class="metrics-page"')[1].split("<footer")[0])


@pytest.mark.parametrize("query", ["", "?span=30d", "?span=6h&tenant="])
def test_admin_metrics_isolate_other_tenants(staff: Client, tenant: Tenant, foreign: Membership, query: str) -> None:
    go_wrong(foreign)
    answer = staff.get(PAGE + query)
    told = answer.content.decode()
    assert answer.status_code == 200 and "no alerts firing." in words(answer)
    assert not [word for word in (foreign.tenant.name, foreign.tenant.slug, str(foreign.tenant_id)) if word in told]
    assert answer.context["page"]["alarms"] == []
    paths = {line.path for _, charts in answer.context["page"]["groups"] for chart in charts for line in chart.lines}
    own = {cells for _, charts in answer.context["page"]["groups"] for chart in charts for _, cells in chart.rows}
    assert paths and own <= {(shown,) * count for shown in ("–", "0", "0 s", "0.00") for count in (1, 6)}


def test_a_tenant_of_others_is_as_one_that_does_not_exist(staff: Client, foreign: Membership) -> None:
    first, second = (staff.get(PAGE, {"tenant": slug}) for slug in (foreign.tenant.slug, "no-such-tenant"))
    assert first.status_code == second.status_code == 404
    assert words(first) == words(second)


def test_staff_of_two_tenants_choose_between_these(staff: Client, tenant: Tenant, foreign: Membership) -> None:
    second = make_tenant("Second Home")
    Membership.objects.create(tenant=second, user=User.objects.get(display_name="Alice"), role="auditor")
    Membership.objects.create(tenant=foreign.tenant, user=User.objects.get(display_name="Alice"), role="member")
    sample_metrics()
    answer = staff.get(PAGE)
    options = re.findall(r'<option value="([^"]*)"', answer.content.decode())
    assert sorted(options) == sorted(["", tenant.slug, second.slug])
    assert staff.get(PAGE, {"tenant": second.slug}).context["page"]["shown"] == ["Second Home"]


def test_the_platform_sees_every_tenant_and_each_alone(
    admin_client: Client, membership: Membership, foreign: Membership
) -> None:
    go_wrong(foreign)
    answer = admin_client.get(PAGE)
    assert {alarm["tenant"] for alarm in answer.context["page"]["alarms"]} == {"Zeppelin Works", SHARED_NAME}
    assert answer.context["page"]["shown"][0] == "Zeppelin Works" and answer.context["page"]["hidden"] == 0
    alone = admin_client.get(PAGE, {"tenant": membership.tenant.slug})
    assert alone.context["page"]["alarms"] == [] and alone.context["page"]["shown"] == [membership.tenant.name]


def test_an_alert_says_its_state_value_threshold_since_and_what_to_do(staff: Client, tenant: Tenant) -> None:
    member = make_membership(tenant)
    go_wrong(member)
    told = words(staff.get(PAGE))
    assert "▲ Firing warning Consolidations fail" in told
    assert "◷ Pending warning Memory is written unusually fast" in told
    assert "Consolidations failed 11 Alert over 10 Since" in told
    assert "Run manage.py consolidate --runs to see the errors" in told
    page = staff.get(PAGE).context["page"]
    held = {alarm["alert"].name for alarm in page["alarms"]}
    assert held | {alert.name for alert, _, _ in page["quiet"]} == {alert.name for alert in ALERTS}
    assert {"MemoryhubIndexLagging", "MemoryhubSensitiveWrites"} <= held


def test_there_is_a_chart_for_each_metric_that_can_be_read_without_seeing_it(staff: Client, tenant: Tenant) -> None:
    member = make_membership(tenant)
    now = timezone.now()
    made.recalled(member, now, 3)
    for quarters in range(5, -1, -1):
        sample_metrics(now - timedelta(minutes=15 * quarters))
    answer = staff.get(PAGE)
    told = inside(answer)
    charts = [chart for _, group in answer.context["page"]["groups"] for chart in group]
    assert sorted(chart.title for chart in charts) == sorted(metric.title for metric in METRICS)
    ids = re.findall(r'\bid="(chart-[^"]+)"', told)
    assert len(ids) == len(set(ids)) == 2 * sum(not chart.sparse for chart in charts) > 0
    assert told.count('class="chart-numbers"') == sum(chart.sparse for chart in charts) > 0
    assert set(" ".join(re.findall(r'aria-labelledby="(chart-[^"]+)"', told)).split()) == set(ids)
    assert told.count("<table>") == len(METRICS) + 1
    assert "20 ms" in told and "15 ms" in told


def test_a_tenant_keeps_its_line_whichever_is_in_trouble_and_whoever_looks(
    staff: Client, tenant: Tenant, foreign: Membership, admin_client: Client
) -> None:
    line = re.compile(r'line-(\d)" d="M1 4H23"></path></svg> ([^<]+?) <')
    for quarters in range(8, 0, -1):
        sample_metrics(timezone.now() - EVERY * 3 * quarters)
    calm = {name: style for style, name in line.findall(inside(admin_client.get(PAGE)))}
    go_wrong(foreign, looks=1)
    troubled = {name: style for style, name in line.findall(inside(admin_client.get(PAGE)))}
    assert calm.keys() == {tenant.name, "Zeppelin Works"} and calm.items() <= troubled.items()
    alone = inside(admin_client.get(PAGE, {"tenant": foreign.tenant.slug}))
    assert f'line line-{calm["Zeppelin Works"]}"' in alone


def test_the_stages_of_a_recall_are_named_in_the_language_of_the_page(staff: Client, tenant: Tenant) -> None:
    made.recalled(make_membership(tenant), timezone.now(), 3)
    sample_metrics()
    page = words(staff.get(PAGE, headers={"accept-language": "es"}))
    assert all(stage in page for stage in ("Candidatos", "Cargados", "Total"))
    assert "candidates" not in page and "loaded" not in page


def test_before_the_first_look_it_says_what_will_appear_here(staff: Client) -> None:
    told = words(staff.get(PAGE))
    assert "No measurements yet." in told and "<figure" not in staff.get(PAGE).content.decode()


def test_when_nobody_samples_any_more_it_does_not_say_that_all_is_well(staff: Client, tenant: Tenant) -> None:
    made.consolidated(make_membership(tenant), timezone.now() - timedelta(hours=2), RunState.FAILED, 11)
    sample_metrics(timezone.now() - timedelta(hours=1))
    told = words(staff.get(PAGE))
    assert "were last measured" in told and "As of" not in told


def test_many_tenants_take_no_more_queries(admin_client: Client, django_assert_num_queries: Any) -> None:
    for _ in range(7):
        made.recalled(make_membership(), timezone.now(), 3)
    sample_metrics()
    admin_client.get(PAGE)
    with django_assert_num_queries(QUERIES):
        page = admin_client.get(PAGE).context["page"]
    assert (len(page["shown"]), page["hidden"]) == (5, 2)


@pytest.mark.parametrize("query", ["?span=never", "?span=7d&q=x&all=", "?o=1.2&p=3&_facets=True"])
def test_what_it_does_not_know_it_ignores(staff: Client, query: str) -> None:
    sample_metrics()
    assert staff.get(PAGE + query).status_code == 200


def test_no_sample_has_a_page_of_its_own(admin_client: Client) -> None:
    sample_metrics()
    sample = MetricSample.objects.get()
    for path in (f"{sample.pk}/", f"{sample.pk}/change/", f"{sample.pk}/delete/", "add/"):
        assert admin_client.get(PAGE + path).status_code == 404
    form = {"action": "delete_selected", "_selected_action": sample.pk, "post": "yes"}
    assert admin_client.post(PAGE, form).status_code == 405
    assert MetricSample.objects.count() == 1
