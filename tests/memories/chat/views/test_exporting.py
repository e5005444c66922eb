"""The export: everything of one's own, nothing of others, recorded."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from memories.services.facts.remember import remember_fact
from tenants.audit.sentences import sentences
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db


def _exported(client: Client) -> list[dict[str, object]]:
    response = client.post(reverse("remember:export"))
    assert response["Content-Disposition"].startswith('attachment; filename="memories-')
    return [json.loads(line) for line in b"".join(response).splitlines()]


def test_everything_is_in_it_also_what_was_replaced(ada: Client, life: Life) -> None:
    texts = {str(record.get("text") or record.get("title")) for record in _exported(ada)}
    assert {"Lives in Bristol", "Lives in Edinburgh", "We left Bristol for Edinburgh"} <= texts


def test_the_machine_readable_export_tells_a_fact_as_it_is_stored(ada: Client, principal: Principal) -> None:
    remember_fact(principal, text="The user lives in Leeds")
    assert [record["text"] for record in _exported(ada)] == ["The user lives in Leeds"]


def test_exports_isolate_other_members_and_tenants(
    ada: Client, other_member: Principal, other_tenant_member: Principal
) -> None:
    for other in (other_member, other_tenant_member):
        remember_fact(other, text="Is nobody else's business")
    assert _exported(ada) == []


def test_an_export_is_recorded_and_never_a_link(ada: Client, life: Life) -> None:
    assert ada.get(reverse("remember:export")).status_code == 405
    _exported(ada)
    (event,) = AuditEvent.objects.filter(action="memory.exported").select_related("payload")
    (sentence,) = sentences([event])
    assert sentence.text.endswith("exported their own memory.")
