"""Importing items: an export comes back equal, overwrites nothing, and reports by line what cannot be put."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.errors import InvalidInput
from memories.importing.formats import parse_export
from memories.importing.records import record_line
from memories.models import Item, MemoryPolicy
from memories.selectors.items import get_item, search_items
from memories.services.items import delete, erase, erase_expired, put
from memories.services.portability.exports_import import Imported, import_export
from memories.services.portability.memories_export import export_memories
from memories.types import Kind
from tenants.principal import Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

HERE = ("users", "a/b %")
SECRET = "AKIAIOSFODNN7EXAMPLE"


def lines_of(principal: Principal) -> list[dict[str, Any]]:
    """The items of an export, without ids and times."""
    lines = [json.loads(record_line(record)) for record in export_memories(principal)]
    return [{name: line[name] for name in line if name not in ("id", "expires_at")} for line in lines]


def file_of(principal: Principal) -> bytes:
    return "\n".join(record_line(record) for record in export_memories(principal)).encode()


def bring(principal: Principal, source: bytes | list[dict[str, Any]], **options: Any) -> Imported:
    body = source if isinstance(source, bytes) else "\n".join(map(json.dumps, source)).encode()
    form, export = parse_export(body)
    return import_export(principal, form, export, **options)


def item(key: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "item", "namespace": [*HERE], "key": key, "value": value, **more}


def test_an_export_comes_back_equal_and_once(principal: Principal, other_member: Principal) -> None:
    values: list[Any] = [None, False, 0, 1.5, "", [], {"a.b": [None, {"c": "d\x00"}]}, 2**70]
    for number, value in enumerate(values):
        put(principal, namespace=HERE, key=f"k{number}", value=value)
    put(principal, namespace=HERE, key="hidden", value="a tortoise", index=False)
    put(principal, namespace=HERE, key="part", value={"to": "a hedge", "by": "a hare"}, index=["to"])
    put(replace(principal, app="planner"), namespace=HERE, key="soon", value="a hare", ttl_minutes=5)
    put(principal, namespace=HERE, key="deleted", value=1)
    delete(principal, namespace=HERE, key="deleted")
    file = file_of(principal)
    told = bring(other_member, file, dry_run=True)
    assert told.report.added == {Kind.ITEM: 11} and not Item.objects.of(other_member).exists()
    done, again = bring(other_member, file), bring(other_member, file)
    assert (done.report.added, again.report.total_added, again.report.known) == ({Kind.ITEM: 11}, 0, 11)
    assert lines_of(other_member) == lines_of(principal)
    found = [each.item.key for each in search_items(other_member, query="a hare or a tortoise").items]
    assert found[0] == "soon" and "hidden" not in found
    assert bring(principal, file).report.known == 11


def test_what_cannot_be_put_is_reported_by_line_and_the_rest_is_stored(principal: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, never_words="xylophone")
    past = (timezone.now() - timedelta(minutes=1)).isoformat()
    lines = [
        item("blocked", {"aws": SECRET}),
        item("kept out", "Plays the xylophone."),
        item("late", 1, ttl_minutes=5, expires_at=past),
        item("deep", [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]),
        {**item("nowhere", 1), "namespace": []},
        item("app", 1, app=" "),
        item("good", "a hare"),
    ]
    told, done = bring(principal, lines, dry_run=True), bring(principal, lines)
    assert told.refused == done.refused and done.report.added == {Kind.ITEM: 1}
    assert {each.place for each in done.refused} == {f"line {number}" for number in range(1, 7)}
    shown = " ".join(each.reason for each in done.refused)
    assert SECRET not in shown and "password, key or token" in shown and "in the past" in shown
    assert get_item(principal, namespace=HERE, key="good").content == "a hare"


@pytest.mark.parametrize("line", [{"key": "k", "value": 1}, {"namespace": [1], "key": "k", "value": 1}, {"key": 7}])
def test_a_line_that_is_no_item_refuses_the_file(principal: Principal, line: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="line 2"):
        bring(principal, [item("good", 1), {"kind": "item", **line}])
    assert not Item.objects.of(principal).exists()


def test_what_changed_here_or_went_here_stays_so(principal: Principal, other_member: Principal) -> None:
    lines = [item(key, "old") for key in ("changed", "deleted", "erased")]
    bring(principal, lines)
    put(principal, namespace=HERE, key="changed", value="new")
    delete(principal, namespace=HERE, key="deleted")
    erase(principal, item_id=get_item(principal, namespace=HERE, key="erased").pk)
    done = bring(principal, lines)
    assert (done.report.total_added, done.report.forgotten) == (0, 2)
    assert [(each.place, "another value" in each.reason) for each in done.refused] == [("line 1", True)]
    assert get_item(principal, namespace=HERE, key="changed").content == "new"
    assert bring(other_member, lines).report.added == {Kind.ITEM: 3}


def test_what_its_member_erased_does_not_come_back_from_their_own_export(principal: Principal) -> None:
    mine, _ = put(principal, namespace=HERE, key="k", value="gone")
    file = file_of(principal)
    erase(principal, item_id=mine.pk)
    assert bring(principal, file).report.forgotten == 1
    assert not Item.objects.of(principal).exists()


@pytest.mark.parametrize("collected", [False, True])
def test_what_expired_here_does_not_come_back(principal: Principal, collected: bool) -> None:
    lines = [item("k", "gone", ttl_minutes=5)]
    bring(principal, lines)
    Item.objects.unscoped("a test winds the clock").update(expires_at=timezone.now())
    if collected:
        erase_expired()
    assert bring(principal, lines).report.forgotten == 1
    assert not search_items(principal).items
