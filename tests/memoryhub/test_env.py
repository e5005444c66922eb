"""The environment: typed values, and problems that name the variable and never its value."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memoryhub import env as environment
from memoryhub.env import MIN_SECRET_KEY_CHARACTERS
from memoryhub.env.limits import DEFAULT_LIMITS
from memoryhub.env.values import POSTGRESQL, SQLITE

KEY = "k" * MIN_SECRET_KEY_CHARACTERS
PRODUCTION = {
    "MEMORYHUB_ENV": "production",
    "MEMORYHUB_SECRET_KEY": KEY,
    "MEMORYHUB_ALLOWED_HOSTS": "a.example, b.example",
}


def test_an_empty_environment_is_development_on_sqlite_without_a_problem() -> None:
    env, problems = environment.read({})
    assert problems == ()
    assert env.mode == "development"
    assert env.database["ENGINE"] == SQLITE


def test_values_are_read_and_typed() -> None:
    env, problems = environment.read({**PRODUCTION, "DATABASE_URL": "postgres://me:pw@db.example:5433/memories"})
    assert problems == ()
    assert env.production
    assert env.allowed_hosts == ("a.example", "b.example")
    assert env.database["ENGINE"] == POSTGRESQL
    assert env.database["PORT"] == 5433


def test_limits_are_the_defaults_but_those_that_are_named() -> None:
    env, problems = environment.read({"MEMORYHUB_LIMITS": "member_turns=60, open_turns=4"})
    assert (problems, env.limits) == ((), {**DEFAULT_LIMITS, "member_turns": 60, "open_turns": 4})
    assert environment.read({"MEMORYHUB_LIMITS": "off"})[0].limits == {}


@pytest.mark.parametrize(
    ("given", "token"),
    [("member_turns=8", 4), ("member_turns=1", 1), ("member_turns=900", 15), ("member_turns=8,token_turns=8", 8)],
)
def test_a_token_gets_half_of_a_lower_limit_of_its_member(given: str, token: int) -> None:
    env, _ = environment.read({"MEMORYHUB_LIMITS": given})
    assert env.limits["token_turns"] == token


def test_an_empty_value_counts_as_not_set() -> None:
    env, problems = environment.read({"MEMORYHUB_ENV": "", "MEMORYHUB_DATA_DIR": ""})
    assert problems == ()
    assert env.data_dir.name == "var"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("MEMORYHUB_ENV", "staging-s3cret", id="an unknown mode"),
        pytest.param("MEMORYHUB_DEBUG", "s3cret", id="no boolean"),
        pytest.param("MEMORYHUB_ALLOWED_HOSTS", "https://s3cret", id="an address for a host name"),
        pytest.param("MEMORYHUB_ALLOWED_HOSTS", "*", id="a wildcard host"),
        pytest.param("MEMORYHUB_CSRF_TRUSTED_ORIGINS", "s3cret", id="a host name for an origin"),
        pytest.param("MEMORYHUB_RULES", "s3cret.rules", id="rules that cannot be imported"),
        pytest.param("ELASTICSEARCH_PREFIX", "s3cret*", id="a wildcard in the prefix"),
        pytest.param("ELASTICSEARCH_PREFIX", "s3cret-semantic", id="a prefix that another's patterns would match"),
        pytest.param("ELASTICSEARCH_PREFIX", "s3cret-archive", id="a prefix that another's archive would match"),
        pytest.param("DATABASE_URL", "mysql://me:s3cret@db/x", id="an unsupported database"),
        pytest.param("DATABASE_URL", "postgres://me:s3cret@db:port/x", id="a port that is no number"),
        pytest.param("DATABASE_URL", "s3cret", id="no database address"),
        pytest.param("MEMORYHUB_LIMITS", "s3cret", id="no pair"),
        pytest.param("MEMORYHUB_LIMITS", "s3cret=5", id="an unknown limit"),
        pytest.param("MEMORYHUB_LIMITS", "member_turns=s3cret", id="a limit that is no number"),
        pytest.param("MEMORYHUB_LIMITS", "member_turns=0", id="a limit that lets nothing pass"),
        pytest.param("OPENAI_BASE_URL", "s3cret", id="no address"),
        pytest.param("OPENAI_BASE_URL", "http://[s3cret", id="a broken address"),
        pytest.param("MEMORYHUB_SEARCH", "s3cret", id="an unknown search plane"),
        pytest.param("MEMORYHUB_ORIGINAL_KEYS", "s3cret", id="no Fernet key"),
        pytest.param("MEMORYHUB_SIGNING_KEYS", "s3cret", id="no signing key"),
        pytest.param("MEMORYHUB_METRICS_TOKEN", "s3cret", id="a token that can be guessed"),
        pytest.param("MEMORYHUB_CLASSIFIER_URL", "s3cret", id="no address of a classifier"),
        pytest.param("MEMORYHUB_TRACES_URL", "s3cret", id="no address of a collector"),
        pytest.param("MEMORYHUB_PROBES", "s3cret:http", id="a port that is no number to listen on"),
        pytest.param("MEMORYHUB_PROBES", "8001", id="a port without an address"),
        pytest.param("MEMORYHUB_HSTS", "s3cret", id="no choice of hosts"),
        pytest.param("MEMORYHUB_HEADER_SECONDS", "0", id="no time at all"),
    ],
)
def test_a_bad_value_is_a_problem_that_names_the_variable_only(variable: str, value: str) -> None:
    env, (problem,) = environment.read({variable: value})
    assert problem.variable == variable
    assert problem.hint
    assert "s3cret" not in f"{problem} {env}"


@pytest.mark.parametrize(
    "changed",
    [{"MEMORYHUB_SECRET_KEY": ""}, {"MEMORYHUB_SECRET_KEY": KEY[1:]}, {"MEMORYHUB_ALLOWED_HOSTS": ""},
     {"MEMORYHUB_DEBUG": "true"}],
)  # fmt: skip
def test_production_refuses(changed: dict[str, str]) -> None:
    _, problems = environment.read(PRODUCTION | changed)
    assert [problem.variable for problem in problems] == [*changed]


def test_secrets_do_not_show_when_printed() -> None:
    env, _ = environment.read({**PRODUCTION, "OPENAI_API_KEY": "sk-s3cret", "DATABASE_URL": "postgres://u:s3cret@h/d"})
    assert "s3cret" not in repr(env)
    assert KEY not in repr(env)


@pytest.mark.parametrize(
    ("environ", "warned"),
    [
        pytest.param({"OPENAI_BASE_URL": "http://models.example/v1"}, ["OPENAI_BASE_URL"], id="a model"),
        pytest.param({"OPENAI_BASE_URL": "https://models.example/v1"}, [], id="encrypted"),
        pytest.param({"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, [], id="on this machine"),
        pytest.param({"DATABASE_URL": "postgres://u:p@db/m"}, ["DATABASE_URL"], id="a database"),
        pytest.param({"DATABASE_URL": "postgres://u:p@db/m?sslmode=verify-full"}, [], id="an encrypted database"),
        pytest.param({"DATABASE_URL": "postgres:///m"}, [], id="a socket"),
        pytest.param(
            {"ELASTICSEARCH_URL": "http://es:9200", "MEMORYHUB_BROKER_URL": "redis://r", "MEMORYHUB_PLAIN_HOSTS": "es"},
            ["MEMORYHUB_BROKER_URL"],
            id="a host that is allowed",
        ),
    ],
)
def test_what_goes_over_a_network_in_plain_text_is_warned_of(
    settings: Settings, environ: dict[str, str], warned: list[str]
) -> None:
    settings.ENV, _ = environment.read(environ)
    assert [found.msg.split()[0] for found in environment.connections_are_encrypted(None)] == warned


@pytest.mark.parametrize(("keys", "production", "warned"), [((), True, 1), (("k",), True, 0), ((), False, 0)])
def test_production_is_warned_without_a_key_that_signs(
    settings: Settings, keys: tuple[str, ...], production: bool, warned: int
) -> None:
    settings.MEMORYHUB_SIGNING_KEYS, settings.PRODUCTION = keys, production
    assert [found.id for found in environment.exports_can_be_signed(None)] == ["memoryhub.W002"] * warned
