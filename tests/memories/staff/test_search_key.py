"""The search key of a member on its page, on a real cluster: verified, replaced, taken and made again."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from memoryhub.elasticsearch import Identity, service_client
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.models import AuditEvent, Membership, RetiredKey, SearchCredential, User
from tenants.principal import SYSTEM
from tenants.search_keys import revoke_waiting
from tenants.search_keys.verification import Drift
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import INLINE, inside, words
from tests.tenants.search_keys.probing import credential, key_of, seen, status_of

pytestmark = pytest.mark.django_db


def told(membership: Membership) -> list[str]:
    events = AuditEvent.objects.filter(target_id=membership.pk, action__startswith="search_key.").order_by("sequence")
    assert set(events.values_list("tenant_id", "actor_kind")) <= {(membership.tenant_id, "staff")}
    return [event.action.removeprefix("search_key.") for event in events]


@pytest.mark.usefixtures("elasticsearch")
def test_the_state_is_told_in_words_and_never_the_secret(administrator: Client, at: At, membership: Membership) -> None:
    row = credential(membership)
    page = administrator.get(at("search_key"))
    shown = page.content.decode()
    assert "Active" in words(page) and row.key_id in shown and "Nothing yet." in words(page)
    assert key_of(membership) not in shown and row.secret not in shown
    assert not INLINE.search(inside(page))


@pytest.mark.usefixtures("elasticsearch")
def test_a_key_is_replaced_taken_and_made_again_each_on_record(
    administrator: Client, at: At, membership: Membership
) -> None:
    first = key_of(membership)
    assert "was replaced by a new one" in words(administrator.post(at("search_key_rotate"), follow=True))
    assert key_of(membership) != first and status_of(key_of(membership)) == 200
    assert "was revoked" in words(administrator.post(at("search_key_revoke"), follow=True))
    assert credential(membership).state == "revoked"
    assert "There was no key to revoke" in words(administrator.post(at("search_key_revoke"), follow=True))
    assert "A new key was made" in words(administrator.post(at("search_key_make"), follow=True))
    assert status_of(key_of(membership)) == 200
    assert told(membership) == ["rotated", "revoked", "minted"]
    page = words(administrator.get(at("search_key")))
    assert "made the search key of" in page and "because “by hand”" in page


def test_what_happened_to_a_key_is_told_in_the_language_of_the_reader(
    administrator: Client, at: At, membership: Membership, settings: Settings
) -> None:
    settings.MEMORYHUB_SEARCH = "elasticsearch"
    User.objects.filter(memberships__role="admin").update(language="de")
    drafts = [
        EventDraft("search_key.revoked", "membership", membership.pk, "by hand"),
        EventDraft("search_key.verified", "membership", membership.pk, after={"ok": False, "drift": [Drift.NO_EXPIRY]}),
    ]
    for draft in drafts:
        record_tenant_event(SYSTEM, membership.tenant_id, draft)
    page = words(administrator.get(at("search_key")))
    assert "den Suchschlüssel widerrufen, weil „von Hand“" in page and "läuft nie ab" in page


@pytest.mark.usefixtures("elasticsearch")
def test_a_good_key_is_verified_and_the_result_kept(administrator: Client, at: At, membership: Membership) -> None:
    seen(credential(membership).key_id)
    page = words(administrator.post(at("search_key_verify"), follow=True))
    assert "opens this member's memory and nothing else" in page.replace("&#x27;", "'")
    assert "verified the search key of" in page and "as it should be" in page
    event = AuditEvent.objects.get(action="search_key.verified")
    assert event.payload.data["after"] == {"ok": True, "drift": []}


@pytest.mark.usefixtures("elasticsearch")
def test_a_key_that_was_changed_at_the_cluster_is_named(administrator: Client, at: At, membership: Membership) -> None:
    row = credential(membership)
    seen(row.key_id)
    service_client(Identity.MINTER).security.invalidate_api_key(ids=[row.key_id], owner=True)
    page = words(administrator.post(at("search_key_verify"), follow=True))
    assert "differs from what it should be: invalidated at the cluster" in page
    assert AuditEvent.objects.get(action="search_key.verified").payload.data["after"]["ok"] is False


@pytest.mark.usefixtures("elasticsearch")
def test_a_cluster_that_is_away_is_said_and_nothing_changes(
    administrator: Client, at: At, membership: Membership, settings: Settings
) -> None:
    before = credential(membership)
    settings.ELASTICSEARCH_URLS = ("http://127.0.0.1:9",)
    assert "was not verified" in words(administrator.post(at("search_key_verify"), follow=True))
    page = words(administrator.post(at("search_key_rotate"), follow=True))
    assert "does not answer" in page and "Tried 1 time" in page
    after = credential(membership)
    assert (after.key_id, after.secret, after.state) == (before.key_id, before.secret, "active")
    assert not AuditEvent.objects.filter(action="search_key.verified").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("elasticsearch")
def test_a_key_that_the_cluster_has_not_ended_is_not_said_to_be_gone(
    administrator: Client, at: At, membership: Membership, settings: Settings
) -> None:
    key, urls = key_of(membership), settings.ELASTICSEARCH_URLS
    settings.ELASTICSEARCH_URLS = ("http://127.0.0.1:9",)
    page = words(administrator.post(at("search_key_revoke"), follow=True))
    assert "was revoked" in page and "has not ended it yet" in page
    settings.ELASTICSEARCH_URLS = urls
    assert status_of(key) == 200
    administrator.post(at("search_key_make"), follow=True)
    seen(credential(membership).key_id, *RetiredKey.objects.values_list("key_id", flat=True))
    revoke_waiting()
    page = words(administrator.post(at("search_key_revoke"), follow=True))
    assert "was revoked" in page and "has not ended it yet" not in page


@pytest.mark.usefixtures("elasticsearch")
def test_that_a_member_is_to_get_no_key_is_on_record_where_there_was_none_to_end(
    administrator: Client, at: At, membership: Membership
) -> None:
    SearchCredential.objects.filter(membership=membership).update(state="pending", key_id="", secret="")
    administrator.post(at("search_key_revoke"))
    assert credential(membership).state == "revoked" and told(membership) == ["revoked"]


def test_an_installation_with_its_own_index_says_that_there_are_no_keys(
    administrator: Client, at: At, settings: Settings
) -> None:
    settings.MEMORYHUB_SEARCH = "embedded"
    shown = words(administrator.get(at("search_key")))
    assert "needs no keys" in shown and "Verify" not in shown
    for deed in ("verify", "rotate", "revoke", "make"):
        assert "has no search keys" in words(administrator.post(at(f"search_key_{deed}"), follow=True))
    assert not AuditEvent.objects.filter(action__startswith="search_key.").exists()
