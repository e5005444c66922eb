"""Ask as this member: a recall as they would get it, stage by stage, of which nothing is recorded but that staff asked.

Invariant: a question comes by POST alone, so that no address and no access log holds it, and goes back masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse

from memories.admin.members.candidates_table import CUTS, FACTORS, Line, table_of
from memories.admin.members.page import Looking, MemberPage
from memories.constants import DEFAULT_RECALL_LIMIT, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.errors import InvalidInput, SearchForbidden
from memories.presenting.lines import SECTIONS
from memories.recall.boundary import Cut
from memories.recall.explaining import Explanation, explain
from memories.recall.request import screened
from memories.selectors.policies import policy_of
from memories.services.admin_requests import note_question
from memories.types import Kind
from tenants.errors import Forbidden
from tenants.principals import reading_principal, still

TEMPLATE = "admin/memories/member/ask.html"
# Rows of a table; whoever asks for more items sees them all.
ROWS = 40
# What the fields are called where `recall` names what is wrong.
_FIELDS = {"query": "question", "types": "kinds"}


@dataclass(frozen=True, slots=True)
class Step:
    """A stage of the funnel: how many memories it left, and how long it took; `width` is that of its bar."""

    title: str
    hint: str
    count: int
    width: str
    took_ms: float | None


class Question(forms.Form):
    """What is asked, and how. Times are in the reader's zone."""

    question = forms.CharField(max_length=MAX_QUERY_CHARACTERS, strip=False)
    kinds = forms.MultipleChoiceField(choices=[(kind.value, SECTIONS[kind].title) for kind in Kind])
    limit = forms.IntegerField(min_value=1, max_value=MAX_RECALL_LIMIT)
    superseded = forms.BooleanField(required=False)
    as_of = forms.DateTimeField(required=False, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"])
    token_budget = forms.IntegerField(required=False, min_value=1)
    threshold = forms.FloatField(required=False)


def ask(looking: Looking) -> HttpResponse:
    """The form; with a question, what it brings up and why."""
    if looking.request.method != "POST":
        return _page(looking, _usual(looking))
    form = Question(looking.request.POST)
    given = _given(looking)
    if not form.is_valid():
        return _page(looking, given, errors=_errors(form), status=400)
    asked = form.cleaned_data
    question = asked["question"].replace("\r\n", "\n")
    note_question(looking.principal, question)
    try:
        explained = explain(
            looking.principal,
            question,
            types=asked["kinds"],
            limit=asked["limit"],
            include_superseded=asked["superseded"],
            as_of=asked["as_of"],
            token_budget=asked["token_budget"],
            threshold=asked["threshold"],
        )
    except InvalidInput as error:
        return _page(looking, given, errors={_FIELDS.get(error.field, error.field): error.reason}, status=400)
    except SearchForbidden as error:
        return _page(looking, given, closed=str(error))
    _require_still(looking)
    return _page(looking, given, explained=explained)


def _require_still(looking: Looking) -> None:
    """A cluster may take seconds to answer; who lost their role meanwhile sees nothing of it."""
    try:
        reading_principal(looking.membership, staff=still(looking.staff), roles=looking.page.roles)
    except Forbidden as error:
        raise PermissionDenied from error


def _page(
    looking: Looking,
    given: Mapping[str, object],
    *,
    explained: Explanation | None = None,
    errors: Mapping[str, str] | None = None,
    closed: str = "",
    status: int = 200,
) -> HttpResponse:
    return looking.render(
        TEMPLATE,
        title=f"Ask as {looking.membership.user.speaker}",
        status=status,
        given=given,
        kinds=[(SECTIONS[kind], kind.value in given["kinds"]) for kind in Kind],  # type: ignore[operator]  # a list
        errors=errors or {},
        closed=closed,
        most=MAX_RECALL_LIMIT,
        policy=policy_of(looking.membership.tenant_id),
        explained=explained,
        **(_told(explained) if explained is not None else {}),
    )


def _told(explained: Explanation) -> dict[str, object]:
    table = table_of(explained.considered, most=max(ROWS, explained.request.limit))
    listed = {line.id: line for line in table.rows}
    return {
        "funnel": funnel(explained),
        "table": table,
        "by_legs": _by_legs(table.rows),
        "contexts": [
            (line, [listed[id_] for id_ in line.beside if id_ in listed]) for line in table.rows if line.beside
        ],
        "by_fusion": sorted(table.rows, key=lambda line: line.fused_rank or 0),
        "factors": list(FACTORS.values()),
        "cuts": _cuts(explained),
        "cut_rows": [line for line in table.rows if not line.given],
    }


def _among(listed: Mapping[UUID, Line], ids: Iterable[UUID]) -> list[Line]:
    return [listed[id_] for id_ in ids if id_ in listed]


def funnel(explained: Explanation) -> tuple[Step, ...]:
    """From what the search named to what was given out."""
    stages = explained.stages
    considered = len(explained.considered)
    counts = (
        ("Named", "by words, by meaning, or just written", explained.found, stages["candidates"].get("ms")),
        ("Loaded", "with their neighbours, as the database has them", considered, stages["loaded"].get("ms")),
        ("Scored", "every signal of each", considered, stages["scored"].get("ms")),
        ("Adjusted", "by age, use, outcome and kind", considered, None),
        ("Given out", "within limit, budget and threshold", len(explained.answer.items), stages["selected"].get("ms")),
    )
    highest = max((count for _, _, count, _ in counts), default=0) or 1
    return tuple(
        Step(title, hint, count, f"{100 * count / highest:.1f}", took_ms) for title, hint, count, took_ms in counts
    )


def _by_legs(rows: Iterable[Line]) -> list[Line]:
    """What a leg of the search found, the best of any leg first."""
    found = [line for line in rows if line.words or line.meaning]
    return sorted(found, key=lambda line: (min(leg.rank for leg in (line.words, line.meaning) if leg), line.rank))


def _cuts(explained: Explanation) -> list[tuple[str, int]]:
    """How many were not given out, by reason."""
    counts = {cut: sum(each.cut is cut for each in explained.considered) for cut in CUTS if cut is not Cut.NO}
    told = [(CUTS[cut], count) for cut, count in counts.items() if count]
    if explained.unloaded:
        told.append(("not there for this question: ended, expired or of another time", len(explained.unloaded)))
    return told


def _usual(looking: Looking) -> dict[str, object]:
    """As the chat recalls by itself, but for how many."""
    threshold = policy_of(looking.membership.tenant_id).recall_threshold
    return {
        "question": "",
        "kinds": [kind.value for kind in Kind],
        "limit": DEFAULT_RECALL_LIMIT,
        "superseded": False,
        "as_of": "",
        "token_budget": "",
        "threshold": "" if threshold is None else f"{threshold:g}",
    }


def _given(looking: Looking) -> dict[str, object]:
    """What the form held, masked, to be asked again; without a question that is too long to be looked through."""
    form = looking.request.POST
    told: dict[str, object] = {
        name: form.get(name, "") for name in ("limit", "as_of", "token_budget", "threshold", "superseded")
    }
    said = form.get("question", "")
    question = screened(looking.principal, said) if len(said) <= MAX_QUERY_CHARACTERS else ""
    return {**told, "question": question, "masked": bool(question) and question != said, "kinds": form.getlist("kinds")}


def _errors(form: Question) -> dict[str, str]:
    return {name: " ".join(str(each) for each in errors) for name, errors in form.errors.items()}


PAGES = (MemberPage("ask", "ask/", ask, tab="Ask", methods=("GET", "POST")),)
