"""As staff of one tenant, what another has is not there: no page, no form, no choice, no count tells of it.

Invariant: a foreign id is answered as one that does not exist, in every mixture with own ones; nothing of the other
tenant changes, its audit log included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from tenants.models import Membership
from tenants.principal import Role
from tests.factories import make_membership
from tests.memories.staff.isolation.addresses import addresses, reversed_name
from tests.memories.staff.isolation.cases import MODELS, PAGES, Page
from tests.memories.staff.isolation.place import ROLES, Place, make_place, nowhere, rows_of
from tests.stored import stored

pytestmark = pytest.mark.django_db

OWN, FOREIGN = "quokka", "zebrafish"
PART_OF_FOREIGN = "ebrafis"  # to search for: a page repeats what is searched
SEARCH = 'name="q"'
SHORT = 8  # the number of a turn is no id
# An address without a case fails in test_every_page_has_a_case.py.
NAMED = [each for each in addresses() if each.name in PAGES or each.name.rpartition("_")[0] in MODELS]
FORMS = ("add", "change", "delete")
# A list of Django's that takes `?q=`; a page of our own that does has a field of that name.
SEARCHED = {
    f"{model._meta.app_label}_{model._meta.model_name}_changelist"
    for model, page in admin.site._registry.items()
    if page.search_fields
}


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Callable[[], tuple[Place, Place]]:
    return stored(lambda: (make_place(OWN), make_place(FOREIGN)), django_db_blocker)


@pytest.fixture
def places(made: Callable[[], tuple[Place, Place]], db: None) -> tuple[Place, Place]:
    """One's own tenant, and another."""
    return made()


def signed_in(membership: Membership) -> Client:
    client = Client(raise_request_exception=True)
    client.force_login(membership.user)
    return client


def case_of(name: str) -> tuple[str, Page]:
    """The last part of a name, and its case."""
    model, _, what = name.rpartition("_")
    if name in PAGES:
        return what, PAGES[name]
    stock = MODELS[model]
    return what, Page(() if what in ("changelist", "add") else (stock.row,), roles=stock.roles)


def described(answer: Any, ids: Mapping[str, Any]) -> tuple[int, str, str]:
    """Status, target and words of an answer, without the ids that were asked for and what is new each time."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = body.decode(errors="replace")
    target = answer.headers.get("Location", "")
    for value in (str(each) for each in ids.values() if isinstance(each, UUID | int) and len(str(each)) > SHORT):
        text, target = text.replace(value, "ID"), target.replace(quote(value), "ID").replace(value, "ID")
    return answer.status_code, target, re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


def send(browser: Client, name: str, page: Page, ids: Mapping[str, Any]) -> Any:
    browser.cookies.pop("messages", None)  # what another page had to say
    address = reverse(reversed_name(name), args=[ids[each] for each in page.takes])
    return browser.post(address, page.data) if page.method == "POST" else browser.get(address)


def mixtures(page: Page, own: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The ids of a request with at least one that is not one's own; what is a mere word or number has no owner."""
    owned = [each for each in page.takes if str(own[each]) != str(other[each])]
    for chosen in product((True, False), repeat=len(owned)):
        if not all(chosen):
            yield {**own, **{name: other[name] for name, is_own in zip(owned, chosen, strict=True) if not is_own}}


def test_another_tenants_rows_do_not_exist(places: tuple[Place, Place]) -> None:
    own, other = places
    for role in ROLES:
        browser, before = signed_in(own.staff[role]), rows_of(other.tenant)
        told: list[str] = []
        for name in (each.name for each in NAMED):
            _, page = case_of(name)
            for foreign in mixtures(page, own.ids, other.ids):
                # In the same places, ids of which there is nothing.
                absent = nowhere(other)
                unknown = {each: absent[each] if foreign[each] != own.ids[each] else own.ids[each] for each in foreign}
                first = described(send(browser, name, page, foreign), foreign)
                second = described(send(browser, name, page, unknown), unknown)
                if first != second or FOREIGN in first[2] or first[0] == 200:
                    told.append(
                        f"{role.value} at {name}: {first[0]} {first[1]}, for an unknown one {second[0]} {second[1]}"
                    )
        assert not told
        assert rows_of(other.tenant) == before


