"""The sidebar: every list of the admin has its place, and nobody is led to a page that is not theirs."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.urls import reverse

from memories.staff.navigation import sidebar
from tenants.models import Tenant, User
from tenants.principal import Role
from tests.memories.staff.isolation.place import ROLES
from tests.memories.staff.looking import staff_of

pytestmark = pytest.mark.django_db


def links_of(user: User) -> list[str]:
    request = RequestFactory().get("/admin/")
    request.user = user
    return [item["link"] for group in sidebar(request) for item in group["items"]]


def test_every_list_has_a_place() -> None:
    root = User.objects.create_superuser("root", password="correct horse battery staple")
    lists = {
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in admin.site._registry
    }
    names = ("cases", "histories", "metrics", "superseded", "audit_reports", "tenant_checks", "check_file")
    pages = {reverse(f"staff:{name}") for name in names}
    assert set(links_of(root)) == lists | {"/admin/"} | pages


@pytest.mark.parametrize("role", ROLES)
def test_it_leads_only_where_one_may_go_and_names_the_page(tenant: Tenant, role: Role) -> None:
    staff = staff_of(tenant, role)
    browser = Client()
    browser.force_login(staff)
    for link in links_of(staff):
        answer = browser.get(link)
        assert answer.status_code == 200, link
        heading = answer.content.decode().split("<h1>")[1].split("</h1>")[0]
        assert heading.strip(), link


def test_a_closed_page_lists_what_is_open(tenant: Tenant) -> None:
    staff = staff_of(tenant, Role.SUPPORT)
    browser = Client()
    browser.force_login(staff)
    answer = browser.get(reverse("admin:memories_erasurerequest_changelist"))
    offered = answer.content.decode()
    assert answer.status_code == 403
    assert [link for link in links_of(staff) if f'href="{link}"' not in offered] == []
