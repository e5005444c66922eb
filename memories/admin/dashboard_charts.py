"""The charts of the first page of the admin: how memory grows, how well it is recalled, how clean it is kept.

Invariant: only the tenants of the scope are read, and of their metrics those alone that are drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from memories.admin.metrics_page import charts_of, drawn_of
from memories.metrics import definitions as named
from memories.metrics.activity import REPLACED
from memories.metrics.charting import USUAL_SPAN, Chart, Span, Value, chart
from memories.metrics.definitions import Metric, Unit
from memories.metrics.sampling import Sampling
from memories.selectors.staff.attention import events_by_day
from memories.selectors.staff.uses import kept_by_day
from memories.types import Kind
from tenants.admin.scoping import TenantScope

DAYS = Span("days", "30 days", timedelta(days=1), 30, timedelta(days=7), "%-d %b", 1)
GROWTH = Metric("growth", "Memories kept", "By kind, since they were said, learned or shared.", Unit.COUNT)
HYGIENE = Metric(
    "hygiene",
    "Contradictions a day",
    "Memories that another one replaced, and reviews that were asked for and decided.",
    Unit.COUNT,
)
KINDS = {Kind.EPISODIC: "events", Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.CATALOG: "shared"}
# What is drawn of each action of the trail.
_HYGIENE = {**dict.fromkeys(REPLACED, "replaced"), "review.opened": "asked", "review.decided": "decided"}
_SAMPLED: Mapping[str, tuple[Metric, ...]] = {
    "Recall": (named.HIT_RATIO, named.RECALL_P95),
    "Hygiene": (named.STALENESS_P50,),
}


@dataclass(frozen=True, slots=True)
class Group:
    """Charts under a heading, each with the time that it shows and, if it was sampled, when that was done last.

    `unmeasured` names what nobody has looked at yet. `place` tells groups apart.
    """

    place: int
    title: str
    charts: tuple[tuple[Chart, Span, datetime | None], ...]
    unmeasured: tuple[str, ...] = ()


def groups_of(scope: TenantScope, look: Sampling, now: datetime) -> tuple[Group, ...]:
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
        Group(1, "Growth", ((growth, DAYS, None),)),
        Group(2, "Recall", drawn.get("Recall", ()), waiting.get("Recall", ())),
        Group(3, "Hygiene", ((hygiene, DAYS, None), *drawn.get("Hygiene", ())), waiting.get("Hygiene", ())),
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