def test_pages_are_open_to_their_roles_alone_and_show_ones_own_alone(places: tuple[Place, Place]) -> None:
    own, other = places
    for role in ROLES:
        browser, wrong = signed_in(own.staff[role]), []
        for name in (each.name for each in NAMED):
            what, page = case_of(name)
            if page.takes and name not in PAGES and what in FORMS:
                continue  # what a form lets one do is tested beside it; here a row is looked for
            answer = send(browser, name, page, own.ids)
            text = described(answer, {})[2]
            if FOREIGN in text or (not page.takes and str(other.tenant.pk) in text):
                wrong.append(f"{role.value} sees others at {name}")
            home = answer.headers.get("Location") == reverse("admin:index")  # where Django leads from what is not there
            closed = answer.status_code in (403, 404) or home
            opened = answer.status_code == page.opens or (what == "history" and home)  # a row of one's own, perhaps
            if not (what == "add" or (opened if role in page.roles else closed)):
                wrong.append(f"{role.value} at {name}: {answer.status_code}")
            if page.takes or not (SEARCH in text or (name in SEARCHED and answer.status_code == 200)):
                continue
            # An id is looked for as a word is: one role shows it.
            ids = (str(other.ids["member"]), str(other.ids["user"])) if role is Role.ADMIN else ()
            wrong += [
                f"{role.value} finds others at {name}: {asked}"
                for asked in (PART_OF_FOREIGN, *ids)
                if FOREIGN in described(browser.get(reverse(reversed_name(name)), {"q": asked}), {})[2]
            ]
        assert not wrong


def test_actions_on_another_tenants_rows_do_nothing(places: tuple[Place, Place]) -> None:
    own, other = places
    for role in ROLES:
        browser, before = signed_in(own.staff[role]), rows_of(other.tenant)
        for model, page in admin.site._registry.items():
            name = f"{model._meta.app_label}_{model._meta.model_name}"
            if name not in MODELS or not page.actions:
                continue
            address = reverse(f"admin:{name}_changelist")
            for action in page.actions:
                action_name = action if isinstance(action, str) else action.__name__
                chosen = {"action": action_name, "_selected_action": [str(other.ids[MODELS[name].row])]}
                answer = browser.post(address, chosen)
                assert FOREIGN not in answer.content.decode(), f"{name}: {action_name}"
            assert FOREIGN not in browser.get(address).content.decode(), f"what is told after the actions of {name}"
        assert rows_of(other.tenant) == before


def test_forms_take_no_row_of_another_tenant(places: tuple[Place, Place]) -> None:
    own, other = places
    for role in ROLES:
        browser, before = signed_in(own.staff[role]), rows_of(other.tenant)
        choices = {
            "tenant": str(other.tenant.pk), "user": str(other.ids["user"]), "membership": str(other.ids["member"]),
            "member": str(other.ids["member"]), "category": "food", "soft_days": "3", "name": "mine",
            "scopes": ["chat"], "username": "mine", "role": "admin", "reason": "mine", "post": "yes",
        }  # fmt: skip
        for name, model in MODELS.items():
            for address in (
                reverse(f"admin:{name}_add"),
                *(reverse(f"admin:{name}_{what}", args=[other.ids[model.row]]) for what in ("change", "delete")),
            ):
                answer = browser.post(address, choices)
                assert FOREIGN not in answer.content.decode(), address
        assert FOREIGN not in browser.get(reverse("admin:index")).content.decode(), "what is told after the forms"
        assert rows_of(other.tenant) == before


def test_nothing_of_another_tenant_is_completed(places: tuple[Place, Place]) -> None:
    own, _ = places
    for role in ROLES:
        browser = signed_in(own.staff[role])
        for model in admin.site._registry:
            for column in (each for each in model._meta.concrete_fields if each.is_relation):
                named = {"app_label": model._meta.app_label, "model_name": str(model._meta.model_name)}
                asked = named | {"field_name": column.name, "term": PART_OF_FOREIGN}
                answer = browser.get(reverse("admin:autocomplete"), asked)
                assert FOREIGN not in answer.content.decode(), asked


def test_a_member_and_a_stranger_come_to_the_door_alone(places: tuple[Place, Place]) -> None:
    own, _ = places
    for browser in (signed_in(make_membership(own.tenant)), Client()):
        for name in (each.name for each in NAMED):
            _, page = case_of(name)
            answer = send(browser, name, page, own.ids)
            assert answer.status_code == 302 and "login" in answer.headers["Location"], name
