"""The alerts on the metrics, which the admin page, Prometheus and docs/monitoring.md use."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.utils.text import format_lazy

from memories.metrics.definitions import (
    BLOCKED,
    CONSOLIDATION_FAILURES,
    CONSOLIDATION_OVERDUE,
    CONTRADICTIONS,
    DEDUP_RATIO,
    ERASURES_FAILING,
    EXPORTS_REFUSED,
    FAILED_SIGN_INS,
    GIVEN_UP,
    HIT_RATIO,
    INDEX_LAG,
    MEMORY_TOKENS,
    OPEN_SCOPES,
    RECALL_P95,
    RECALLS,
    RECORD_FINDINGS,
    REFUSED_REQUESTS,
    REMEMBERED,
    SCORED_FACTS,
    STALENESS_P50,
    TOTAL,
    TURNS,
    UNLIMITED_REQUESTS,
    WEBHOOKS_DISABLED,
    WRITES,
    Alert,
    Comparison,
    Severity,
)
from memoryhub.installation import PROGRAM
from memoryhub.languages import gettext_lazy as _


def _with_program(text: str) -> str:
    return cast("str", format_lazy(text, program=PROGRAM))


# A share of fewer events is not significant.
_ENOUGH = 20.0

ALERTS: tuple[Alert, ...] = (
    Alert(
        "MemoryhubWriteRateHigh",
        WRITES,
        50.0,
        timedelta(minutes=10),
        _("Memory is written unusually fast"),
        means=_("Something writes far more than people say: an import, or an agent that stores in a loop."),
        do=_("Look in the audit log for who writes; end the token or the agent if it is neither an import nor wanted."),
    ),
    Alert(
        "MemoryhubReadHitRatioLow",
        HIT_RATIO,
        0.1,
        timedelta(minutes=15),
        _("Recalls find almost nothing"),
        means=_(
            "Agents ask and memory has no answer: the index is empty or broken, or a recall threshold is too high."
        ),
        do=_with_program(_("Run `{program} index check`, and look at the tenant's recall threshold.")),
        at_least=(RECALLS, _ENOUGH),
        comparison=Comparison.UNDER,
    ),
    Alert(
        "MemoryhubDedupRatioHigh",
        DEDUP_RATIO,
        0.7,
        timedelta(minutes=15),
        _("Mostly what is known is written again"),
        means=_("An agent stores what it was just given, or an import runs again and again."),
        do=_("Look in the audit log for who confirms the same facts; mend the prompt or stop the import."),
        at_least=(REMEMBERED, _ENOUGH),
    ),
    Alert(
        "MemoryhubContradictionsHigh",
        CONTRADICTIONS,
        50.0,
        timedelta(minutes=5),
        _("Facts keep replacing one another"),
        means=_("More was contradicted in a day than people change their lives: two sources may disagree for ever."),
        do=_("Settle the review queue, and look at the chains of the facts that were replaced most often."),
    ),
    Alert(
        "MemoryhubFactsStale",
        STALENESS_P50,
        0.5,
        timedelta(hours=1),
        _("Half of the facts are stale"),
        means=_("Over half of stored facts are stale; answers may be outdated."),
        do=_("Decide on the evictions in the review queue; let members confirm what still holds."),
        at_least=(SCORED_FACTS, _ENOUGH),
    ),
    Alert(
        "MemoryhubOpenScopesHigh",
        OPEN_SCOPES,
        50.0,
        timedelta(minutes=15),
        _("A member has very many tasks and sessions open"),
        means=_("An agent begins sessions or tasks and never ends them; their notes are never turned into memory."),
        do=_("Have the agent end its sessions and tasks, or shorten the tenant's session lifetime."),
    ),
    Alert(
        "MemoryhubSensitiveWrites",
        BLOCKED,
        20.0,
        timedelta(0),
        _("Secrets are sent to memory"),
        means=_(
            "Passwords, cards or ids were kept out of memory again and again: somebody pastes them, or a tool leaks."
        ),
        do=_("Find the member or token in the audit log (memory.blocked, memory.masked); rotate what was pasted."),
    ),
    Alert(
        "MemoryhubExportsRefused",
        EXPORTS_REFUSED,
        0.0,
        timedelta(0),
        _("Somebody asks for more whole memories than they may"),
        means=_("An administrator, or whoever has their password, takes members' memories along one after the other."),
        do=_("Find them in the audit log (export.limited, export.asked); ask them, or deactivate the account."),
    ),
    Alert(
        "MemoryhubRecallSlow",
        RECALL_P95,
        1.0,
        timedelta(minutes=10),
        _("Recalls are slow"),
        means=_("One recall in twenty takes longer than a second, and every answer waits for it."),
        do=_("See in the chart of the stages which one it is: candidates is the search plane, loaded the database."),
        label=TOTAL,
        at_least=(RECALLS, _ENOUGH),
    ),
    Alert(
        "MemoryhubIndexLagging",
        INDEX_LAG,
        300.0,
        timedelta(minutes=5),
        _("Search does not get the changes"),
        means=_("What was written minutes ago is not indexed: the search plane is away, or nothing drains the outbox."),
        do=_with_program(_("Look at `/readyz` and the workers, then run `{program} index drain`.")),
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubConsolidationOverdue",
        CONSOLIDATION_OVERDUE,
        7200.0,
        timedelta(minutes=15),
        _("Episodes wait too long to be consolidated"),
        means=_("What was said becomes facts two hours later than the policy allows: the model or the workers lag."),
        do=_with_program(
            _("Run `{program} consolidate --runs` to see what fails; add workers for the queue memoryhub.upkeep.")
        ),
    ),
    Alert(
        "MemoryhubConsolidationFailing",
        CONSOLIDATION_FAILURES,
        10.0,
        timedelta(0),
        _("Consolidations fail"),
        means=_(
            "The model that reads episodes is away or answers nonsense; nothing is lost, and nothing new is learned."
        ),
        do=_with_program(
            _("Run `{program} consolidate --runs` to see the errors; check the model's endpoint and key.")
        ),
    ),
    Alert(
        "MemoryhubRecordBroken",
        RECORD_FINDINGS,
        0.0,
        timedelta(0),
        _("The record was changed"),
        means=_(
            "A memory, the audit log or a trigger of the database was changed past memoryhub, or a key is missing."
        ),
        do=_with_program(
            _(
                "Run `{program} verify_audit` and `verify_chains`; keep the database as it is, "
                "and compare it with backups."
            )
        ),
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubItemsGivenUp",
        GIVEN_UP,
        0.0,
        timedelta(0),
        _("Something was given up"),
        means=_(
            "An episode, a change for the index, a search key or a memory in the daily scan fails by itself, again "
            "and again in the same way; everything behind it went on."
        ),
        do=_with_program(
            _(
                "The first page of the admin links to it, the log names the error. Once that is mended read the run "
                "again, or run `{program} index check --repair`."
            )
        ),
    ),
    Alert(
        "MemoryhubErasureFailing",
        ERASURES_FAILING,
        0.0,
        timedelta(0),
        _("An erasure does not get done"),
        means=_("The erasure of a member failed three times; it is tried again every two minutes until it is done."),
        do=_("Read the reason on the page of the erasure and mend it."),
        severity=Severity.CRITICAL,
    ),
    Alert(
        "MemoryhubWebhookDisabled",
        WEBHOOKS_DISABLED,
        0.0,
        timedelta(0),
        _("A webhook was disabled"),
        means=_("Its receiver took nothing for a day, or said that it is gone; the events wait for 30 days."),
        do=_("Ask the tenant to mend the receiver and to enable the webhook again, or to delete it."),
    ),
    Alert(
        "MemoryhubMemoryTokensHigh",
        MEMORY_TOKENS,
        6000.0,
        timedelta(minutes=15),
        _("Memory takes much of every prompt"),
        means=_("The average turn carries more than the usual 4,000 tokens of recall and 2,000 of pinned facts."),
        do=_("Lower the tenant's recall items or tokens, or let members pin less."),
        at_least=(TURNS, _ENOUGH),
    ),
    Alert(
        "MemoryhubRequestsRefused",
        REFUSED_REQUESTS,
        500.0,
        timedelta(minutes=10),
        _("Very many requests are refused"),
        means=_("A program ignores that it is refused, or the tenant's limits are too low for what it does."),
        do=_("See in the access log which member or token gets status 429; mend it, or raise the limit in the policy."),
        label=TOTAL,
    ),
    Alert(
        "MemoryhubSignInsFail",
        FAILED_SIGN_INS,
        100.0,
        timedelta(0),
        _("Very many sign-ins fail"),
        means=_("Somebody guesses passwords, or a program signs in with an old one."),
        do=_(
            "The events user.sign_in_failed of the audit log name accounts and addresses; block the addresses at the"
            " proxy, and require a second factor."
        ),
    ),
    Alert(
        "MemoryhubLimitsNotEnforced",
        UNLIMITED_REQUESTS,
        0.0,
        timedelta(0),
        _("Limits of use are not enforced"),
        means=_("The store of the limits did not answer, so requests were served without them."),
        do=_("Look at Redis, or at the file limits.sqlite3 in the data folder; the log has the error."),
    ),
)
