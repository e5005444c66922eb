"""A copy of the database signs nobody in: it holds digests of session keys."""

from __future__ import annotations

from importlib import import_module

import pytest
from allauth.usersessions.models import UserSession
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse

from memoryhub.session_store import SessionStore, digest
from tenants.models import Membership
from tests.factories import PASSWORD
from tests.memories.services.erasure.life import everything

pytestmark = pytest.mark.django_db


def signed_in(membership: Membership) -> Client:
    browser = Client()
    browser.post("/login/", {"username": membership.user.username, "password": PASSWORD})
    return browser


def key_of(browser: Client) -> str:
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


def is_in(key: str) -> bool:
    browser = Client()
    browser.cookies[settings.SESSION_COOKIE_NAME] = key
    return browser.get(reverse("chat:new")).status_code == 200


def test_no_table_holds_what_is_in_the_cookie(membership: Membership) -> None:
    key = key_of(signed_in(membership))
    assert is_in(key) and digest(key) in everything()
    assert key not in everything()


def test_what_the_tables_hold_signs_nobody_in(membership: Membership) -> None:
    key = key_of(signed_in(membership))
    held = [str(Session.objects.get().pk), str(UserSession.objects.get().session_key)]
    assert held == [digest(key)] * 2 and not is_in(held[0])


def test_the_list_marks_the_present_session_and_ends_the_others(membership: Membership) -> None:
    here, there = signed_in(membership), signed_in(membership)
    page = here.get(reverse("usersessions_list"))
    marked = page.content.decode().count("This one")
    assert (len(page.context["sessions"]), marked) == (2, 1)
    here.post(reverse("usersessions_list"))
    assert is_in(key_of(here)) and not is_in(key_of(there))
    assert UserSession.objects.get().session_key == Session.objects.get().pk == digest(key_of(here))


def test_signing_out_ends_this_session_alone(membership: Membership) -> None:
    here, there = signed_in(membership), signed_in(membership)
    key = key_of(here)
    here.post(reverse("logout"))
    assert not is_in(key) and is_in(key_of(there)) and Session.objects.count() == 1


def test_the_asynchronous_methods_hold_digests_too(db: None) -> None:
    store = SessionStore()
    store["said"] = "hello"
    async_to_sync(store.asave)()
    key = str(store.session_key)
    assert Session.objects.get().pk == digest(key)
    assert async_to_sync(SessionStore(key).aload)() == {"said": "hello"}
    assert async_to_sync(store.aexists)(key) and not async_to_sync(store.aexists)(digest(key))
    async_to_sync(store.adelete)()
    assert not Session.objects.exists()


def test_who_is_signed_in_stays_so_at_the_migration(membership: Membership) -> None:
    browser = signed_in(membership)
    before = [("sessions", "0001_initial"), ("usersessions", "0001_initial")]
    apps = MigrationExecutor(connection).loader.project_state(before).apps
    for app, name in (("sessions", "Session"), ("usersessions", "UserSession")):
        apps.get_model(app, name).objects.update(session_key=key_of(browser))
    assert not is_in(key_of(browser))
    import_module("tenants.migrations.0019_session_digests").make_digests(apps, None)
    assert is_in(key_of(browser)) and len(browser.get(reverse("usersessions_list")).context["sessions"]) == 1
