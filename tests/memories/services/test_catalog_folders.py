"""A folder of documents as catalog entries: repeated imports change what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from memories.errors import InvalidInput
from memories.models import CatalogEntry
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.catalog_folders import FolderReport, import_folder
from memories.types import CURRENT
from tenants.errors import Forbidden
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.recall.conftest import texts

pytestmark = pytest.mark.django_db

PRIME = "# Pumps\n\nThe pump is primed by hand before its first start, with two cups of clean water and a funnel.\n\n"
CARE = (
    "## Care\n\nOil the hinge of the pump once a year, with a drop of the oil that the box holds, and wipe it with a"
    " cloth until it is dry.\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "manual"
    (made / "sub").mkdir(parents=True)
    (made / "pumps.md").write_text(PRIME + CARE)
    (made / "sub" / "hoses.html").write_text("<h1>Hoses</h1><p>A hose of ten metres fits the pump.")
    (made / "notes.txt").write_text("not read")
    return made


def imported(principal: Principal, folder: Path) -> FolderReport:
    return import_folder(principal, folder, name="manual", base_url="https://docs.example.org/manual")


def numbers(report: FolderReport) -> tuple[int, int, int]:
    return report.added, report.unchanged, report.retired


def current() -> set[str]:
    rows = CatalogEntry.objects.unscoped("what the test stored").filter(status__in=CURRENT)
    return set(rows.values_list("title", flat=True))


def test_a_folder_becomes_entries_that_members_of_the_tenant_recall(
    admin_principal: Principal, principal: Principal, other_tenant_member: Principal, folder: Path
) -> None:
    assert numbers(imported(admin_principal, folder)) == (3, 0, 0)
    drain()
    found = recall(principal, "how do I prime the pump?").items
    assert found[0].title == "Pumps" and found[0].metadata["file"] == "pumps.md" and found[0].metadata["version"] == 1
    entry = CatalogEntry.objects.unscoped("what the test stored").get(title="Hoses")
    assert entry.source_url == "https://docs.example.org/manual/sub/hoses.html"
    assert not texts(recall(other_tenant_member, "how do I prime the pump?"))


def test_an_import_of_the_same_changes_nothing(admin_principal: Principal, folder: Path) -> None:
    imported(admin_principal, folder)
    assert numbers(imported(admin_principal, folder)) == (0, 3, 0)


def test_only_the_part_that_changed_is_replaced_and_can_come_back(admin_principal: Principal, folder: Path) -> None:
    imported(admin_principal, folder)
    (folder / "pumps.md").write_text(PRIME + CARE.replace("once", "twice"))
    assert numbers(imported(admin_principal, folder)) == (1, 2, 1)
    rows = CatalogEntry.objects.unscoped("what the test stored").filter(title="Pumps › Care")
    assert {row.metadata["version"]: row.status in CURRENT for row in rows} == {1: False, 2: True}
    (folder / "pumps.md").write_text(PRIME + CARE)
    assert numbers(imported(admin_principal, folder)) == (1, 2, 1)
    assert numbers(imported(admin_principal, folder)) == (0, 3, 0)


def test_the_entries_of_a_file_that_is_gone_are_retired(
    admin_principal: Principal, principal: Principal, folder: Path
) -> None:
    imported(admin_principal, folder)
    (folder / "pumps.md").unlink()
    assert numbers(imported(admin_principal, folder)) == (0, 1, 2)
    drain()
    assert current() == {"Hoses"} and len(recall(principal, "how do I prime the pump?").items) == 1


def test_a_file_that_cannot_be_read_keeps_its_entries_and_is_reported(admin_principal: Principal, folder: Path) -> None:
    (folder / "shop.jsonl").write_text('{"text": "A hose costs ten pounds"}')
    imported(admin_principal, folder)
    (folder / "shop.jsonl").write_text("no json")
    report = imported(admin_principal, folder)
    assert [*report.refused] == ["shop.jsonl"] and report.retired == 0


def test_what_may_not_be_stored_is_left_out_and_the_rest_comes(admin_principal: Principal, folder: Path) -> None:
    (folder / "keys.md").write_text("# Key\n\nsk-proj-Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7aB0cD3eF6gH9j\n")
    report = imported(admin_principal, folder)
    assert report.added >= 3
    stored = CatalogEntry.objects.unscoped("what the test stored").values_list("text", flat=True)
    assert not any("Ab3dE6" in text for text in stored)


def test_members_and_agents_import_nothing(principal: Principal, folder: Path) -> None:
    with pytest.raises(Forbidden):
        imported(principal, folder)


def test_links_out_of_the_folder_and_hidden_files_are_not_read(admin_principal: Principal, folder: Path) -> None:
    (folder.parent / "secret.md").write_text(PRIME)
    (folder / "link.md").symlink_to(folder.parent / "secret.md")
    (folder / ".hidden.md").write_text(PRIME)
    assert imported(admin_principal, folder).files == 2
    with pytest.raises(InvalidInput):
        imported(admin_principal, folder / "pumps.md")


def test_the_command_says_what_it_did(membership: Membership, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--tenant", membership.tenant.slug, "--user", membership.user.username)
    call_command("import_catalog", str(folder), *named, "--json")
    shown = json.loads(capsys.readouterr().out)
    assert (shown["files"], shown["added"], shown["refused"]) == (2, 3, {})
