"""Which of the recalled memories a turn made use of is noted once it is answered, and only where that can be told."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.models import Fact, Mention, MessageState, RecallTrace, Relation
from memories.selectors.memories import messages_using
from memories.selectors.sessions import find_turn
from memories.selectors.staff.inspecting import times_used
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import Turn, add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.types import Kind, Recall, Recalled, Scope, Status, WriteOutcome, WriteResult
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


class Told:
    """A turn in which facts were recalled, to be answered."""

    def __init__(self, principal: Principal, *texts: str, asked: str = "Where do I live?") -> None:
        self.principal = principal
        self.turn: Turn = begin_turn(principal, text=asked)
        self.ids = [remember_fact(principal, text=text).memory_id for text in texts]
        trace = RecallTrace.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id)
        items = tuple(
            Recalled(Kind.SEMANTIC, id_, text, 1.0, None, Status.ACTIVE, Scope.USER)
            for id_, text in zip(self.ids, texts, strict=True)
        )
        self.tool("1", recall=Recall(trace.pk, asked, items, degraded=False, took_ms=1.0))

    def tool(self, call_id: str, **result: Any) -> None:
        where: dict[str, Any] = {"session_id": self.turn.session_id, "turn": self.turn.turn}
        add_tool_step(self.principal, tool_calls=[{"id": call_id, "name": "t", "arguments": {}}], **where)
        add_tool_result(self.principal, tool_call_id=call_id, **where, **result)

    def answer(self, text: str, **options: Any) -> list[bool | None]:
        """What was noted of each fact, in order."""
        finish_turn(self.principal, session_id=self.turn.session_id, turn=self.turn.turn, text=text, **options)
        noted = {mention.memory_id: mention.used for mention in Mention.objects.filter(relation=Relation.RECALLED)}
        return [noted[id_] for id_ in self.ids]


def test_what_the_answer_takes_up_was_used_and_the_rest_was_not(principal: Principal) -> None:
    told = Told(principal, "Lives in Edinburgh", "Has two cats called Miso and Pixel")
    assert told.answer("You live in Edinburgh.") == [True, False]
    echo = Told(principal, "Likes tea", asked="Likes tea, does Ada?")
    assert echo.answer("Yes.") == [None], "it says no more than the question"


def test_only_what_answers_are_made_from_counts_as_used(principal: Principal) -> None:
    told = Told(principal, "Lives in Edinburgh", "Has two cats called Miso and Pixel")
    told.answer("You live in Edinburgh.")
    assert [*Fact.objects.filter(pk__in=told.ids).order_by("-use_count").values_list("pk", "use_count")] == [
        (told.ids[0], 1),
        (told.ids[1], 0),
    ]
    assert times_used(principal, told.ids) == {told.ids[0]: 1}
    assert [messages_using(principal, pk).count() for pk in told.ids] == [1, 0]


def test_an_answer_that_names_its_sources_is_believed(principal: Principal) -> None:
    told = Told(principal, "Lives in Edinburgh", "Has two cats")
    assert told.answer("You live in Edinburgh.", sources={told.ids[1]}) == [False, True]
    view = find_turn(principal, told.turn.session_id, told.turn.turn)
    assert [each.memory_id for each in view.made_from] == [told.ids[1]]
    assert [each.memory_id for each in view.looked_at] == [told.ids[0]]


def test_a_fact_of_the_prompt_is_a_source_as_well(principal: Principal) -> None:
    told = Told(principal, "Has two cats")
    pinned = remember_fact(principal, text="Lives in Edinburgh").memory_id
    told.answer("You live in Edinburgh.", shown=[(Kind.SEMANTIC, pinned)])
    view = find_turn(principal, told.turn.session_id, told.turn.turn)
    assert [each.memory_id for each in view.made_from] == [pinned]
    assert Fact.objects.get(pk=pinned).use_count == 1


@pytest.mark.parametrize(
    "options",
    [{"state": MessageState.FAILED, "error": "no"}, {"state": MessageState.CUT_OFF}],
    ids=["failed", "cut off"],
)
def test_without_a_whole_answer_nobody_can_tell(principal: Principal, options: dict[str, Any]) -> None:
    assert Told(principal, "Lives in Edinburgh").answer("You live in Edinburgh.", **options) == [None]


@pytest.mark.parametrize("relation", ["confirmed", "replaced"])
def test_what_the_turn_changes_is_no_source_of_its_answer(principal: Principal, relation: str) -> None:
    told = Told(principal, "Lives in Edinburgh", "Has two cats")
    acted_on = told.ids[0]
    done: dict[str, dict[str, Any]] = {
        "confirmed": {"written": [WriteOutcome(WriteResult.MERGED, Kind.SEMANTIC, acted_on)]},
        "replaced": {"written": [WriteOutcome(WriteResult.SUPERSEDED, Kind.SEMANTIC, uuid4(), (acted_on,))]},
    }
    told.tool("2", **done[relation])
    assert told.answer("Done: Edinburgh.") == [None, False]
    assert not Fact.objects.filter(use_count__gt=0)


def test_of_a_memory_that_is_gone_nobody_can_tell(principal: Principal) -> None:
    told = Told(principal, "Has two cats", "Plays chess")
    Mention.objects.filter(memory_id=told.ids[0]).update(memory_id=uuid4())
    (gone, kept) = Mention.objects.order_by("position")
    finish_turn(principal, session_id=told.turn.session_id, turn=1, text="Edinburgh.")
    gone.refresh_from_db()
    kept.refresh_from_db()
    assert (gone.used, kept.used) == (None, False)


def test_an_answer_that_was_erased_before_it_came_notes_nothing(principal: Principal) -> None:
    told = Told(principal, "Lives in Edinburgh")
    assert told.turn.episode_id
    forget(principal, kind=Kind.EPISODIC, memory_id=told.turn.episode_id)
    assert told.answer("You live in Edinburgh.") == [None]


def test_a_turn_touches_no_mention_but_its_own(principal: Principal, other_member: Principal) -> None:
    theirs = Told(other_member, "Lives in Edinburgh")
    earlier = Told(principal, "Has two cats")
    finish_turn(principal, session_id=Told(principal, "Plays chess").turn.session_id, turn=1, text="You live alone.")
    untouched: list[UUID] = [theirs.ids[0], earlier.ids[0]]
    assert set(Mention.objects.filter(memory_id__in=untouched).values_list("used", flat=True)) == {None}
    assert Mention.objects.filter(used=False).count() == 1
