"""The definitions of all metrics, which the admin page, Prometheus and docs/monitoring.md use, and of an alert.

An alert on a share or a percentile sets a minimum number of events (`at_least`), so that a few events cannot trigger
it. The condition on the page and the expression for Prometheus are built from the same fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from memoryhub.languages import gettext_lazy as _

PREFIX = "memoryhub_"
TOTAL = "total"
# The stages of a recall in order (`recall/pipeline.py`), and the whole recall.
STAGES = ("query", "candidates", "loaded", "scored", "selected", TOTAL)

MINUTES, HOUR, DAY = timedelta(minutes=5), timedelta(hours=1), timedelta(days=1)
# The window of latencies: short enough to show an outage, long enough to hold recalls for a percentile.
QUARTER = timedelta(minutes=15)


class Unit(StrEnum):
    """The unit of a value, which selects its format."""

    PER_MINUTE = "a minute"
    SHARE = "share"
    COUNT = "count"
    SECONDS = "seconds"
    TOKENS = "tokens"
    COST = "cost"


class Comparison(StrEnum):
    """The side of the threshold on which a value is bad; a value at the threshold is good."""

    OVER = ">"
    UNDER = "<"


class Severity(StrEnum):
    """Whether somebody should look today (warning) or now (critical)."""

    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, measured for each tenant.

    `window` is the time that it covers, None for a present state. `idle` is the value without events, None for no
    value. `label` names the Prometheus label that distinguishes its values.
    """

    name: str
    title: str = field(compare=False)
    help: str = field(compare=False)
    unit: Unit
    window: timedelta | None = None
    idle: float | None = 0.0
    label: str = ""

    @property
    def exposed(self) -> str:
        """The name in Prometheus."""
        return PREFIX + self.name


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition on `metric`, limited to the value with `label` if set: beyond `threshold` for `lasting`.

    `at_least` adds the condition that another metric has a minimum value. `means` and `do` are sentences for the person
    on call.
    """

    name: str
    metric: Metric
    threshold: float
    lasting: timedelta
    title: str
    means: str
    do: str
    comparison: Comparison = Comparison.OVER
    severity: Severity = Severity.WARNING
    label: str = ""
    at_least: tuple[Metric, float] | None = None

    def beyond(self, value: float) -> bool:
        """Whether `value` is on the bad side of the threshold."""
        return value > self.threshold if self.comparison is Comparison.OVER else value < self.threshold


WRITES = Metric(
    "writes_per_minute",
    _("Writes a minute"),
    _("Episodes, facts, how-tos and catalog entries written or confirmed, a minute."),
    Unit.PER_MINUTE,
    MINUTES,
)
RECALLS = Metric("recalls_per_hour", _("Recalls"), _("Recalls made."), Unit.COUNT, HOUR)
HIT_RATIO = Metric(
    "read_hit_ratio",
    _("Read hits"),
    _("Share of recalls that returned a memory."),
    Unit.SHARE,
    HOUR,
    idle=None,
)
REMEMBERED = Metric(
    "remembered_per_hour",
    _("Facts and how-tos told"),
    _("Facts and how-tos written, new or known."),
    Unit.COUNT,
    HOUR,
)
DEDUP_RATIO = Metric(
    "dedup_ratio",
    _("Duplicates"),
    _("Written facts and how-tos that were known already, of all."),
    Unit.SHARE,
    HOUR,
    idle=None,
)
CONTRADICTIONS = Metric(
    "contradictions_per_day",
    _("Contradictions a day"),
    _("Facts and how-tos that another one replaced, and contradictions that a person was asked about."),
    Unit.COUNT,
    DAY,
)
SCORED_FACTS = Metric(
    "scored_facts",
    _("Facts with a staleness"),
    _("Current facts whose staleness the daily scan found."),
    Unit.COUNT,
)
STALENESS_P50 = Metric(
    "staleness_p50",
    _("Staleness, median"),
    _("Half of the current facts are no staler than this, from 0 (fresh) to 100 (stale)."),
    Unit.SHARE,
    idle=None,
)
STALENESS_P95 = Metric(
    "staleness_p95",
    _("Staleness, 95th percentile"),
    _("Nineteen in twenty current facts are no staler than this."),
    Unit.SHARE,
    idle=None,
)
OPEN_SCOPES = Metric(
    "open_scopes_per_user",
    _("Open scopes of a user"),
    _("Tasks with current memories and sessions that go on, of the member who has the most."),
    Unit.COUNT,
)
BLOCKED = Metric(
    "blocked_sensitive_per_day",
    _("Sensitive values kept out"),
    _("Memories refused for what they hold, and messages with a secret, card, national id or account masked."),
    Unit.COUNT,
    DAY,
)
MASKED = Metric(
    "masked_sensitive_per_day",
    _("Messages masked"),
    _("Messages of conversations with a value of any kind masked."),
    Unit.COUNT,
    DAY,
)
EXPORTS = Metric(
    "exports_per_day",
    _("Whole memories exported"),
    _("Whole memories that staff downloaded."),
    Unit.COUNT,
    DAY,
)
EXPORTS_REFUSED = Metric(
    "exports_refused_per_day",
    _("Exports beyond the limit"),
    _("Requests for whole memories that the daily number of one person refused."),
    Unit.COUNT,
    DAY,
)
RECALL_P50 = Metric(
    "recall_p50_seconds",
    _("Recall latency, median"),
    _("Median time of the stage."),
    Unit.SECONDS,
    QUARTER,
    idle=None,
    label="stage",
)
RECALL_P95 = Metric(
    "recall_p95_seconds",
    _("Recall latency, 95th percentile"),
    _("95th percentile time of the stage."),
    Unit.SECONDS,
    QUARTER,
    idle=None,
    label="stage",
)
INDEX_LAG = Metric(
    "index_lag_seconds",
    _("Index lag"),
    _("Age of the oldest change that the search plane does not have."),
    Unit.SECONDS,
)
INDEX_WAITING = Metric(
    "index_waiting_entries",
    _("Changes not indexed"),
    _("Changes that the search plane does not have."),
    Unit.COUNT,
)
WAITING_EPISODES = Metric(
    "consolidation_waiting_episodes",
    _("Episodes to consolidate"),
    _("Episodes that no run has read yet."),
    Unit.COUNT,
)
CONSOLIDATION_LAG = Metric(
    "consolidation_lag_seconds",
    _("Consolidation lag"),
    _("Age of the oldest episode that no run has read."),
    Unit.SECONDS,
)
CONSOLIDATION_OVERDUE = Metric(
    "consolidation_overdue_seconds",
    _("Consolidation overdue"),
    _("How much longer than the tenant's policy allows it has waited; 0 where consolidation is on demand."),
    Unit.SECONDS,
)
CONSOLIDATION_FAILURES = Metric(
    "consolidation_failures_per_day",
    _("Consolidations failed"),
    _("Runs that failed."),
    Unit.COUNT,
    DAY,
)
CONSOLIDATION_COST = Metric(
    "consolidation_cost_per_day",
    _("Consolidation cost"),
    _("Cost of the runs, in the currency of the configured prices."),
    Unit.COST,
    DAY,
)
RECORD_FINDINGS = Metric(
    "record_findings",
    _("Findings in the record"),
    _("Chains whose latest verification failed; without a tenant also missing triggers and anchors."),
    Unit.COUNT,
)
GIVEN_UP = Metric(
    "given_up_items",
    _("Given up"),
    _(
        "What failed again and again in the same way and was set aside: episodes of the last 7 days that no rerun "
        "read, changes for the index, search keys, and memories or owners that the last daily scan left out."
    ),
    Unit.COUNT,
)
WEBHOOKS_DISABLED = Metric(
    "disabled_webhooks",
    _("Webhooks that are disabled"),
    _("Webhooks whose receiver took nothing for a day."),
    Unit.COUNT,
)
WEBHOOK_LAG = Metric(
    "webhook_lag_seconds",
    _("Webhook lag"),
    _("Age of the oldest event that an enabled webhook waits for."),
    Unit.SECONDS,
)
ERASURES_FAILING = Metric(
    "failing_erasures",
    _("Erasures that fail"),
    _("Erasures of members that failed three times and go on."),
    Unit.COUNT,
)
TURNS = Metric("turns_per_hour", _("Turns answered"), _("Turns whose answer was finished."), Unit.COUNT, HOUR)
MEMORY_TOKENS = Metric(
    "memory_tokens_per_turn",
    _("Memory tokens a turn"),
    _("Tokens that recalls and pinned facts took of the prompt, on the average turn."),
    Unit.TOKENS,
    HOUR,
    idle=None,
)

RECALL_MODEL_TOKENS = Metric(
    "recall_model_tokens_per_hour",
    _("Model tokens of recalls"),
    _("Tokens that endpoints of embeddings and of reranking counted for recalls."),
    Unit.TOKENS,
    HOUR,
    idle=None,
)
STOOD_IN = Metric(
    "stood_in_recalls_per_hour",
    _("Recalls by the bundled encoder"),
    _("Recalls in which the bundled encoder took the place of a configured one."),
    Unit.COUNT,
    HOUR,
    idle=None,
)
REFUSED_REQUESTS = Metric(
    "refused_requests_per_hour",
    _("Requests refused"),
    _("Requests that a limit of use refused, by the limit."),
    Unit.COUNT,
    HOUR,
    idle=None,
    label="limit",
)
FAILED_SIGN_INS = Metric(
    "failed_sign_ins_per_hour",
    _("Failed sign-ins"),
    _("Sign-ins of the whole installation with a wrong password or second factor, or a name that is nobody's."),
    Unit.COUNT,
    HOUR,
    idle=None,
)
UNLIMITED_REQUESTS = Metric(
    "unlimited_requests_per_hour",
    _("Requests without limits"),
    _("Requests that were served without limits, because the store of the limits did not answer."),
    Unit.COUNT,
    HOUR,
)

METRICS: tuple[Metric, ...] = (
    *(WRITES, RECALLS, HIT_RATIO, REMEMBERED, DEDUP_RATIO, CONTRADICTIONS, SCORED_FACTS, STALENESS_P50, STALENESS_P95),
    *(OPEN_SCOPES, BLOCKED, MASKED, EXPORTS, EXPORTS_REFUSED, RECALL_P50, RECALL_P95, INDEX_LAG, INDEX_WAITING),
    *(WAITING_EPISODES, CONSOLIDATION_LAG, CONSOLIDATION_OVERDUE, CONSOLIDATION_FAILURES, CONSOLIDATION_COST),
    *(RECORD_FINDINGS, GIVEN_UP, ERASURES_FAILING, WEBHOOKS_DISABLED, WEBHOOK_LAG),
    *(TURNS, MEMORY_TOKENS, RECALL_MODEL_TOKENS, STOOD_IN, REFUSED_REQUESTS, FAILED_SIGN_INS, UNLIMITED_REQUESTS),
)
BY_NAME = {metric.name: metric for metric in METRICS}
