"""What a program says of memories whose time is over, or might be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.services.facts.remember import remember_fact
from memories.services.retention.collection import collect
from tests.memories.api.caller import Caller, Life

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
    first, second, _ = (
        str(remember_fact(ada.principal, text=text, learned_at=now - timedelta(days=days)).memory_id)
        for text, days in (("Works at Voltara", 500), ("Lives in Bristol", 400), ("Owns a van", 10))
    )
    assert [each["id"] for each in ada.get("memories/review/").json["results"]] == [first, second]
    assert len(ada.get("memories/review/?limit=1").json["results"]) == 1
    ada.post(f"memories/{first}/confirm/")
    assert first not in ada.get("memories/review/").text
