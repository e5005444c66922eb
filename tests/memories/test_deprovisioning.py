"""Whoever is deactivated, in whichever way, is out at once and everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from django.http.response import StreamingHttpResponse
from django.test import Client

from memories.llm.base import Output, TextPiece
from tenants.end_users import provision_end_user
from tenants.errors import Forbidden
from tenants.models import ApiToken, Membership, Tenant
from tenants.people_import import import_people
from tenants.principal import Right
from tenants.principals import require_active
from tests.factories import PASSWORD, make_membership, own_principal
from tests.memories.api.caller import Caller, caller_of, key_of

pytestmark = pytest.mark.django_db
WITHIN = 5.0  # seconds
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def by_scim(member: Membership) -> None:
    key = key_of(member.tenant, [Right.PEOPLE])
    change = {"op": "replace", "path": "active", "value": False}
    body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [change]}
    headers = {"Authorization": f"Bearer {key.token}"}
    answer = Client().patch(f"/scim/v2/Users/{member.pk}", body, content_type="application/json", headers=headers)
    assert answer.status_code == 204


def by_scim_removal(member: Membership) -> None:
    headers = {"Authorization": f"Bearer {key_of(member.tenant, [Right.PEOPLE]).token}"}
    assert Client().delete(f"/scim/v2/Users/{member.pk}", headers=headers).status_code == 204


def by_file(member: Membership) -> None:
    assert import_people(member.tenant_id, f"user_id,active\n{member.external_id},no\n").changed == 1


def by_api(member: Membership) -> None:
    assert key_of(member.tenant).patch(f"members/{member.external_id}/", {"active": False}).status == 200


def by_admin(member: Membership) -> None:
    staff = Client()
    staff.force_login(make_membership(member.tenant, role="admin").user)
    type(member.user).objects.filter(memberships__role="admin").update(is_staff=True)
    posted = {"action": "deactivate", "_selected_action": str(member.pk)}
    assert staff.post("/admin/tenants/membership/", posted).status_code == 302


@pytest.mark.parametrize("way", [by_scim, by_scim_removal, by_file, by_api, by_admin])
def test_a_deactivated_member_is_out_everywhere(tenant: Tenant, way: Callable[[Membership], None]) -> None:
    member = provision_end_user(tenant.id, "ada", name="Ada")[0]
    member.user.set_password(PASSWORD)
    member.user.save()
    browser, other = Client(), caller_of(make_membership(tenant))
    browser.force_login(member.user)
    token, key = caller_of(member), key_of(tenant)
    principal = own_principal(member)

    def doors() -> list[int]:
        mine = Caller(key.token, key.principal, user_id="ada")
        headers = {"Authorization": f"Bearer {token.token}", "Accept": "application/json, text/event-stream"}
        return [
            browser.get("/").status_code,
            browser.get("/api/v1/me/").status_code,
            token.get("memories/").status,
            Client().post("/mcp/", INITIALIZE, content_type="application/json", headers=headers).status_code,
            mine.get("memories/").status,
            Client().post("/login/", {"username": member.user.username, "password": PASSWORD}).status_code,
        ]

    before = doors()
    assert before[:5] == [200] * 5
    began = time.monotonic()
    way(member)
    after = doors()
    assert time.monotonic() - began < WITHIN
    assert after[:5] == [403, 403, 401, 401, 404]
    with pytest.raises(Forbidden):
        require_active(principal)
    assert ApiToken.objects.filter(membership=member).count() == 1  # it works again for whoever comes back
    assert other.get("memories/").status == 200


class EndlessModel:
    """Goes on and on."""

    name = "endless"
    offline = False

    def stream(self, *_: object, **__: object) -> Iterator[Output]:
        while True:
            yield TextPiece("and ")
            time.sleep(0.05)


@pytest.mark.parametrize("way", [by_scim, by_admin])
def test_a_running_stream_of_a_deactivated_member_ends(
    membership: Membership, monkeypatch: pytest.MonkeyPatch, way: Callable[[Membership], None]
) -> None:
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda *_: EndlessModel())
    response = caller_of(membership).post("turns/", {"message": "Go on."}, Accept="text/event-stream").response
    assert isinstance(response, StreamingHttpResponse)
    pieces = iter(response)
    while b"text_delta" not in next(pieces):
        pass
    began = time.monotonic()
    way(membership)
    *_, last = pieces
    assert b"turn_failed" in last and time.monotonic() - began < WITHIN
