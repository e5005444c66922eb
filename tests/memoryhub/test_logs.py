"""Log lines: ids of whoever it is about, where an exception came from, and no text of anybody's, in either form."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection
from django.test import Client

from memoryhub import observability as log_context
from memoryhub.observability.logs import message_of
from tests.logged import FORMATS, Logged, logged

WORD = "heliotrope"
forms = pytest.mark.parametrize("form", FORMATS)

ACCESS_LOG = "memoryhub.middleware"


@pytest.fixture(autouse=True)
def _nobody() -> Iterator[None]:
    log_context.clear()
    yield
    log_context.clear()


def fail(log: logging.Logger) -> None:
    """Log a chain of exceptions that quote somebody."""
    spoken = WORD
    try:
        try:
            json.loads(f"[{spoken}]")
        except ValueError as error:
            raise OSError(2, spoken) from error
    except OSError:
        log.exception("It failed.")


@forms
def test_an_exception_says_its_kind_and_its_place_and_nothing_it_read(form: str) -> None:
    with logged(form) as found:
        fail(logging.getLogger("memories.somewhere"))
    assert WORD not in found.text
    for said in ("It failed.", "builtins.FileNotFoundError", "ENOENT", "json.decoder.JSONDecodeError", "test_logs.py"):
        assert said in found.text


@pytest.mark.django_db(transaction=True)
@forms
def test_an_error_of_the_database_says_its_code_alone(form: str) -> None:
    with logged(form, level=logging.DEBUG) as found, connection.cursor() as cursor:
        try:
            cursor.execute("INSERT INTO tenants_tenant (name) VALUES (%s)", [WORD])
        except IntegrityError:
            logging.getLogger("memories.somewhere").exception("Not stored.")
    assert ("23502" if connection.vendor == "postgresql" else "SQLITE_CONSTRAINT_NOTNULL") in found.text
    assert WORD not in found.text


@forms
def test_of_libraries_templates_and_numbers_are_said(form: str) -> None:
    log = logging.getLogger("celery.somewhere")
    with logged(form) as found:
        log.error("Task %(name)s failed after %(tries)d: %(exc)r", {"name": WORD, "tries": 3, "exc": ValueError(WORD)})
        log.error("%s: %s of %r", "Bad Request", f"/{WORD}", object())
        log.error(f"Invalid request from ip=127.0.0.1: {WORD}")  # noqa: G004 - as libraries do
        fail(log)
    assert WORD not in found.text
    assert "Task … failed after 3: ValueError" in found.text
    assert "Bad Request: … of …" in found.text
    assert "Invalid request from ip" in found.text


@forms
@pytest.mark.django_db
def test_what_a_suspicious_request_of_staff_asked_for_is_not_said(form: str, admin_client: Client) -> None:
    with logged(form) as found:
        assert admin_client.get(f"/admin/tenants/tenant/?_to_field={WORD}").status_code == 400
    assert "DisallowedModelAdminToField" in found.text and WORD not in found.text


def test_a_line_names_whoever_it_is_about() -> None:
    log = logging.getLogger("memories.somewhere")
    with logged("line") as lines, logged("json") as objects:
        with log_context.bound(task="sweep"):
            log_context.bind(tenant_id="t1", membership_id="m1", request_id="r1")
            log.warning("Over\ntwo lines")
        log.warning("For nobody")
    assert "memories.somewhere Over two lines [request=r1 tenant=t1 member=m1 task=sweep]\n" in lines.text
    assert lines.text.endswith("For nobody\n")
    first, second = objects.objects
    assert first.items() >= {"level": "WARNING", "logger": "memories.somewhere", "task": "sweep"}.items()
    assert (first["request_id"], first["tenant_id"], first["membership_id"]) == ("r1", "t1", "m1")
    assert set(second) == {"time", "level", "logger", "message"}


def test_a_message_that_does_not_fit_its_arguments_is_no_error() -> None:
    for name in ("celery", "memories.somewhere"):
        record = logging.LogRecord(name, logging.ERROR, "", 0, "%d of %s", (WORD,), None)
        assert message_of(record) == "%d of %s"
        assert all(WORD not in formatter().format(record) for formatter in FORMATS.values())


# Requests


def paths_of(found: Logged) -> list[tuple[str, int]]:
    """The routes and statuses of the access log."""
    return [(line["route"], line["status"]) for line in found.objects if line["logger"] == ACCESS_LOG]


def test_a_request_has_one_line_with_its_route(client: Client) -> None:
    with logged("json") as found:
        answer = client.get(f"/login/?next=/{WORD}", headers={"X-Request-ID": "a-request-of-mine"})
        client.get(f"/nowhere/{WORD}")
        client.get("/livez")
    assert answer.headers["X-Request-ID"] == "a-request-of-mine"
    assert paths_of(found) == [("/login/", 200), ("-", 404)]
    first = next(line for line in found.objects if line["logger"] == "memoryhub.middleware")
    assert (first["request_id"], first["method"]) == ("a-request-of-mine", "GET")
    assert first["message"].startswith("GET /login/ 200 in ")
    assert not log_context.ids()


@forms
def test_no_request_however_bad_leaves_a_word_of_it(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ValueError(WORD)

    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    monkeypatch.setattr("memoryhub.health._database", crash)
    with logged(form, level=logging.DEBUG) as found:
        client.get(f"/{WORD}/?q={WORD}")
        client.get("/login/", headers={"host": f"{WORD}.example", "x-request-id": f"{WORD} {WORD}"})
        client.post("/login/", {"username": WORD, "password": WORD})
        client.post("/api/v1/recall/", f'{{"query": "{WORD}', content_type="application/json")
        client.post("/api/v1/recall/", {"query": WORD}, headers={"authorization": f"Bearer {WORD}"})
        client.generic(WORD, "/livez")
        client.get(f"/readyz?q={WORD}")
    assert WORD not in found.text.casefold()
    assert "builtins.ValueError" in found.text
    assert found.text.count("memoryhub.middleware") >= 6
