"""People come from a file: all of them or none, and a second time nothing changes."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import translation

from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.people_import import PeopleReport, import_people
from tests.factories import make_membership, make_tenant

pytestmark = pytest.mark.django_db
HEAD = "name,email,user_id,role\n"


def test_many_people_are_imported_once(tenant: Tenant) -> None:
    many = 50 if settings.MEMORYHUB_SEARCH == "elasticsearch" else 1_000  # a key takes it a third of a second
    rows = HEAD + "".join(f"Person {n},p{n}@acme.example,u-{n},{'support' if n < 3 else ''}\n" for n in range(many))
    assert import_people(tenant.id, rows) == PeopleReport(added=many)
    events = AuditEvent.objects.count()
    assert import_people(tenant.id, rows) == PeopleReport(unchanged=many)
    assert AuditEvent.objects.count() == events
    first = Membership.objects.get(tenant=tenant, external_id="u-0")
    assert (first.user_name, first.role, first.user.speaker) == ("p0@acme.example", "support", "Person 0")
    assert not first.user.has_usable_password()


def test_a_changed_file_changes_people(tenant: Tenant) -> None:
    import_people(tenant.id, HEAD + "Ada,ada@acme.example,1,admin\nBob,bob@acme.example,2,\n")
    report = import_people(tenant.id, "user_id,role,active\n1,member,\n2,,no\n3,,\n")
    assert report == PeopleReport(added=1, changed=2)
    rows = tenant.memberships.order_by("external_id").values_list("external_id", "role", "is_active", "user__email")
    assert list(rows) == [
        ("1", "member", True, "ada@acme.example"),
        ("2", "member", False, "bob@acme.example"),
        ("3", "member", True, ""),
    ]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("Ada,no address,1,", "email"),
        ("Ada,,1,boss", "There is no role boss"),
        ("Ada,,,", "Needs a user_id"),
        ("Ada,,a/b,", "user_id: must not contain a slash"),
        ("Ada,,good,", "more than once"),
        ("Ada,1", "as many values"),
        ('Ada,"x"y,1,', "Is no CSV"),
        (f"{'x' * 101},,1,", "display_name"),
    ],
)
def test_a_fault_is_told_by_line_and_nobody_is_imported(tenant: Tenant, row: str, fault: str) -> None:
    report = import_people(tenant.id, f"{HEAD}Good,,good,\n{row}\n")
    assert fault in dict(report.faults)[3]
    assert (User.objects.count(), AuditEvent.objects.count()) == (0, 0)


def test_a_head_without_ids_or_with_other_columns_is_refused(tenant: Tenant) -> None:
    for head in ("name,role", "user_id,shoe_size", "user_id,user_id", ""):
        assert import_people(tenant.id, f"{head}\n1,2\n").faults[0][0] == 1
    assert not tenant.memberships.exists()


def test_what_a_head_names_wrongly_is_named(tenant: Tenant) -> None:
    faults = [said for _line, said in import_people(tenant.id, "Name,Shoe size,name\nAda,38,Ada\n").faults]
    assert "not known: Shoe size." in faults[0]
    assert "column name more than once" in faults[1] and "email or user_id" in faults[2]


def test_columns_may_be_named_as_the_list_of_members_names_them(tenant: Tenant) -> None:
    assert import_people(tenant.id, "Display name,External id , E-Mail\nAda,1,ada@acme.example\n").added == 1
    with translation.override("de"):
        assert import_people(tenant.id, "Anzeigename;Externe ID;Rolle\nBob;2;admin\n").added == 1
    assert set(tenant.memberships.values_list("external_id", "role")) == {("1", "member"), ("2", "admin")}


def test_all_faults_of_a_row_are_told(tenant: Tenant) -> None:
    faults = import_people(tenant.id, HEAD + "Ada,no address,,boss\n").faults
    assert [line for line, _said in faults] == [2, 2]
    assert {said.split()[0] for _line, said in faults} == {"email:", "There"}


def test_a_dry_run_says_what_would_happen_and_changes_nothing(tenant: Tenant) -> None:
    assert import_people(tenant.id, HEAD + "Ada,,1,\n", dry_run=True) == PeopleReport(added=1)
    assert not tenant.memberships.exists()


def test_an_id_of_another_tenant_is_somebody_else(tenant: Tenant) -> None:
    other = make_tenant()
    import_people(other.id, HEAD + "Theirs,ada@acme.example,1,\n")
    assert import_people(tenant.id, HEAD + "Ours,ada@acme.example,1,\n").added == 1
    assert other.memberships.get().user.display_name == "Theirs"


def test_a_username_that_somebody_chose_is_nobodys_address_or_id(tenant: Tenant) -> None:
    for name in ("boss@acme.example", "boss"):
        make_membership(tenant, username=name)
    assert import_people(tenant.id, HEAD + "Boss,boss@acme.example,,admin\nOther,,boss,admin\n").added == 2
    assert set(tenant.memberships.filter(role="member").values_list("user_name", flat=True)) == {""}


def test_somebody_is_known_by_the_address_that_an_administrator_gave(tenant: Tenant) -> None:
    by_hand = make_membership(tenant)
    User.objects.filter(pk=by_hand.user_id).update(email="ada@acme.example")
    assert import_people(tenant.id, HEAD + "Ada,Ada@acme.example,,support\n").changed == 1
    assert (tenant.memberships.get().role, tenant.memberships.get().user_name) == ("support", "Ada@acme.example")


def test_an_account_that_opens_more_is_not_renamed(tenant: Tenant) -> None:
    guest = make_membership(tenant, name="Guest")
    Membership.objects.create(tenant=make_tenant(), user=guest.user)
    Membership.objects.filter(pk=guest.pk).update(external_id="1")
    assert import_people(tenant.id, HEAD + "Mallory,,1,\n").faults[0][0] == 2


def test_the_command_imports_or_says_why_not(tenant: Tenant, tmp_path: Path) -> None:
    file, out = tmp_path / "people.csv", StringIO()
    file.write_text(HEAD + "Ada,,1,\n")
    call_command("member", "import", str(file), "--tenant", tenant.slug, "--json", stdout=out)
    assert json.loads(out.getvalue()) == [{"added": 1, "changed": 0, "unchanged": 0}]
    file.write_text(HEAD + "Ada,,1,boss\n")
    with pytest.raises(CommandError, match="line 2: There is no role boss"):
        call_command("member", "import", str(file), "--tenant", tenant.slug)


def test_a_report_says_row_by_row_what_happens(tenant: Tenant) -> None:
    import_people(tenant.id, HEAD + "Ada,ada@acme.example,1,\nBob,,2,\n")
    text = "user_id;role;name\n1;admin;Ada\n2;;Bob\n3;support;Cleo\n"  # as spreadsheets of many countries write it
    rows = import_people(tenant.id, text, dry_run=True).rows
    assert [(row.line, row.who, row.what, row.details) for row in rows] == [
        (2, "Ada", "changed", ("admin",)),
        (3, "Bob", "unchanged", ()),
        (4, "Cleo", "added", ("Cleo", "support")),
    ]
