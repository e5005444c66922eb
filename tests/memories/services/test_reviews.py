"""Reviews: a question is asked once, about memories that are believed, and taken back with them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Fact, Playbook, ReviewDecision, ReviewItem
from memories.services.facts.remember import remember_fact
from memories.services.reviews.queue import KEPT_FOR, open_contradiction, open_eviction, withdraw
from memories.services.write import write
from memories.types import Kind, Scope
from tenants.models import AuditEvent, AuditPayload
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def fact(principal: Principal, text: str, *, key: str = "", task: str = "") -> Fact:
    scope = Scope.TASK if task else Scope.USER
    return Fact.objects.get(pk=remember_fact(principal, text=text, key=key, scope=scope, task=task).memory_id)


def ask(principal: Principal, first: Fact, second: Fact) -> ReviewItem | None:
    with write(principal) as w:
        return open_contradiction(w, first, second, reason="Two sizes of one thing.", evidence={"cosine": 0.9})


def propose(principal: Principal, row: Fact | Playbook, **evidence: object) -> ReviewItem | None:
    with write(principal) as w:
        return open_eviction(w, row, reason="Nobody used it.", evidence=evidence)


def test_a_pair_is_asked_once_the_older_first(principal: Principal) -> None:
    older, newer = fact(principal, "The shed measures three metres"), fact(principal, "The shed measures four metres")
    item = ask(principal, newer, older)
    assert item is not None
    assert (item.first_id, item.second_id, item.user_id) == (older.pk, newer.pk, principal.user_id)
    assert ask(principal, older, newer) is None
    item.decision = ReviewDecision.KEEP_BOTH
    item.save()
    assert ask(principal, older, newer) is None


def test_only_what_is_believed_and_of_one_place_is_asked(principal: Principal, stranger: Principal) -> None:
    mine = fact(principal, "The shed measures three metres")
    assert ask(principal, mine, fact(stranger, "The shed measures four metres")) is None
    assert ask(principal, mine, fact(principal, "The shed measures five wide", task="shed")) is None
    gone, kept = fact(principal, "Likes tea", key="drink"), fact(principal, "Likes coffee", key="drink")
    gone.refresh_from_db()
    assert ask(principal, gone, kept) is None
    assert propose(principal, gone) is None
    assert propose(stranger, kept) is None


def test_what_was_kept_is_not_proposed_again_soon(principal: Principal) -> None:
    row = fact(principal, "The shed is green")
    item = propose(principal, row, staleness=0.95)
    assert item is not None
    assert propose(principal, row, staleness=0.95) is None
    item.decision, item.decided_at = ReviewDecision.KEEP, timezone.now() - KEPT_FOR + timedelta(hours=1)
    item.save()
    assert propose(principal, row, staleness=0.95) is None
    item.decided_at = timezone.now() - KEPT_FOR - timedelta(hours=1)
    item.save()
    assert propose(principal, row, found="boilerplate") is None
    assert propose(principal, row, staleness=0.95) is not None


def test_what_ended_is_withdrawn_and_the_trail_has_no_words(principal: Principal) -> None:
    first, second = fact(principal, "The shed measures three metres"), fact(principal, "The shed measures four metres")
    ask(principal, first, second)
    propose(principal, second, staleness=0.92)
    with write(principal) as w:
        assert withdraw(w, [second.pk]) == 2
        assert withdraw(w, [second.pk]) == 0
    assert set(ReviewItem.objects.values_list("decision", flat=True)) == {ReviewDecision.WITHDRAWN}
    events = AuditEvent.objects.filter(target_kind="review").order_by("sequence")
    assert list(events.values_list("action", flat=True)) == ["review.opened"] * 2 + ["review.withdrawn"] * 2
    told = " ".join(AuditPayload.objects.filter(event__in=events).values_list("document", flat=True))
    assert "shed" not in told
    assert str(second.pk) in told
    assert Kind.SEMANTIC.value not in told
