"""`/metrics`: for whoever runs the platform; everybody else finds a closed door, or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from memories.metrics import exposition
from memories.services.facts.remember import remember_fact
from tenants.models import Membership, User
from tenants.principal import Principal
from tests.factories import make_membership

pytestmark = pytest.mark.django_db

TOKEN = "made-up-" * 5  # the same in every worker: it stands in the names of tests


@pytest.fixture(autouse=True)
def _looked_at_anew() -> Iterator[None]:
    exposition.forget()
    yield
    exposition.forget()


@pytest.fixture
def token(settings: Any) -> str:
    settings.MEMORYHUB_METRICS_TOKEN = TOKEN
    return f"Bearer {TOKEN}"


def promoted(membership: Membership, **rights: bool) -> User:
    User.objects.filter(pk=membership.user_id).update(**rights)
    return User.objects.get(pk=membership.user_id)


def test_the_token_opens_it_and_nothing_keeps_the_answer(client: Client, token: str, membership: Membership) -> None:
    answer = client.get("/metrics", headers={"authorization": token})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert "no-store" in answer["Cache-Control"]
    assert f'memoryhub_writes_per_minute{{tenant="{membership.tenant.slug}"}} 0.0' in answer.content.decode()


@pytest.mark.parametrize(
    "given", ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Token {TOKEN}", TOKEN, "Bearer é"]
)
def test_any_other_token_is_refused_without_a_number(client: Client, token: str, given: str) -> None:
    answer = client.get("/metrics", headers={"authorization": given} if given else {})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer") and b"memoryhub_" not in answer.content


@pytest.mark.parametrize("given", ["Bearer ", "Bearer None", "Bearer x"])
def test_without_a_token_set_there_is_no_such_page(client: Client, settings: Any, given: str) -> None:
    settings.MEMORYHUB_METRICS_TOKEN = ""
    answer = client.get("/metrics", headers={"authorization": given})
    assert answer.status_code == client.get("/no-such-page").status_code == 404


@pytest.mark.parametrize("role", ["member", "support", "auditor", "admin"])
@pytest.mark.parametrize(("set_to", "status"), [("", 404), (TOKEN, 401)])
def test_nobody_of_a_tenant_reads_it(client: Client, settings: Any, role: str, set_to: str, status: int) -> None:
    settings.MEMORYHUB_METRICS_TOKEN = set_to
    client.force_login(promoted(make_membership(role=role), is_staff=True))
    answer = client.get("/metrics")
    assert answer.status_code == status and b"memoryhub_" not in answer.content


def test_a_superuser_of_the_platform_reads_it(client: Client, settings: Any) -> None:
    settings.MEMORYHUB_METRICS_TOKEN = ""
    client.force_login(promoted(make_membership(), is_superuser=True))
    assert client.get("/metrics").status_code == 200


def test_no_word_of_anybody_is_in_it(client: Client, token: str, principal: Principal) -> None:
    remember_fact(principal, text="Keeps zeppelins", key="hobby")
    told = client.get("/metrics", headers={"authorization": token}).content.decode()
    user = User.objects.get(pk=principal.user_id)
    assert not [word for word in ("zeppelins", "hobby", "Ada", user.username, str(user.pk)) if word in told]


def test_asked_again_it_leaves_the_database_alone(client: Client, token: str, django_assert_num_queries: Any) -> None:
    client.get("/metrics", headers={"authorization": token})
    with django_assert_num_queries(0):
        assert client.get("/metrics", headers={"authorization": token}).status_code == 200
