"""A member's conversations, their turns, the page of one turn with its case, and the answers that used a memory.

The text of a memory is loaded when the page opens and never copied, so a forgotten memory shows no text here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memories.agent.prompt import made_for_the_model
from memories.errors import InvalidInput, NotFound, SearchForbidden, SearchUnavailable
from memories.hygiene.sensitivity.findings import short
from memories.models import Fact, Mention, MessageState, Relation
from memories.presenting.lines import SECTIONS
from memories.presenting.memory import MemoryView, source_words
from memories.presenting.turns import usage_of
from memories.selectors.cases import find_case
from memories.selectors.memories import chain_of
from memories.selectors.sessions import MentionView, TurnView, get_session, search_sessions, transcript
from memories.selectors.staff.conversations import (
    TracedRecall,
    TurnRecord,
    digests,
    exchanges_of,
    mentions_of,
    turn_record,
)
from memories.selectors.staff.verdicts import AnswerSources, sources_of
from memories.staff.base import MemberView
from memories.staff.candidates import STAGE_TITLES, FunnelStep, funnel_of, table_of_trace
from memories.staff.cases import CasePart
from memories.staff.navigation import sidebar
from memories.staff.why_not import found_by, why_not_in_turn
from memories.types import ALL_KINDS, CURRENT, SensitiveKind
from memoryhub.languages import gettext_lazy, number
from tenants.errors import is_storable

PAGE_SIZE = 50
# Characters of a message in a list, and of a search.
SHOWN = 300
_ENDINGS: Mapping[MessageState | None, tuple[str, str]] = {
    None: (gettext_lazy("no answer"), "warning"),
    MessageState.FAILED: (gettext_lazy("failed"), "danger"),
    MessageState.CUT_OFF: (gettext_lazy("cut off"), "warning"),
    MessageState.REDACTED: (gettext_lazy("erased"), ""),
}
_PART_IN_TURN: Mapping[Relation, str] = {
    Relation.RECALLED: gettext_lazy("recalled"),
    Relation.SHOWN: gettext_lazy("shown"),
    Relation.WROTE: gettext_lazy("written"),
    Relation.CONFIRMED: gettext_lazy("known already"),
    Relation.REPLACED: gettext_lazy("replaced or ended"),
    Relation.FORGOT: gettext_lazy("deleted"),
}
_CHANGED: tuple[tuple[Relation, str], ...] = (
    (Relation.WROTE, gettext_lazy("Wrote")),
    (Relation.CONFIRMED, gettext_lazy("Knew already")),
    (Relation.REPLACED, gettext_lazy("Replaced or ended")),
    (Relation.FORGOT, gettext_lazy("Deleted")),
)


class Conversations(MemberView):
    """All conversations, latest first; `?q=` searches titles and messages."""

    reads = "conversations"
    tab = "conversations"
    template_name = "admin/memories/member/conversations.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = request.GET.get("q", "").strip()[:SHOWN]
        if not is_storable(query):
            raise Http404
        page = self.page(search_sessions(self.principal, query), limit=PAGE_SIZE)
        happened = digests(self.principal, page.rows)
        return self.render(
            title=_("Conversations of %(name)s") % {"name": self.member.user.shown_name},
            query=query,
            sessions=[(session, happened.get(session.pk)) for session in page.rows],
            next_cursor=page.next_cursor,
        )


class Conversation(MemberView):
    """The turns of one conversation, newest last; `?before=` takes the number of a turn."""

    tab = "conversations"
    template_name = "admin/memories/member/conversation.html"

    def get(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        before = request.GET.get("before", "")[:9]
        number = int(before) if before.isdecimal() else None
        session = get_session(self.principal, session_id)
        self.note("conversation", target_kind="session", target_id=session.pk)
        views = transcript(self.principal, session_id, last=PAGE_SIZE, before=number, replaced=True)
        turns = [
            {
                "view": view,
                "question": _beginning(view.text),
                "answer": _beginning(view.answer),
                "usage": usage_of(view, staff=True),
                "ending": ending_of_turn(view),
            }
            for view in views
        ]
        earlier = views[0].turn if views and views[0].turn > 1 else None
        return self.render(title=session.title or "A conversation", session=session, turns=turns, before=earlier)


class Uses(MemberView):
    """The answers in which a memory was recalled or changed, latest first."""

    tab = "inspector"
    title = gettext_lazy("Recalled in")
    template_name = "admin/memories/member/uses.html"

    def get(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:  # noqa: ARG002
        memory, mentions = mentions_of(self.principal, memory_id)
        page = self.page(mentions, limit=PAGE_SIZE)
        self.note("uses", target_kind="" if memory is None else memory.kind.value, target_id=memory_id)
        return self.render(
            memory=None if memory is None else MemoryView(memory),
            memory_id=memory_id,
            answers=list(self._answers(page.rows)),
            next_cursor=page.next_cursor,
        )

    def _answers(self, mentions: Iterable[Mention]) -> Iterator[dict[str, Any]]:
        """One entry for each turn, in the order of `mentions`."""
        turns: dict[tuple[UUID, int], list[Mention]] = {}
        for mention in mentions:
            turns.setdefault((mention.message.session_id, mention.message.turn), []).append(mention)
        exchanges = exchanges_of(self.principal, (group[0] for group in turns.values()))
        for turn, group in turns.items():
            known = [each.used for each in group if each.used is not None]
            related = {each.relation for each in group}
            yield {
                "message": group[0].message,
                "did": [words for relation, words in _PART_IN_TURN.items() if relation in related],
                "used": any(known) if known else None,
                "question": _beginning(exchanges[turn][0]),
                "answer": _beginning(exchanges[turn][1]),
            }


class TurnPage(MemberView):
    """One turn: its sources in words, its case, its messages, recalls, tool calls, and written memories.

    `?why=` takes words of a memory, or its id, and explains why it was not among those recalled.
    """

    tab = "conversations"
    template_name = "admin/memories/member/turn.html"

    def get(self, request: HttpRequest, session_id: UUID, turn: int) -> HttpResponse:  # noqa: ARG002
        return self.show(session_id, turn, given={}, refused={})

    def show(
        self, session_id: UUID, turn: int, *, given: Mapping[str, str], refused: Mapping[str, str]
    ) -> HttpResponse:
        """Render the page; `given` refills a refused form of the case, and `refused` says why, by its action."""
        record = turn_record(self.principal, session_id, turn)
        case = find_case(self.principal, session_id=session_id, turn=turn)
        self.note("turn", target_kind="session", target_id=record.session.pk, case=case.pk if case else None)
        view = record.view
        sources = sources_of(self.principal, record)
        why_not = self._why_not(record)
        explained = why_not["why_not"].memory if "why_not" in why_not else None
        asked = self._current_states(explained)
        facts = _facts_at_issue(asked, sources, view)
        part = CasePart(
            self, session_id, turn, facts, explained=explained, names_it=bool(asked), given=given, refused=refused
        )
        return self.render(
            status=400 if refused else 200,
            title=_("Turn %(number)s of %(conversation)s")
            % {
                "number": view.turn,
                "conversation": record.session.title or _("a conversation"),
            },
            record=record,
            view=view,
            sources=sources,
            used=[(MemoryView(each), source_words(each, staff=True)) for each in sources.used],
            case_part=part,
            here=self.url("turn", session_id, turn),
            query=self.query,
            **why_not,
            ending=ending_of_turn(view),
            masked=[short(SensitiveKind(kind)) for kind in view.masked],
            calls=list(_calls(record)),
            changed=_changed(view.mentions, {}),
            all_kinds=[kind.value for kind in ALL_KINDS],
            **({"sidebar_navigation": sidebar(self.request, at=reverse("staff:cases"))} if part.case else {}),
        )

    @property
    def query(self) -> str:
        """The query string that asks for the same memory again; empty if none was asked for."""
        return f"?{urlencode({'why': asked})}" if (asked := self._asked) else ""

    @property
    def _asked(self) -> str:
        return self.request.GET.get("why", "").strip()[:SHOWN]

    def _why_not(self, record: TurnRecord) -> dict[str, Any]:
        """The memories that `?why=` finds, or the explanation of the one that it names."""
        asked = self._asked
        if not is_storable(asked):
            raise Http404
        if not asked:
            return {"why": ""}
        try:
            return {"why": asked, "why_not": why_not_in_turn(self.principal, record, UUID(asked))}
        except (ValueError, NotFound):
            return {"why": asked, "matches": found_by(self.principal, asked)}
        except (InvalidInput, SearchForbidden, SearchUnavailable) as error:
            return {"why": asked, "why_problem": str(error)}

    def _current_states(self, memory: MemoryView | None) -> list[Fact]:
        """The member's own fact, or what replaced it, as it is believed now."""
        if memory is None or not isinstance(memory.row, Fact):
            return []
        chain = chain_of(self.principal, memory.kind, memory.id)
        return [row for row in chain if isinstance(row, Fact) and row.user_id and row.status in CURRENT]


