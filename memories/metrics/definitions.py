"""The definitions of all metrics and alerts, which the admin page, Prometheus and docs/monitoring.md use.

An alert on a share or a percentile sets a minimum number of events (`at_least`), so that a few events cannot trigger
it. The condition on the page and the expression for Prometheus are built from the same fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from memoryhub.installation import PROGRAM

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
    title: str
    help: str
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
    "Writes a minute",
    "Episodes, facts, how-tos and catalog entries written or confirmed, a minute.",
    Unit.PER_MINUTE,
    MINUTES,
)
RECALLS = Metric("recalls_per_hour", "Recalls", "Recalls made.", Unit.COUNT, HOUR)
HIT_RATIO = Metric(
    "read_hit_ratio", "Read hits", "Share of recalls that returned a memory.", Unit.SHARE, HOUR, idle=None
)
REMEMBERED = Metric(
    "remembered_per_hour", "Facts and how-tos told", "Facts and how-tos written, new or known.", Unit.COUNT, HOUR
)
DEDUP_RATIO = Metric(
    "dedup_ratio",
    "Duplicates",
    "Written facts and how-tos that were known already, of all.",
    Unit.SHARE,
    HOUR,
    idle=None,
)
CONTRADICTIONS = Metric(
    "contradictions_per_day",
    "Contradictions a day",
    "Facts and how-tos that another one replaced, and contradictions that a person was asked about.",
    Unit.COUNT,
    DAY,
)
SCORED_FACTS = Metric(
    "scored_facts", "Facts with a staleness", "Current facts whose staleness the daily scan found.", Unit.COUNT
)
STALENESS_P50 = Metric(
    "staleness_p50",
    "Staleness, median",
    "Half of the current facts are no staler than this: 0 % is fresh, 100 % is stale.",
    Unit.SHARE,
    idle=None,
)
STALENESS_P95 = Metric(
    "staleness_p95",
    "Staleness, 95th percentile",
    "95 % of the current facts are no staler than this.",
    Unit.SHARE,
    idle=None,
)
OPEN_SCOPES = Metric(
    "open_scopes_per_user",
    "Open scopes of a user",
    "Tasks with current memories and sessions that go on, of the member who has the most.",
    Unit.COUNT,
)
BLOCKED = Metric(
    "blocked_sensitive_per_day",
    "Sensitive values kept out",
    "Memories refused for what they hold, and messages with a secret, card, national id or account masked.",
    Unit.COUNT,
    DAY,
)
MASKED = Metric(
    "masked_sensitive_per_day",
    "Messages masked",
    "Messages of conversations with a value of any kind masked.",
    Unit.COUNT,
    DAY,
)
EXPORTS = Metric("exports_per_day", "Whole memories exported", "Whole memories that staff downloaded.", Unit.COUNT, DAY)
EXPORTS_REFUSED = Metric(
    "exports_refused_per_day",
    "Exports beyond the limit",
    "Requests for whole memories that the daily number of one person refused.",
    Unit.COUNT,
    DAY,
)
RECALL_P50 = Metric(
    "recall_p50_seconds",
    "Recall latency, median",
    "Median time of the stage.",
    Unit.SECONDS,
    QUARTER,
    idle=None,
    label="stage",
)
RECALL_P95 = Metric(
    "recall_p95_seconds",
    "Recall latency, 95th percentile",
    "95th percentile time of the stage.",
    Unit.SECONDS,
    QUARTER,
    idle=None,
    label="stage",
)
INDEX_LAG = Metric(
    "index_lag_seconds", "Index lag", "Age of the oldest change that the search plane does not have.", Unit.SECONDS
)
INDEX_WAITING = Metric(
    "index_waiting_entries", "Changes not indexed", "Changes that the search plane does not have.", Unit.COUNT
)
WAITING_EPISODES = Metric(
    "consolidation_waiting_episodes", "Episodes to consolidate", "Episodes that no run has read yet.", Unit.COUNT
)
CONSOLIDATION_LAG = Metric(
    "consolidation_lag_seconds", "Consolidation lag", "Age of the oldest episode that no run has read.", Unit.SECONDS
)
CONSOLIDATION_OVERDUE = Metric(
    "consolidation_overdue_seconds",
    "Consolidation overdue",
    "How much longer than the tenant's policy allows it has waited; 0 where consolidation is on demand.",
    Unit.SECONDS,
)
CONSOLIDATION_FAILURES = Metric(
    "consolidation_failures_per_day", "Consolidations failed", "Runs that failed.", Unit.COUNT, DAY
)
CONSOLIDATION_COST = Metric(
    "consolidation_cost_per_day",
    "Consolidation cost",
    "Cost of the runs, in the currency of the configured prices.",
    Unit.COST,
    DAY,
)
RECORD_FINDINGS = Metric(
    "record_findings",
    "Findings in the record",
    "Chains whose latest verification failed; without a tenant also missing triggers and anchors.",
    Unit.COUNT,
)
GIVEN_UP = Metric(
    "given_up_items",
    "Given up",
    "What failed again and again in the same way and was set aside: episodes of the last 7 days that no rerun read, "
    "changes for the index, search keys, and memories or owners that the last daily scan left out.",
    Unit.COUNT,
)
WEBHOOKS_DISABLED = Metric(
    "disabled_webhooks", "Webhooks that are disabled", "Webhooks whose receiver took nothing for a day.", Unit.COUNT
)
WEBHOOK_LAG = Metric(
    "webhook_lag_seconds", "Webhook lag", "Age of the oldest event that an enabled webhook waits for.", Unit.SECONDS
)
ERASURES_FAILING = Metric(
    "failing_erasures", "Erasures that fail", "Erasures of members that failed three times and go on.", Unit.COUNT
)
TURNS = Metric("turns_per_hour", "Turns answered", "Turns whose answer was finished.", Unit.COUNT, HOUR)
MEMORY_TOKENS = Metric(
    "memory_tokens_per_turn",
    "Memory tokens a turn",
    "Tokens that recalls and pinned facts took of the prompt, on the average turn.",
    Unit.TOKENS,
    HOUR,
    idle=None,
)

RECALL_MODEL_TOKENS = Metric(
    "recall_model_tokens_per_hour",
    "Model tokens of recalls",
    "Tokens that endpoints of embeddings and of reranking counted for recalls.",
    Unit.TOKENS,
    HOUR,
    idle=None,
)
STOOD_IN = Metric(
    "stood_in_recalls_per_hour",
    "Recalls by the bundled encoder",
    "Recalls in which the bundled encoder took the place of a configured one.",
    Unit.COUNT,
    HOUR,
    idle=None,
)
REFUSED_REQUESTS = Metric(
    "refused_requests_per_hour",
    "Requests refused",
    "Requests that a limit of use refused, by the limit.",
    Unit.COUNT,
    HOUR,
    idle=None,
    label="limit",
)
FAILED_SIGN_INS = Metric(
    "failed_sign_ins_per_hour",
    "Failed sign-ins",
    "Sign-ins of the whole installation with a wrong password or second factor, or a name that is nobody's.",
    Unit.COUNT,
    HOUR,
    idle=None,
)
UNLIMITED_REQUESTS = Metric(
    "unlimited_requests_per_hour",
    "Requests without limits",
    "Requests that were served without limits, because the store of the limits did not answer.",
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

# A share of fewer events is not significant.
_ENOUGH = 20.0

ALERTS: tuple[Alert, ...] = (
    Alert(
        "MemoryhubWriteRateHigh",
        WRITES,
        50.0,
        timedelta(minutes=10),
        "Memory is written unusually fast",
        means="Something writes far more than people say: an import, or an agent that stores in a loop.",
        do="Look in the audit log for who writes; end the token or the agent if it is neither an import nor wanted.",
    ),
    Alert(
        "MemoryhubReadHitRatioLow",
        HIT_RATIO,
        0.1,
        timedelta(minutes=15),
        "Recalls find almost nothing",
        means="Agents ask and memory has no answer: the index is empty or broken, or a recall threshold is too high.",
        do=f"Run `{PROGRAM} index check`, and look at the tenant's recall threshold.",
        at_least=(RECALLS, _ENOUGH),
        comparison=Comparison.UNDER,
    ),
    Alert(
        "MemoryhubDedupRatioHigh",
        DEDUP_RATIO,
        0.7,
        timedelta(minutes=15),
        "Mostly what is known is written again",
        means="An agent stores what it was just given, or an import runs again and again.",
        do="Look in the audit log for who confirms the same facts; mend the prompt or stop the import.",
        at_least=(REMEMBERED, _ENOUGH),
    ),
    Alert(
        "MemoryhubContradictionsHigh",
        CONTRADICTIONS,
        50.0,
        timedelta(minutes=5),
        "Facts keep replacing one another",
        means="More was contradicted in a day than people change their lives: two sources may disagree for ever.",
        do="Settle the review queue, and look at the chains of the facts that were replaced most often.",
    ),
    Alert(
        "MemoryhubFactsStale",
        STALENESS_P50,
        0.5,
        timedelta(hours=1),
        "Half of the facts are stale",
        means="Over half of stored facts are stale; answers may be outdated.",
        do="Decide on the evictions in the review queue; let members confirm what still holds.",
        at_least=(SCORED_FACTS, _ENOUGH),
    ),
    Alert(
        "MemoryhubOpenScopesHigh",
        OPEN_SCOPES,
        50.0,
        timedelta(minutes=15),
        "A member has very many tasks and sessions open",
        means="An agent begins sessions or tasks and never ends them; their notes are never turned into memory.",
        do="Have the agent end its sessions and tasks, or shorten the tenant's session lifetime.",
    ),
    Alert(
        "MemoryhubSensitiveWrites",
        BLOCKED,
        20.0,
        timedelta(0),
        "Secrets are sent to memory",
        means="Passwords, cards or ids were kept out of memory again and again: somebody pastes them, or a tool leaks.",
        do="Find the member or token in the audit log (memory.blocked, memory.masked); rotate what was pasted.",
    ),
    Alert(
        "MemoryhubExportsRefused",
        EXPORTS_REFUSED,
        0.0,
        timedelta(0),
        "Somebody asks for more whole memories than they may",
        means="An administrator, or whoever has their password, takes members' memories along one after the other.",
        do="Find them in the audit log (export.limited, export.asked); ask them, or deactivate the account.",
    ),
    Alert(
        "MemoryhubRecallSlow",
        RECALL_P95,
        1.0,
        timedelta(minutes=10),
        "Recalls are slow",
        means="One recall in twenty takes longer than a second, and every answer waits for it.",
        do="See in the chart of the stages which one it is: candidates is the search plane, loaded the database.",
        label=TOTAL,
        at_least=(RECALLS, _ENOUGH),
    ),
    Alert(
        "MemoryhubIndexLagging",
        INDEX_LAG,
        300.0,
        timedelta(minutes=5),
        "Search does not get the changes",
        means="What was written minutes ago is not indexed: the search plane is away, or nothing drains the outbox.",
        do=f"Look at `/readyz` and the workers, then run `{PROGRAM} index drain`.",
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubConsolidationOverdue",
        CONSOLIDATION_OVERDUE,
        7200.0,
        timedelta(minutes=15),
        "Episodes wait too long to be consolidated",
        means="What was said becomes facts two hours later than the policy allows: the model or the workers lag.",
        do=f"Run `{PROGRAM} consolidate --runs` to see what fails; add workers for the queue memoryhub.upkeep.",
    ),
    Alert(
        "MemoryhubConsolidationFailing",
        CONSOLIDATION_FAILURES,
        10.0,
        timedelta(0),
        "Consolidations fail",
        means="The model that reads episodes is away or answers nonsense; nothing is lost, and nothing new is learned.",
        do=f"Run `{PROGRAM} consolidate --runs` to see the errors; check the model's endpoint and key.",
    ),
    Alert(
        "MemoryhubRecordBroken",
        RECORD_FINDINGS,
        0.0,
        timedelta(0),
        "The record was changed",
        means="A memory, the audit log or a trigger of the database was changed past memoryhub, or a key is missing.",
        do=f"Run `{PROGRAM} verify_audit` and `verify_chains`; keep the database as it is, "
        "and compare it with backups.",
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubItemsGivenUp",
        GIVEN_UP,
        0.0,
        timedelta(0),
        "Something was given up",
        means="An episode, a change for the index, a search key or a memory in the daily scan fails by itself, again "
        "and again in the same way; everything behind it went on.",
        do="The first page of the admin links to it, the log names the error. Once that is mended read the run again, "
        f"or run `{PROGRAM} index check --repair`.",
    ),
    Alert(
        "MemoryhubErasureFailing",
        ERASURES_FAILING,
        0.0,
        timedelta(0),
        "An erasure does not get done",
        means="The erasure of a member failed three times; it is tried again every two minutes until it is done.",
        do="Read the reason on the page of the erasure and mend it.",
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubWebhookDisabled",
        WEBHOOKS_DISABLED,
        0.0,
        timedelta(0),
        "A webhook was disabled",
        means="Its receiver took nothing for a day, or said that it is gone; the events wait for 30 days.",
        do="Ask the tenant to mend the receiver and to enable the webhook again, or to delete it.",
    ),
    Alert(
        "MemoryhubMemoryTokensHigh",
        MEMORY_TOKENS,
        6000.0,
        timedelta(minutes=15),
        "Memory takes much of every prompt",
        means="The average turn carries more than the usual 4,000 tokens of recall and 2,000 of pinned facts.",
        do="Lower the tenant's recall items or tokens, or let members pin less.",
        at_least=(TURNS, _ENOUGH),
    ),
    Alert(
        "MemoryhubRequestsRefused",
        REFUSED_REQUESTS,
        500.0,
        timedelta(minutes=10),
        "Very many requests are refused",
        means="A program ignores that it is refused, or the tenant's limits are too low for what it does.",
        do="See in the access log which member or token gets status 429; mend it, or raise the limit in the policy.",
        label=TOTAL,
    ),
    Alert(
        "MemoryhubSignInsFail",
        FAILED_SIGN_INS,
        100.0,
        timedelta(0),
        "Very many sign-ins fail",
        means="Somebody guesses passwords, or a program signs in with an old one.",
        do="The events user.sign_in_failed of the audit log name accounts and addresses; block the addresses at the"
        " proxy, and require a second factor.",
    ),
    Alert(
        "MemoryhubLimitsNotEnforced",
        UNLIMITED_REQUESTS,
        0.0,
        timedelta(0),
        "Limits of use are not enforced",
        means="The store of the limits did not answer, so requests were served without them.",
        do="Look at Redis, or at the file limits.sqlite3 in the data folder; the log has the error.",
    ),
)
