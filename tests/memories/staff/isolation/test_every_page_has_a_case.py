"""A page of the admin that nobody tries to break into is not done: this is part of `make check`."""

from __future__ import annotations

import pytest
from django.contrib import admin

from tests.memories.staff.isolation.addresses import Address, addresses
from tests.memories.staff.isolation.cases import COMPLETED, MODELS, OF_THE_SITE, PAGES

STOCK = ("changelist", "add", "change", "history", "delete")
WHAT_TO_DO = "add a line to tests/memories/staff/isolation/cases.py"


@pytest.mark.parametrize("address", addresses(), ids=lambda each: each.name or each.route)
def test_an_address_has_a_case(address: Address) -> None:
    model, _, what = address.name.rpartition("_")
    is_stock = what in STOCK and model in MODELS
    is_redirect = not address.name  # Django's own: an old address of a row, and what leads nowhere
    assert is_redirect or is_stock or address.name in OF_THE_SITE | PAGES.keys(), WHAT_TO_DO


def test_a_case_names_all_that_its_address_takes() -> None:
    taken = {each.name: len(each.arguments) for each in addresses()}
    wrong = [name for name, page in PAGES.items() if name != "app_list" and taken.get(name) != len(page.takes)]
    assert not wrong, WHAT_TO_DO


def test_a_model_in_the_table_is_in_the_admin() -> None:
    known = {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}
    assert not MODELS.keys() - known


def test_what_is_completed_while_one_types_has_a_case() -> None:
    completed = {
        (model._meta.label_lower, name)
        for model, page in admin.site._registry.items()
        for name in page.autocomplete_fields
    }
    assert completed == COMPLETED, WHAT_TO_DO