def _facts_at_issue(asked: Iterable[Fact], sources: AnswerSources, view: TurnView) -> list[Fact]:
    """The member's own facts that a correction may be about: asked about in "Why not", used, newer, or recalled."""
    newer = [each.fact for each in sources.newer]
    recalled = [each.memory for each in view.mentions]
    found = [row for row in (*asked, *sources.used, *newer, *recalled) if isinstance(row, Fact) and row.user_id]
    return list({row.pk: row for row in found if row.status in CURRENT}.values())


def ending_of_turn(view: TurnView) -> tuple[str, str] | None:
    """The label and tone of an answer that is not complete; None for a complete one."""
    state = MessageState.REDACTED if view.state is MessageState.REDACTED else view.answer_state
    return _ENDINGS.get(state)


def _beginning(text: str) -> str:
    """At most SHOWN characters; a longer text is cut at a word and gets an ellipsis."""
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN].rpartition(' ')[0].strip() or text[: SHOWN - 1].strip()}…"


def _calls(record: TurnRecord) -> Iterator[dict[str, Any]]:
    """The tool calls in order, each with the message that answered it, if any.

    `said` is the agent's text before its calls and is set on the first of them. `result` is the text of the answer.
    """
    results = {step.tool_call_id: step for step in record.view.steps if step.tool_call_id}
    for step in record.view.steps:
        for place, call in enumerate(step.tool_calls):
            result = results.get(str(call.get("id", "")))
            recall_id = result.recall_id if result else None
            traced = record.recalls.get(recall_id) if recall_id else None
            mentions = result.mentions if result else ()
            scores = traced.scores if traced else {}
            yield {
                "said": "" if place else step.text,
                "name": str(call.get("name", "")),
                "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False, indent=2),
                "automatic": made_for_the_model(str(call.get("id", ""))),
                "result": result.text if result else "",
                "degraded": result is not None and result.degraded,
                "recalled": [_row(each, scores) for each in mentions if each.relation is Relation.RECALLED],
                "changed": _changed(mentions, scores),
                "recall": _recorded(traced) if traced else None,
                "trace_pending": recall_id is not None and traced is None,
            }


