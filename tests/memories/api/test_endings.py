"""What a program says of memories whose time is over, or might be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.services.retention.collection import collect
from memories.types import Scope
from tenants.models import Tenant
from tests.factories import make_membership
from tests.memories.api.caller import Caller, Life, caller_of

pytestmark = pytest.mark.django_db

SOON, LATER = "2100-01-01T00:00:00Z", "2100-05-01T00:00:00Z"


def test_dates_are_given_and_shown(ada: Caller) -> None:
    body = {"text": "Parks on level 3", "review_after": SOON, "expires_at": LATER}
    answer = ada.post("memories/", body)
    assert answer.status == 201
    assert (answer.json["memory"]["review_after"], answer.json["memory"]["expires_at"]) == (SOON, LATER)


def test_a_fact_is_confirmed(ada: Caller, life: Life) -> None:
    answer = ada.post(f"memories/{life.fact}/confirm/", {"reason": "asked"})
    assert answer.status == 200 and answer.json["last_verified_at"]
    assert ada.post(f"memories/{life.playbook}/confirm/").status == 409
    assert ada.post(f"memories/{life.old_fact}/confirm/").status == 409


def test_what_was_evicted_is_found_and_restored(ada: Caller) -> None:
    id_ = ada.post("memories/", {"text": "Parks on level 3", "expires_at": SOON}).json["memory_id"]
    Fact.objects.update(expires_at=timezone.now())
    assert ada.get("memories/").json["results"] == []
    collect(apply=True)
    assert [each["id"] for each in ada.get("memories/?status=evicted").json["results"]] == [id_]
    answer = ada.post(f"memories/{id_}/restore/", {"reason": "still there"})
    assert (answer.json["status"], answer.json["evicted_at"], answer.json["expires_at"]) == ("active", None, None)
    assert ada.post(f"memories/{id_}/restore/").status == 409


def test_facts_to_review_are_those_confirmed_longest_ago(ada: Caller) -> None:
    now = timezone.now()
    for text, days in (("Lives in Bristol", 400), ("Works at Voltara", 500), ("Owns a van", 10), ("Prefers tea", 91)):
        remember_fact(ada.principal, text=text, learned_at=now - timedelta(days=days))
    listed = [each["text"] for each in ada.get("memories/review/").json["results"]]
    assert listed == ["Works at Voltara", "Lives in Bristol", "Prefers tea"]
    assert len(ada.get("memories/review/?limit=1").json["results"]) == 1
    first = Fact.objects.get(text="Works at Voltara").pk
    ada.post(f"memories/{first}/confirm/")
    assert str(first) not in ada.get("memories/review/").text


def test_what_a_tenant_shares_is_restored_and_confirmed_by_its_administrator(ada: Caller, eve: Caller) -> None:
    shared = remember_fact(eve.principal, text="Parks on level 3", scope=Scope.TENANT).memory_id
    member = caller_of(make_membership(Tenant.objects.get(pk=eve.principal.tenant_id)))
    Fact.objects.update(expires_at=timezone.now())
    collect(apply=True)
    assert [caller.post(f"memories/{shared}/restore/").status for caller in (ada, member, eve)] == [404, 403, 200]
    assert [caller.post(f"memories/{shared}/confirm/").status for caller in (ada, member, eve)] == [404, 403, 200]
