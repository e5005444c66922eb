"""Consolidation at an endpoint that misbehaves: what is stored, what the run says, and that nothing is skipped."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from django.core.serializers import serialize
from django.utils import timezone

from memories.models import ConsolidationRun, EpisodeLedger, Fact, RunState
from memories.services.consolidation import RunReport, consolidate
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.factories import MakeMember, own_principal
from tests.faulty_model import (
    PLANTED,
    READS_WELL,
    check,
    extractor_at,
    faithful,
    faithful_reply,
    go_through,
    heal,
    record_of,
    tell,
    unsettled_runs,
)
from tests.openai_server import (
    KEY,
    Call,
    Cut,
    Decline,
    HangUp,
    Made,
    Refuse,
    Reply,
    Say,
    Stall,
    Whole,
    openai_server,
    patience,
    said_as_json,
)

pytestmark = pytest.mark.django_db

SAID = PLANTED[:3]
SEQUENCES = 8


def run_on(principal: Principal, *script: Reply) -> RunReport:
    """Consolidate what was SAID at an endpoint with this script."""
    tell(principal, *SAID)
    with openai_server(*script) as server, extractor_at(server, stall_seconds=patience(*script)) as extractor:
        return consolidate(principal, extractor=extractor)


def texts(principal: Principal) -> list[str]:
    return sorted(Fact.objects.of(principal).values_list("text", flat=True))


def recovers(principal: Principal) -> None:
    """With an endpoint that is well, everything is learned, once."""
    with openai_server(READS_WELL) as server, extractor_at(server) as extractor:
        heal(principal, extractor)
    assert texts(principal) == sorted(SAID)


def shows_nothing(report: RunReport, caplog: pytest.LogCaptureFixture) -> None:
    """No record and no line of the log shows the key, the address or the words."""
    runs = serialize("json", ConsolidationRun.objects.all(), fields=["error", "decisions", "input"])
    shown = [report.error, runs, serialize("json", AuditEvent.objects.filter(action__startswith="consolidation"))]
    for seen in (*shown, "\n".join(record.getMessage() for record in caplog.records)):
        assert not [secret for secret in (KEY, "127.0.0.1", *SAID) if secret in seen]


def cut(size: int, *, politely: bool = False) -> Made:
    return Made(lambda request: Cut(faithful_reply(request), size, politely))


GOOD = [
    pytest.param(READS_WELL, id="a stream"),
    pytest.param(Made(lambda request: Whole({"content": json.dumps(faithful(request))})), id="in one piece"),
]
PASSING = [
    pytest.param(Refuse(429, headers={"Retry-After": "0.01"}), "The model is busy", id="limit"),
    pytest.param(Refuse(500), "has a fault (500)", id="server error"),
    pytest.param(HangUp(), "cannot be reached", id="no reply"),
    pytest.param(cut(400), "broke off", id="disconnected"),
    pytest.param(Stall(Say(["{"]), 2), "stopped answering", id="stalled"),
    pytest.param(Refuse(401, message=f"Incorrect API key {KEY}"), "OPENAI_API_KEY", id="wrong key"),
    pytest.param(Refuse(404), "does not know the model", id="no such model"),
]
USELESS = [
    pytest.param(Say(["Certainly!"]), "not the JSON", id="malformed"),
    pytest.param(Say(['{"facts": ['], finish="length"), "greatest length", id="out of tokens"),
    pytest.param(cut(400, politely=True), "broke off", id="truncated stream"),
    pytest.param(said_as_json({"facts": [{"text": "Owns a yacht"}]}), "not of the shape", id="another shape"),
    pytest.param(Say([]), "empty answer", id="empty"),
    pytest.param(Call([("write_memory", '{"text": "Owns a yacht"}')]), "empty answer", id="tool calls without end"),
    pytest.param(Decline(), "declined", id="a refusal"),
    pytest.param(Refuse(400), "refused the request (400)", id="bad request"),
]


@pytest.mark.parametrize("reply", GOOD)
def test_a_good_answer_teaches_each_episode_once(principal: Principal, reply: Reply) -> None:
    report = run_on(principal, reply)
    assert (report.episodes, report.decisions, report.error) == (3, {"created": 3}, "")
    run = ConsolidationRun.objects.get()
    assert (run.state, run.extractor, run.input_tokens, run.output_tokens) == (RunState.DONE, "m", 12, 3)
    check(principal)
    recovers(principal)


@pytest.mark.parametrize(("reply", "sentence"), PASSING)
def test_what_may_pass_stores_nothing_shows_nothing_and_waits(
    principal: Principal, reply: Reply, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="memories"):
        report = run_on(principal, reply)
    shows_nothing(report, caplog)
    assert texts(principal) == []
    assert (report.waiting, report.given_up) == (3, 0)
    assert sentence in report.error
    run = ConsolidationRun.objects.get()
    assert (run.state, run.given_up, run.error) == (RunState.FAILED, False, report.error)
    ledger = EpisodeLedger.objects.get()
    assert (ledger.consolidated, ledger.attempts) == (0, 1)
    assert ledger.retry_at is not None and ledger.retry_at > timezone.now()
    check(principal)
    recovers(principal)


def test_a_limit_is_waited_out_as_long_as_the_endpoint_asks(principal: Principal) -> None:
    report = run_on(principal, Refuse(429, headers={"Retry-After": "900"}))
    assert "in 900 seconds" in report.error
    retry_at = EpisodeLedger.objects.get().retry_at
    assert retry_at is not None and 890 < (retry_at - timezone.now()).total_seconds() <= 900


@pytest.mark.parametrize(("reply", "sentence"), USELESS)
def test_what_stays_useless_is_given_up_one_by_one_in_runs_that_can_be_run_again(
    principal: Principal, reply: Reply, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="memories"):
        report = run_on(principal, reply)
    shows_nothing(report, caplog)
    assert texts(principal) == []
    assert (report.waiting, report.given_up) == (0, 3)
    assert sentence in report.error
    given_up = list(unsettled_runs(principal).order_by("first_ordinal"))
    assert [(run.first_ordinal, run.last_ordinal) for run in given_up] == [(1, 1), (2, 2), (3, 3)]
    assert all(sentence in run.error for run in given_up)
    check(principal)
    recovers(principal)


@pytest.mark.parametrize(("reply", "sentence"), USELESS)
def test_one_useless_answer_is_asked_for_again_with_less_and_nobody_notices(
    principal: Principal, reply: Reply, sentence: str
) -> None:
    report = run_on(principal, reply, READS_WELL)
    assert texts(principal) == sorted(SAID)
    assert (report.waiting, report.given_up) == (0, 0)
    failed = ConsolidationRun.objects.get(state=RunState.FAILED)
    assert sentence in failed.error
    check(principal)


def test_one_episode_that_the_model_refuses_keeps_no_other_from_being_learned(principal: Principal) -> None:
    def unless_bees(request: dict[str, Any]) -> Reply:
        bees = any("bees" in told["text"] for told in record_of(request)["episodes"])
        return Decline() if bees else faithful_reply(request)

    run_on(principal, Made(unless_bees))
    assert texts(principal) == sorted(text for text in SAID if "bees" not in text)
    (run,) = unsettled_runs(principal)
    assert (run.first_ordinal, run.error) == (2, "The model declined to answer this.")
    recovers(principal)


@pytest.mark.parametrize("step", [461, pytest.param(193, marks=pytest.mark.proof)])
@pytest.mark.parametrize("politely", [False, True], ids=["disconnected", "ended"])
def test_an_answer_cut_at_any_place_teaches_all_or_nothing(make_member: MakeMember, politely: bool, step: int) -> None:
    """The rest of the stream comes from an endpoint that is well, so each episode is learned in the end."""
    told = [{"label": f"E{place}", "by": "user", "text": text} for place, text in enumerate(SAID, start=1)]
    stream = faithful_reply({"messages": [{}, {"content": json.dumps({"episodes": told})}]})
    for size in range(0, len(b"".join(stream.chunks())), step):
        principal = own_principal(make_member())
        tell(principal, *SAID)
        with openai_server(cut(size, politely=politely), READS_WELL) as server, extractor_at(server) as extractor:
            report = consolidate(principal, extractor=extractor)
            assert texts(principal) == (sorted(SAID) if not report.waiting else [])
            check(principal)
            heal(principal, extractor)
        assert texts(principal) == sorted(SAID)


@pytest.mark.long
def test_faults_by_chance_leave_each_episode_consolidated_once(make_member: MakeMember) -> None:
    tenant = make_member().tenant
    met: Counter[str] = Counter()
    for seed in range(SEQUENCES):
        met += go_through(own_principal(make_member(tenant)), seed)
    assert len(met) > 12