def _changed(mentions: Iterable[MentionView], scores: Mapping[UUID, float]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The memories that were written, confirmed, replaced or forgotten, grouped by heading; omits empty groups."""
    grouped = [
        (title, {each.memory_id: _row(each, scores) for each in mentions if each.relation is relation})
        for relation, title in _CHANGED
    ]
    return [(title, list(rows.values())) for title, rows in grouped if rows]


def _row(mention: MentionView, scores: Mapping[UUID, float]) -> dict[str, Any]:
    """A memory that a step recalled or changed; `memory` is None once forgotten."""
    memory = MemoryView(mention.memory) if mention.memory else None
    return {"mention": mention, "memory": memory, "score": scores.get(mention.memory_id)}


def _recorded(traced: TracedRecall) -> dict[str, Any]:
    """A recorded recall of the turn: its trace, parameters, stages and candidates."""
    stages = traced.trace.stages
    steps = [
        FunnelStep(title, stages[name].get("count"), stages[name].get("ms"))
        for name, title in STAGE_TITLES.items()
        if name in stages
    ]
    return {
        "trace": traced.trace,
        "bounds": _bounds(traced.trace.parameters),
        "stages": funnel_of(steps),
        "table": table_of_trace(traced.trace, traced.memories),
    }


def _bounds(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The label and value of each parameter of the recall, except for those left at their defaults."""
    kinds, as_of, threshold = parameters.get("types", ()), parameters.get("as_of"), parameters.get("threshold")
    bounds = [
        (_("kinds"), ", ".join(str(SECTIONS[kind].title) for kind in kinds) if set(kinds) != set(ALL_KINDS) else None),
        (_("limit"), parameters.get("limit")),
        (_("tokens"), parameters.get("token_budget")),
        (_("threshold"), None if threshold is None else number(threshold)),
        (_("as of"), date_format(datetime.fromisoformat(as_of), "DATETIME_FORMAT") if as_of else None),
        (_("task"), parameters.get("task")),
        (_("superseded"), _("included") if parameters.get("include_superseded") else None),
        (_("encoder"), parameters.get("encoder")),
        (_("in place of another, for"), parameters.get("stood_in")),
        (_("some by words alone"), _("yes") if parameters.get("by_words_alone") else None),
        (_("external index"), parameters.get("external")),
        (_("which did not answer"), parameters.get("external_fault")),
        (_("reranked by") if parameters.get("reranked") else _("not reranked by"), parameters.get("reranker")),
    ]
    return [(name, str(value)) for name, value in bounds if value not in (None, "")]
