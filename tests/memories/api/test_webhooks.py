"""Webhooks by API: who administers them, what is refused, and that no other tenant reaches them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from memories.models import WebhookEndpoint
from memories.services.webhooks import endpoints
from tenants.end_users import provision_end_user
from tenants.models import AuditEvent, AuditPayload, Tenant
from tenants.principal import ALL_RIGHTS, Right
from tests.factories import make_membership, make_tenant
from tests.memories.api.caller import Caller, caller_of, key_of

URL = "https://hooks.example.org/memory?token=letmein"
ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("GET", "webhooks/{id}/", None),
    ("PATCH", "webhooks/{id}/", {"description": "mine"}),
    ("POST", "webhooks/{id}/rotate/", {}),
    ("POST", "webhooks/{id}/replay/", {"since": "2026-01-01T00:00:00Z"}),
    ("GET", "webhooks/{id}/deliveries/", None),
    ("DELETE", "webhooks/{id}/", None),
)


@pytest.fixture
def key(tenant: Tenant) -> Caller:
    return key_of(tenant, [Right.EVENTS])


@pytest.fixture
def webhook(key: Caller) -> dict[str, Any]:
    answer = key.post("webhooks/", {"url": URL, "types": ["memory.created"]})
    assert answer.status == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def test_a_secret_is_shown_once(key: Caller, webhook: dict[str, Any]) -> None:
    secret = webhook.pop("secret")
    assert secret.startswith("whsec_") and len(secret) == 50
    assert key.get(f"webhooks/{webhook['id']}/").json == webhook
    assert key.get("webhooks/").json["results"] == [webhook]
    assert secret not in WebhookEndpoint.objects.get().secret


def test_a_new_secret_replaces_the_old_one_after_a_grace(key: Caller, webhook: dict[str, Any]) -> None:
    rotated = key.post(f"webhooks/{webhook['id']}/rotate/", {"grace_hours": 1}).json
    assert rotated["secret"] != webhook["secret"] and rotated["previous_until"]


def test_a_webhook_is_changed_and_deleted(key: Caller, webhook: dict[str, Any]) -> None:
    path = f"webhooks/{webhook['id']}/"
    assert key.patch(path, {"enabled": False, "types": []}).json["enabled"] is False
    WebhookEndpoint.objects.update(trouble="status 500", failures=9)
    again = key.patch(path, {"enabled": True}).json
    assert (again["enabled"], again["trouble"], again["failures"], again["types"]) == (True, "", 0, [])
    assert key.delete(path).json["id"] == webhook["id"]
    assert key.get(path).status == 404 and not WebhookEndpoint.objects.exists()


def test_each_change_is_audited_without_the_address(key: Caller, webhook: dict[str, Any]) -> None:
    for method, path, body in ROUTES:
        assert key.send(method, path.format(id=webhook["id"]), body).status < 300, path
    found = AuditEvent.objects.filter(target_kind="webhook").order_by("sequence").values_list("action", flat=True)
    assert [*found] == [f"webhook.{what}" for what in ("created", "changed", "rotated", "replayed", "deleted")]
    assert not AuditPayload.objects.filter(document__contains="letmein").exists()


@pytest.mark.parametrize(
    "url",
    ["http://hooks.example.org/", "https://127.0.0.1/", "https://a:b@example.org/", "https://example.org:25/", ""],
)
def test_an_address_that_is_never_called_is_refused(key: Caller, webhook: dict[str, Any], url: str) -> None:
    assert "url" in key.post("webhooks/", {"url": url}).faults
    assert "url" in key.patch(f"webhooks/{webhook['id']}/", {"url": url}).faults


def test_a_replay_says_from_when_on(key: Caller, webhook: dict[str, Any]) -> None:
    path = f"webhooks/{webhook['id']}/replay/"
    assert "since" in key.post(path, {}).faults
    assert "since" in key.post(path, {"since": "2026-01-01T00:00:00Z", "cursor": "x"}).faults
    assert "cursor" in key.post(path, {"cursor": "x"}).faults


def test_a_tenant_has_a_number_of_webhooks(key: Caller, webhook: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 1)
    assert key.post("webhooks/", {"url": URL}).status == 409


def test_a_server_without_a_key_for_secrets_says_so(key: Caller, settings: Any) -> None:
    settings.PRODUCTION, settings.MEMORYHUB_CREDENTIAL_KEYS = True, ()
    answer = key.post("webhooks/", {"url": URL})
    assert answer.status == 409 and "MEMORYHUB_CREDENTIAL_KEYS" in answer.text


def test_administrators_administer_webhooks_too(tenant: Tenant, webhook: dict[str, Any]) -> None:
    admin = caller_of(make_membership(tenant, role="admin"))
    assert admin.get(f"webhooks/{webhook['id']}/").status == 200
    assert caller_of(make_membership(tenant, role="admin"), ALL_RIGHTS - {Right.EVENTS}).get("webhooks/").status == 403


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_nobody_else_reaches_a_webhook(
    tenant: Tenant, webhook: dict[str, Any], method: str, path: str, body: Any
) -> None:
    foreign = key_of(make_tenant(), Right)
    before = WebhookEndpoint.objects.values().get()
    one, other = (foreign.send(method, path.format(id=each), body) for each in (webhook["id"], uuid4()))
    assert one.status == other.status == 404 and one.problem == other.problem
    provision_end_user(tenant.id, "ann")
    acting = Caller(key_of(tenant, Right).token, foreign.principal, user_id="ann")
    for refused in (caller_of(make_membership(tenant)), acting, key_of(tenant)):
        assert refused.send(method, path.format(id=webhook["id"]), body).status == 403
    assert WebhookEndpoint.objects.values().get() == before


def test_lists_isolate_other_tenants(webhook: dict[str, Any]) -> None:
    assert key_of(make_tenant(), Right).get("webhooks/").json["results"] == []
