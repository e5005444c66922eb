"""A model is connected by an administrator after it answered; its key is stored sealed and never shown."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from memories.agent.model import answers_offline, chat_model_of
from memories.models import MemoryPolicy
from memories.selectors.policies import policy_of
from tenants.models import AuditPayload, Tenant
from tests.factories import make_membership, make_tenant
from tests.memories.chat.conftest import SignIn
from tests.openai_server import Refuse, Say, openai_server

pytestmark = pytest.mark.django_db

KEY = "sk-a-made-up-key-0123456789"


@pytest.fixture
def admin(tenant: Tenant, sign_in: SignIn, settings: Settings) -> Client:
    """An administrator of Ada's tenant, on a server whose models may be on this machine."""
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    return sign_in(make_membership(tenant, "admin"))


def connect(client: Client, url: str, key: str = KEY, model: str = "small") -> str:
    form = {"url": url, "key": key, "model": model}
    return client.post(reverse("connect:model-connect"), form, follow=True).content.decode()


def test_a_model_that_answers_is_connected_and_answers_the_chat(admin: Client, tenant: Tenant) -> None:
    with openai_server(Say(["OK"]), Say(["Hello from the model."])) as server:
        page = connect(admin, server.base_url)
        assert "small answers in the chat" in page and KEY not in page
        assert not answers_offline(tenant.pk)
        answered = admin.post(reverse("chat:begin"), {"message": "Hello"}, follow=True).content.decode()
    assert "Hello from the model." in answered
    assert "Offline: answers quote" not in answered
    assert set(server.keys) == {KEY}


def test_the_key_is_sealed_and_in_no_audit_event(admin: Client, tenant: Tenant) -> None:
    with openai_server(Say(["OK"])) as server:
        connect(admin, server.base_url)
    stored = MemoryPolicy.objects.get(tenant=tenant).upstreams["openai"]
    assert stored["model"] == "small" and stored["key"] and KEY not in stored["key"]
    payloads = str(list(AuditPayload.objects.values_list("document", flat=True)))
    assert "small" in payloads and KEY not in payloads and stored["key"] not in payloads
    assert KEY not in admin.get(reverse("connect:model")).content.decode()


def test_a_model_that_refuses_is_not_stored(admin: Client, tenant: Tenant) -> None:
    with openai_server(Refuse(401)) as server:
        page = connect(admin, server.base_url)
    assert "Nothing was stored." in page and KEY not in page
    assert not MemoryPolicy.objects.filter(tenant=tenant).exists()


@pytest.mark.parametrize(
    ("url", "model"), [("http://10.0.0.1/v1", "m"), ("ftp://x", "m"), ("https://api.example/v1", ""), ("", "m")]
)
def test_an_address_that_may_not_be_reached_is_refused(admin: Client, tenant: Tenant, url: str, model: str) -> None:
    assert 'role="alert"' in connect(admin, url, model=model)
    assert not MemoryPolicy.objects.filter(tenant=tenant).exists()


def test_the_stored_key_is_never_sent_to_another_address(admin: Client) -> None:
    with openai_server(Say(["OK"])) as first, openai_server(Say(["OK"])) as second:
        connect(admin, first.base_url)
        connect(admin, second.base_url, key="")
    assert second.keys and KEY not in second.keys


def test_a_disconnected_model_leaves_the_chat_offline(admin: Client, tenant: Tenant) -> None:
    with openai_server(Say(["OK"])) as server:
        connect(admin, server.base_url)
    page = admin.post(reverse("connect:model-disconnect"), follow=True).content.decode()
    assert "Disconnected." in page
    assert answers_offline(tenant.pk)
    assert MemoryPolicy.objects.get(tenant=tenant).upstreams["openai"]["key"]


def test_only_an_administrator_sees_or_changes_it(ada: Client, tenant: Tenant) -> None:
    assert ada.get(reverse("connect:model")).status_code == 403
    assert ada.post(reverse("connect:model-connect"), {"url": "https://x.example", "model": "m"}).status_code == 403
    assert ada.post(reverse("connect:model-disconnect")).status_code == 403
    assert "Connect a model" not in ada.get("/").content.decode()
    assert not MemoryPolicy.objects.filter(tenant=tenant).exists()


def test_connecting_isolates_other_tenants(admin: Client, tenant: Tenant) -> None:
    other = make_tenant("Elsewhere")
    with openai_server(Say(["OK"])) as server:
        connect(admin, server.base_url)
    assert chat_model_of(other.pk, policy_of(other.pk)).offline
    assert not chat_model_of(tenant.pk, policy_of(tenant.pk)).offline
    assert not MemoryPolicy.objects.filter(tenant=other).exists()


def test_an_old_sign_in_is_asked_for_the_password_and_the_key_is_not_repeated(admin: Client) -> None:
    session = admin.session
    session["password_given_at"] = 0.0
    session.save()
    page = connect(admin, "https://api.example/v1")
    assert "password" in page and "Confirm your password" in page and KEY not in page
