"""The first page of the admin: what needs attention, what happened lately, and charts of memory, by role and tenant.

It shows sums over the reader's tenants and no word of any memory, so no audit log records it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone

from memories.metrics import definitions as named
from memories.metrics.activity import REPLACED
from memories.metrics.alerts import LONGEST_GAP
from memories.metrics.charting import FRAME, USUAL_SPAN, Chart, Span, Value, chart
from memories.metrics.definitions import Metric, Unit
from memories.metrics.sampling import Sampling, last_look
from memories.selectors.staff.attention import events_by_day
from memories.selectors.staff.uses import kept_by_day
from memories.staff.attention import figures_of, needs_of
from memories.staff.metrics import charts_of, drawn_of
from memories.types import Kind
from tenants.admin.scoping import TenantScope, scope_of
from tenants.principal import READS_HISTORY

DAYS = Span("days", "30 days", timedelta(days=1), 30, timedelta(days=7), "%-d %b", 1)
GROWTH = Metric("growth", "Memories kept", "By kind, since they were said, learned or shared.", Unit.COUNT)
HYGIENE = Metric(
    "hygiene",
    "Contradictions a day",
    "Memories that another one replaced, and reviews that were asked for and decided.",
    Unit.COUNT,
)
KINDS = {Kind.EPISODIC: "events", Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.CATALOG: "shared"}
# The line that each audit action counts for.
_HYGIENE = {**dict.fromkeys(REPLACED, "replaced"), "review.opened": "asked", "review.decided": "decided"}
_SAMPLED: Mapping[str, tuple[Metric, ...]] = {
    "Recall": (named.HIT_RATIO, named.RECALL_P95),
    "Hygiene": (named.STALENESS_P50,),
}


@dataclass(frozen=True, slots=True)
class ChartGroup:
    """Charts under a heading, each with its span and, for sampled metrics, the time of the last sample.

    `unmeasured` names metrics without a sample. `place` is the number of the group on the page.
    """

    place: int
    title: str
    charts: tuple[tuple[Chart, Span, datetime | None], ...]
    unmeasured: tuple[str, ...] = ()


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the theme's first page. `?tenant=` narrows it to one tenant, by its slug."""
    scope = scope_of(request, READS_HISTORY)
    now = timezone.localtime()
    look = last_look(None if scope.everything and scope.chosen is None else scope.names)
    return {
        **context,
        "scope": scope,
        "needs": needs_of(scope, look, now),
        "figures": figures_of(scope, now),
        "groups": groups_of(scope, look, now) if scope.tenants else (),
        "look": look,
        "late": look.at is None or now - look.at > LONGEST_GAP,
        "frame": FRAME,
    }


def groups_of(scope: TenantScope, look: Sampling, now: datetime) -> tuple[ChartGroup, ...]:
    """Growth, recall and hygiene; `now` in the reader's zone."""
    tenants = [tenant.id for tenant in scope.shown]
    sampled = dict(charts_of(_SAMPLED, drawn_of(look, scope.names), USUAL_SPAN, now, stages=False)) if look.at else {}
    until = DAYS.until(now)
    days = [(until - DAYS.step * back).astimezone(UTC).date() for back in range(DAYS.steps, 0, -1)]
    growth = _growth(tenants, days, until)
    hygiene = _hygiene(tenants, days, until)
    drawn = {title: tuple((each, USUAL_SPAN, look.at) for each in charts) for title, charts in sampled.items()}
    waiting = {title: tuple(each.title for each in metrics) for title, metrics in _SAMPLED.items() if not look.at}
    return (
        ChartGroup(1, "Growth", ((growth, DAYS, None),)),
        ChartGroup(2, "Recall", drawn.get("Recall", ()), waiting.get("Recall", ())),
        ChartGroup(3, "Hygiene", ((hygiene, DAYS, None), *drawn.get("Hygiene", ())), waiting.get("Hygiene", ())),
    )


def _growth(tenants: Collection[UUID], days: list[date], until: datetime) -> Chart:
    found = kept_by_day(tenants, days)
    return _daily(GROWTH, {words: found[kind] for kind, words in KINDS.items()}, until)


def _hygiene(tenants: Collection[UUID], days: list[date], until: datetime) -> Chart:
    found = events_by_day(tenants, list(_HYGIENE), until - DAYS.length)
    lines = {name: [0] * len(days) for name in dict.fromkeys(_HYGIENE.values())}
    for place, day in enumerate(days):
        for action, name in _HYGIENE.items():
            lines[name][place] += found.get((action, day), 0)
    return _daily(HYGIENE, lines, until)


def _daily(metric: Metric, counts: Mapping[str, list[int]], until: datetime) -> Chart:
    lines: dict[str, list[Value]] = {name: [float(each) for each in values] for name, values in counts.items()}
    return chart(metric, None, lines, {name: values[-1] for name, values in lines.items()}, DAYS, until)
