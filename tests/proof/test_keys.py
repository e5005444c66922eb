"""The attacks with backend keys: clean as the product is, and what they find without each of its guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from rest_framework.request import Request

from memories.api import acting
from memories.api.views import base
from proof.report import Conclusion, ProofReport
from proof.run import prove
from tenants.models import ApiToken, Membership
from tenants.principal import ActorKind, KeyHolder, Principal
from tenants.principals import principal_of
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, about_the_embedded_plane]


@pytest.fixture(autouse=True)
def with_keys_only(only: Callable[[str], None]) -> None:
    only("keys:")


def attack(attempts: int = 120) -> ProofReport:
    return prove(attempts=attempts, concurrency=4, seed=3)


def found(report: ProofReport) -> set[str]:
    assert report.conclusion is Conclusion.LEAK, "\n".join(report.sentences())
    return {leak.attack for leak in report.leaks}


def of_any_tenant(tenant_id: UUID, user_id: str) -> Membership | None:
    """A member with this id, preferably of another tenant: a lookup that forgets the tenant."""
    rows = Membership.objects.filter(external_id=user_id).select_related("tenant", "user")
    return rows.exclude(tenant_id=tenant_id).first() or rows.first()


def whoever_it_is(key: KeyHolder, membership: Membership) -> Principal:
    """A principal for any member, staff and those of other tenants included."""
    return principal_of(membership, actor_kind=ActorKind.KEY, actor_id=key.key_id, rights=key.rights)


def test_keys_leak_nothing() -> None:
    report = attack(300)
    assert report.conclusion is Conclusion.CLEAN, "\n".join(report.sentences())
    assert sum(report.attacks.values()) == 300


def test_a_lookup_in_all_tenants_is_stopped_by_the_principal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "find_end_user", of_any_tenant)
    leaked = [leak for leak in attack().leaks if leak.attack != "keys: first uses at once"]  # which must succeed
    assert not leaked


def test_a_key_that_reaches_members_of_other_tenants_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "find_end_user", of_any_tenant)
    monkeypatch.setattr(acting, "principal_of_key", whoever_it_is)
    assert "keys: lists, pages and recall" in found(attack())


def test_a_key_that_acts_for_staff_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_tenant(tenant_id: UUID, user_id: str) -> Membership | None:
        return Membership.objects.filter(tenant_id=tenant_id, external_id=user_id).first()

    monkeypatch.setattr(acting, "find_end_user", in_tenant)
    monkeypatch.setattr(acting, "principal_of_key", whoever_it_is)
    assert found(attack()) == {"keys: members that no key acts for"}


def test_reading_one_of_two_names_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def last_name(request: Request, in_path: str | None = None, *, take: bool = True) -> str | None:
        query = request._request.GET.copy()
        given: list[Any] = [in_path, request.headers.get("X-Memoryhub-User"), *query.getlist("user_id")]
        body = request.data if request.method == "POST" and isinstance(request.data, dict) else {}
        given.append(body.get("user_id"))
        if take:
            query.pop("user_id", None)
            body.pop("user_id", None)
            request._request.GET = query  # type: ignore[assignment]  # as the product does
        return next((each for each in reversed(given) if isinstance(each, str) and each), None)

    monkeypatch.setattr(base, "named_user", last_name)
    assert "keys: requests that name two users, or one that nobody reads alike" in found(attack())


def test_keys_that_ended_and_work_on_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiToken, "is_usable_at", lambda *_: True)
    assert found(attack()) == {"keys: those that do not work"}


def test_keys_that_do_what_their_scopes_forbid_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyHolder, "require", lambda *_: None)
    assert "keys: without the scope" in found(attack())
