"""Reading the environment into `Env`, and the system checks that report each bad variable by name.

Reading never fails: a field with a problem keeps its default. No problem repeats a value, which may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from pydantic import ValidationError

from memoryhub.env.values import JobRunner, Search
from memoryhub.env.variables import Env
from memoryhub.observability import tracing

SETUP = "ELASTICSEARCH_SETUP"
# The user with which a cluster is born.
SUPERUSER = "elastic"


@dataclass(frozen=True, slots=True)
class EnvProblem:
    """A variable that is missing or has a value that cannot be used, and what to do about it."""

    variable: str
    hint: str


def of_identities(credentials: Mapping[str, str]) -> list[EnvProblem]:
    """What production refuses in `credentials` (by variable): an administrator's, and one for several tasks."""
    users = {variable: credential.partition(":")[0] for variable, credential in credentials.items() if credential}
    problems = []
    if SETUP in users:
        hint = "an administrator's credential is for `manage.py elasticsearch setup` alone; remove it here"
        problems.append(EnvProblem(SETUP, hint))
    for variable, user in users.items():
        if variable != SETUP and user == SUPERUSER:
            problems.append(EnvProblem(variable, f"production never works as the superuser {SUPERUSER}"))
        if others := [other for other in users if other != variable and users[other] == user]:
            problems.append(EnvProblem(variable, f"give it a user of its own, not that of {others[0]}"))
    return problems


@register(Tags.security)
def environment_is_usable(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """One error for each variable that is missing or cannot be used."""
    return [
        Error(f"{problem.variable} is missing or cannot be used.", hint=f"{problem.hint}.", id="memoryhub.E001")
        for problem in settings.ENVIRONMENT_PROBLEMS
    ]


@register(Tags.security)
def traces_can_be_sent(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """An error where spans are wanted and what sends them is not installed."""
    if not settings.MEMORYHUB_TRACES_URL or tracing.available():
        return []
    hint = "Install the extra: pip install 'memoryhub[otel]', or requirements/otel.txt."
    return [Error("MEMORYHUB_TRACES_URL needs OpenTelemetry.", hint=hint, id="memoryhub.E002")]


def refuse(problems: Sequence[EnvProblem]) -> None:
    """End the process with the problems in words; for entry points that run no system checks."""
    if problems:
        raise SystemExit("\n".join(f"{problem.variable}: {problem.hint}." for problem in problems))


MIN_SECRET_KEY_CHARACTERS = 50
_WITH_ELASTICSEARCH = "MEMORYHUB_SEARCH=elasticsearch"


def name_of(field: str) -> str:
    """The environment variable of a field of Env."""
    return str(Env.model_fields[field].alias)


def read(environ: Mapping[str, str]) -> tuple[Env, tuple[EnvProblem, ...]]:
    """The settings in `environ`, and the problems with them; fields with a problem keep their defaults."""
    values = {name: value for name in map(name_of, Env.model_fields) if (value := environ.get(name))}
    problems: list[EnvProblem] = []
    try:
        env = Env.model_validate(values)
    except ValidationError as error:
        bad = {str(detail["loc"][0]): detail for detail in error.errors(include_input=False, include_url=False)}
        problems = [EnvProblem(name, _hint(detail)) for name, detail in sorted(bad.items())]
        env = Env.model_validate({name: value for name, value in values.items() if name not in bad})
    return env, (*problems, *_missing(env, {problem.variable for problem in problems}))


def _missing(env: Env, bad: set[str]) -> list[EnvProblem]:
    """What the chosen parts cannot do without, and what production cannot."""
    problems = [
        EnvProblem(name, f"needed with {why}")
        for name, value, why in (
            ("ELASTICSEARCH_URL", env.elasticsearch_urls or env.search is Search.EMBEDDED, _WITH_ELASTICSEARCH),
            ("MEMORYHUB_BROKER_URL", env.broker_url or env.jobs is not JobRunner.CELERY, "MEMORYHUB_JOBS=celery"),
        )
        if not value and name not in bad
    ]
    return problems + (_missing_in_production(env, bad) if env.production else [])


def _missing_in_production(env: Env, bad: set[str]) -> list[EnvProblem]:
    problems = []
    if env.search is Search.ELASTICSEARCH:
        problems += [
            EnvProblem(name_of(field), f"production needs it with {_WITH_ELASTICSEARCH}")
            for field in ("credential_keys", "elasticsearch_indexer", "elasticsearch_minter")
            if not getattr(env, field) and name_of(field) not in bad
        ]
        credentials = env.elasticsearch_credentials
        problems += of_identities(
            {name_of(f"elasticsearch_{name}"): credentials[name].get_secret_value() for name in credentials}
        )
    if "MEMORYHUB_SECRET_KEY" not in bad and len(env.secret_key.get_secret_value()) < MIN_SECRET_KEY_CHARACTERS:
        problems.append(
            EnvProblem(
                "MEMORYHUB_SECRET_KEY",
                f"production needs a random value of {MIN_SECRET_KEY_CHARACTERS} characters or more, such as"
                ' python -c "import secrets; print(secrets.token_urlsafe(64))" prints',
            )
        )
    if "MEMORYHUB_ALLOWED_HOSTS" not in bad and not env.allowed_hosts:
        problems.append(EnvProblem("MEMORYHUB_ALLOWED_HOSTS", "production needs the host names it serves"))
    if env.debug:
        problems.append(EnvProblem("MEMORYHUB_DEBUG", "production never shows source and settings; remove it"))
    return problems


def _hint(detail: Mapping[str, Any]) -> str:
    return str(detail["msg"]).removeprefix("Value error, ")
