"""Deciding reviews: each answer does what it says, is told of, and can be taken back; it is given once."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import timezone

from memories.errors import Blocked, Conflict, InvalidInput
from memories.models import Episode, Fact, OutboxEntry, Playbook, ReviewDecision, ReviewItem
from memories.models.guard import raw_writes
from memories.selectors.reviews import open_reviews
from memories.services.playbooks import remember_playbook
from memories.services.reviews.queue import open_contradiction
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.write import write
from memories.types import Source, Status
from tenants.models import AuditEvent, AuditPayload
from tenants.principal import Principal
from tests.memories.services.reviewing import (
    FOUR,
    THREE,
    answer,
    current,
    proposed,
    say,
    take_back,
    told,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]


@pytest.mark.parametrize("never_true", [False, True])
def test_keeping_one_supersedes_the_other_by_it(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem, never_true: bool
) -> None:
    kept, other = pair
    done = answer(principal, item, "keep_one", keep=kept.pk, never_true=never_true, reason="I measured")
    kept.refresh_from_db()
    other.refresh_from_db()
    assert (other.status, other.superseded_by_id, other.retracted) == (Status.SUPERSEDED, kept.pk, never_true)
    assert kept.status == Status.ACTIVE and kept.last_verified_at is not None
    assert (done.decision, done.decided_by_id) == (ReviewDecision.KEEP_ONE, principal.user_id)
    assert "I measured" in told("review.decided")[0] and "I measured" in told("fact.superseded")[0]
    assert OutboxEntry.objects.filter(memory_id=other.pk).exists()
    assert not open_reviews(principal).exists()


def test_undoing_it_brings_the_other_back_and_asks_again(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    kept, other = pair
    answer(principal, item, "keep_one", keep=kept.pk)
    again = take_back(principal, item)
    back = Fact.objects.get(restores=other.pk)
    kept.refresh_from_db()
    assert (again.first_id, again.second_id, again.decision) == (kept.pk, back.pk, ReviewDecision.OPEN)
    assert (back.text, back.key, back.pinned, back.status) == (other.text, "shed_width", True, "active")
    assert kept.last_verified_at is None
    assert Fact.objects.get(pk=other.pk).status == Status.SUPERSEDED
    assert [each.pk for each in open_reviews(principal)] == [item.pk]
    answer(principal, item, "keep_one", keep=back.pk, never_true=True)
    assert current(principal) == [FOUR]
    take_back(principal, item)
    assert current(principal) == [FOUR, THREE]


def test_keeping_both_settles_the_pair_for_good(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem
) -> None:
    answer(principal, item, "keep_both")
    assert current(principal) == [FOUR, THREE]
    assert all(fact.last_verified_at for fact in Fact.objects.all())
    with write(principal) as w:
        assert open_contradiction(w, *pair, reason="Again.", evidence={}) is None
    take_back(principal, item)
    assert not any(fact.last_verified_at for fact in Fact.objects.all())
    assert open_reviews(principal).exists()


def test_merging_writes_one_wording_for_both(principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem) -> None:
    said = remember_episode(principal, session_id=start_session(principal).pk, text="Three and a half").memory_id
    with raw_writes("a test"):
        pair[0].supporting_episodes.add(Episode.objects.get(pk=said))
    answer(principal, item, "merge", text="The shed measures three and a half metres across")
    merged = Fact.objects.current().get()
    assert (merged.key, merged.category, merged.pinned) == ("shed_width", "home", True)
    assert (merged.source, merged.confidence) == (Source.USER_STATED, 1.0)
    assert list(merged.supporting_episodes.values_list("pk", flat=True)) == [said]
    assert set(Fact.objects.filter(superseded_by=merged.pk)) == set(pair)
    take_back(principal, item)
    merged.refresh_from_db()
    assert merged.retracted
    assert current(principal) == [FOUR, THREE]
    assert set(Fact.objects.current().values_list("restores", flat=True)) == {row.pk for row in pair}


def test_a_wording_that_is_there_already_is_not_closed_by_the_undo(principal: Principal, item: ReviewItem) -> None:
    third = say(principal, "The shed is wide enough for two bicycles")
    answer(principal, item, "merge", text=third.text)
    assert current(principal) == [third.text]
    take_back(principal, item)
    assert current(principal) == sorted([FOUR, THREE, third.text])


@pytest.mark.parametrize("second", [FOUR, "The new shed is four wide"], ids=["one", "both"])
def test_editing_leaves_two_that_are_not_asked_about_again(
    principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem, second: str
) -> None:
    first = "The old shed measures three metres"
    answer(principal, item, "edit", first_text=first, second_text=second)
    assert current(principal) == sorted([first, second])
    old, new = (Fact.objects.current().get(text=text) for text in (first, second))
    with write(principal) as w:
        assert open_contradiction(w, old, new, reason="Again.", evidence={}) is None
    take_back(principal, item)
    assert current(principal) == [FOUR, THREE]


def test_keeping_what_was_to_go_confirms_it_until_that_is_undone(principal: Principal) -> None:
    row = say(principal, THREE)
    Fact.objects.filter(pk=row.pk).update(status=Status.STALE, review_after=timezone.now())
    row.refresh_from_db()
    item = proposed(principal, row)
    answer(principal, item, "keep")
    kept = Fact.objects.get()
    assert kept.status == Status.ACTIVE and kept.last_verified_at
    take_back(principal, item)
    again = Fact.objects.get()
    assert (again.status, again.review_after, again.last_verified_at) == (Status.STALE, row.review_after, None)


@pytest.mark.parametrize("decision", ["evict", "keep"])
def test_a_fact_or_how_to_goes_or_stays_until_that_is_undone(principal: Principal, decision: str) -> None:
    pk = remember_playbook(principal, title="Restart", steps=["Pull the plug"]).memory_id
    for row in (Playbook.objects.get(pk=pk), say(principal, THREE)):
        item, believed = proposed(principal, row), type(row).objects.current()
        answer(principal, item, decision)
        assert believed.exists() == (decision == "keep")
        take_back(principal, item)
        assert believed.exists()
        assert open_reviews(principal).filter(pk=item.pk).exists()


def test_an_answer_is_given_once(principal: Principal, pair: tuple[Fact, Fact], item: ReviewItem) -> None:
    answer(principal, item, "keep_one", keep=pair[0].pk)
    with pytest.raises(Conflict, match="decided already"):
        answer(principal, item, "keep_one", keep=pair[0].pk)
    take_back(principal, item)
    with pytest.raises(Conflict, match="not decided"):
        take_back(principal, item)
    assert AuditEvent.objects.filter(action="review.decided").count() == 1


@pytest.mark.parametrize(
    ("decision", "fields", "field"),
    [
        pytest.param("evict", {}, "decision", id="another question"),
        pytest.param("withdrawn", {}, "decision", id="no decision"),
        pytest.param("keep_one", {}, "keep", id="which"),
        pytest.param("keep_one", {"keep": uuid4()}, "keep", id="neither"),
        pytest.param("merge", {"text": " "}, "text", id="no words"),
        pytest.param("merge", {"text": f"{THREE}."}, "text", id="the same words"),
        pytest.param("merge", {"text": "w" * 9000}, "text", id="too many words"),
        pytest.param("edit", {"second_text": FOUR}, "first_text", id="nothing new"),
        pytest.param("keep_both", {"reason": "r" * 201}, "reason", id="too long a reason"),
    ],
)
def test_an_answer_that_does_not_fit_changes_nothing(
    principal: Principal, item: ReviewItem, decision: str, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        answer(principal, item, decision, **fields)
    assert caught.value.field == field
    assert current(principal) == [FOUR, THREE]
    assert open_reviews(principal).exists()


@pytest.mark.parametrize("fields", [{"text": "Card {}"}, {"text": "x", "reason": "Card {}"}])
def test_what_is_not_stored_is_refused_and_noted(
    principal: Principal, item: ReviewItem, fields: dict[str, str]
) -> None:
    card = "4111" + "1111" * 3
    with pytest.raises(Blocked):
        answer(principal, item, "merge", **{name: words.format(card) for name, words in fields.items()})
    assert AuditEvent.objects.filter(action="memory.blocked").count() == 1
    assert not AuditPayload.objects.filter(document__contains=card).exists()
    assert open_reviews(principal).exists()
