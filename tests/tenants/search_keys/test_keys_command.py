"""`manage.py keys`: what operators do and see, tenant by tenant."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from pytest_django import Settings

from memoryhub.env.values import development_secret
from tenants.management.commands import keys
from tenants.models import Membership, SearchCredential
from tenants.principal import Principal
from tests.tenants.search_keys.conftest import Away
from tests.tenants.search_keys.probing import credential, key_of, seen, status_of


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "GRACE", timedelta(0))


def ran(action: str, member: Membership, *more: str, user: bool = True) -> tuple[dict[str, Any], int]:
    """What the command answered in JSON about this member (or their tenant), and its exit code."""
    out = StringIO()
    who = ["--tenant", member.tenant.slug, *(["--user", member.user.username] if user else [])]
    try:
        call_command("keys", action, *who, "--json", *more, stdout=out)
    except SystemExit as end:
        return json.loads(out.getvalue()), int(end.code or 0)
    return json.loads(out.getvalue()), 0


def test_mint_makes_what_is_missing(membership: Membership, other_member: Principal) -> None:
    SearchCredential.objects.all().delete()
    answer, code = ran("mint", membership)
    assert (answer["made"], code) == (1, 0)
    assert not SearchCredential.objects.filter(membership_id=other_member.membership_id).exists()
    assert ran("mint", membership, user=False)[0]["made"] == 1
    assert ran("mint", membership, user=False)[0]["made"] == 0


def test_rotate_replaces_and_ends_the_old_key(membership: Membership, other_member: Principal) -> None:
    old, others = key_of(membership), key_of(other_member)
    seen(credential(membership).key_id)
    answer, code = ran("rotate", membership)
    assert (answer["replaced"], answer["failed"], code) == (1, 0, 0)
    assert status_of(old) == 401 and status_of(key_of(membership)) == 200
    assert key_of(other_member) == others


def test_revoke_takes_a_key_until_mint(membership: Membership, other_member: Principal) -> None:
    old = key_of(membership)
    answer, code = ran("revoke", membership)
    assert (answer, code) == ({"revoked": 1, "waiting": 0}, 0)
    assert status_of(old) == 401 and status_of(key_of(other_member)) == 200
    assert ran("list", membership)[0]["keys"][0]["state"] == "revoked"
    assert ran("mint", membership)[0]["made"] == 1


def test_list_shows_states_and_no_secret(membership: Membership, other_member: Principal) -> None:
    encoded = key_of(membership)
    answer, _ = ran("list", membership, user=False)
    assert [row["state"] for row in answer["keys"]] == ["active", "active"]
    assert {row["key"] for row in answer["keys"]} == set(SearchCredential.objects.values_list("key_id", flat=True))
    out = StringIO()
    call_command("keys", "list", "--all", stdout=out)
    assert "2 members." in out.getvalue()
    assert encoded not in out.getvalue() + json.dumps(answer)


def test_verify_finds_a_key_that_is_not_ours_and_repairs_it(membership: Membership, other_member: Principal) -> None:
    seen(credential(membership).key_id, credential(other_member).key_id)
    SearchCredential.objects.filter(membership=membership).update(secret="not a secret of ours")
    answer, code = ran("verify", membership, user=False)
    (finding,) = answer["findings"]
    assert (answer["ok"], answer["members"], finding["membership"], code) == (False, 2, str(membership.id), 1)
    answer, code = ran("verify", membership, "--repair", user=False)
    assert (answer["repaired"], code) == (1, 0)
    assert ran("verify", membership, user=False) == ({"ok": True, "members": 2, "repaired": 0, "findings": []}, 0)


def test_reencrypt_moves_every_secret_to_the_first_key(membership: Membership, settings: Settings) -> None:
    encoded, new = key_of(membership), Fernet.generate_key().decode()
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new, development_secret(settings.MEMORYHUB_DATA_DIR, "credential_key"))
    assert ran("reencrypt", membership) == ({"reencrypted": 1, "undecipherable": []}, 0)
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new,)
    assert key_of(membership) == encoded
    settings.MEMORYHUB_CREDENTIAL_KEYS = (Fernet.generate_key().decode(),)
    assert ran("reencrypt", membership) == ({"reencrypted": 0, "undecipherable": [str(membership.id)]}, 1)


def test_the_command_isolates_other_tenants(membership: Membership, other_tenant_member: Principal) -> None:
    theirs = key_of(other_tenant_member)
    for action in ("rotate", "revoke"):
        ran(action, membership, user=False)
    assert key_of(other_tenant_member) == theirs
    assert status_of(theirs) == 200
    stranger = Membership.objects.get(id=other_tenant_member.membership_id).user.username
    with pytest.raises(CommandError, match="No single active member"):
        call_command("keys", "revoke", "--tenant", membership.tenant.slug, "--user", stranger)


def test_a_cluster_that_is_away_is_an_exit_code_and_a_reason(membership: Membership, away: Away) -> None:
    with away():
        assert ran("rotate", membership)[0]["why"] == ["The search cluster does not answer."]
        assert ran("rotate", membership)[1] == 1
        with pytest.raises(CommandError, match="does not answer"):
            ran("verify", membership)
        assert ran("revoke", membership) == ({"revoked": 1, "waiting": 1}, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["list"], "required", id="nobody named"),
        pytest.param(["list", "--tenant", "nowhere"], "no tenant 'nowhere'", id="no such tenant"),
        pytest.param(["list", "--all", "--user", "ada"], "Give --tenant", id="a user of every tenant"),
        pytest.param(["list", "--tenant", "a\0"], "no tenant", id="NUL"),
    ],
)
def test_a_command_that_cannot_be_understood_says_why(db: None, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("keys", *arguments)


def test_without_elasticsearch_there_is_nothing_to_do(db: None, settings: Settings) -> None:
    settings.MEMORYHUB_SEARCH = "embedded"
    with pytest.raises(CommandError, match="MEMORYHUB_SEARCH"):
        call_command("keys", "list", "--all")
